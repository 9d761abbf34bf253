package server

import (
	"strings"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/option"
)

// Flags declares what is said of a server that is measured or checked.
func Flags(set option.Set, t *Target) {
	option.Flag(set, "url", "Server under test, such as http://127.0.0.1:8000; /v1 may be left out.", "", &t.URL, parseURL).Required()
	option.Flag(set, "model", "Model to ask for; the only listed one if not given.", "", &t.Model, option.Text)
	option.Flag(set, "endpoint", "API to drive: chat or completions.", string(chat.Chat), &t.Endpoint, option.OneOf(chat.Chat, chat.Completions))
	option.Flag(set, "engine", "Whose request fields to send: auto, "+strings.Join(Engines(), ", ")+".", EngineAuto, &t.Engine, option.OneOf(append(Engines(), EngineAuto)...))
	option.Flags(set, "header", "Request header, NAME:VALUE; may be repeated. Values are never recorded.", &t.Headers, parseHeader, option.NameOnly)
	option.Flag(set, "ca-file", "PEM file of the authorities that sign the server's certificate; the system's if not given.", "", &t.CAFile, option.Text)
	option.Flag(set, "api-key-file", "File with the API key; the environment's OPENAI_API_KEY if not given.", "", &t.APIKeyFile, option.Text)
}

// ReadyFlags declares how long to wait for a server that is starting.
func ReadyFlags(set option.Set, t *Target) {
	option.Flag(set, "wait-ready", "How long to wait until the server lists a model.", "0s", &t.WaitReady, option.Duration)
	option.Flag(set, "ready-consecutive", "How often in a row it must, a second apart.", "2", &t.ReadyConsecutive, option.AtLeast(1))
}
