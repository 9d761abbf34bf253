package server

import (
	"strings"

	"github.com/umascope/umascope/loadgen/flagvalue"
	"github.com/umascope/umascope/loadgen/openai"
)

// Flags declares the flags of a server that is measured or checked.
func Flags(set flagvalue.Set, t *Target) {
	flagvalue.Flag(set, "url", "Server under test, such as http://127.0.0.1:8000; /v1 may be left out.", "", &t.URL, parseURL).Required()
	flagvalue.Flag(set, "model", "Model to ask for; the only listed one if not given.", "", &t.Model, flagvalue.Text)
	flagvalue.Flag(set, "endpoint", "API to drive: chat or completions.", string(openai.Chat), &t.Endpoint, flagvalue.OneOf(openai.Chat, openai.Completions))
	flagvalue.Flag(set, "engine", "Whose request fields to send: auto, "+strings.Join(Engines(), ", ")+".", EngineAuto, &t.Engine, flagvalue.OneOf(append(Engines(), EngineAuto)...))
	flagvalue.Flags(set, "header", "Request header, NAME:VALUE; may be repeated. Values are never recorded.", &t.Headers, parseHeader, flagvalue.NameOnly)
	flagvalue.Flag(set, "ca-file", "PEM file of the authorities that sign the server's certificate; the system's if not given.", "", &t.CAFile, flagvalue.Text)
	flagvalue.Flag(set, "api-key-file", "File with the API key; the environment's OPENAI_API_KEY if not given.", "", &t.APIKeyFile, flagvalue.Text)
}

// ReadyFlags declares the flags for waiting until a server has started.
func ReadyFlags(set flagvalue.Set, t *Target) {
	flagvalue.Flag(set, "wait-ready", "How long to wait until the server lists a model.", "0s", &t.WaitReady, flagvalue.Duration)
	flagvalue.Flag(set, "ready-consecutive", "How often in a row it must, a second apart.", "2", &t.ReadyConsecutive, flagvalue.AtLeast(1))
}
