// Package server knows what answers at a URL: which model and engine it is and says it is, which
// request fields it takes, how many tokens texts have there, and whether it is still the same in the
// end. Names prove nothing, so it looks; all that it asks is outside of what is measured. Errors say by
// which flag a user can mend what is wrong.
package server

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/umascope/umascope/loadgen/flagvalue"
	"github.com/umascope/umascope/loadgen/openai"
)

// EngineAuto stands for the engine that the server seems to be.
const EngineAuto = "auto"

// Target is the server under test and how to talk to it: what run and check have in common.
type Target struct {
	URL   string // without /v1
	Model string // empty: the only one that is listed
	// Pinned is the model that the first run of the campaign was answered as; empty if this run is of none, or names a model.
	Pinned     string
	Endpoint   openai.Endpoint
	Engine     string // one of Engines, or EngineAuto
	Headers    []Header
	CAFile     string
	APIKeyFile string
	// WaitReady is how long to wait until a model is listed; 0 asks once. ReadyConsecutive is how often
	// in a row it must be.
	WaitReady        time.Duration
	ReadyConsecutive int
}

// Header is a request header that the user gave; its value may be a key.
type Header struct{ Name, Value string }

func headerName(s string) bool {
	return regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$").MatchString(s)
}

// parseHeader reads NAME:VALUE. It does not repeat the text in its errors: it may hold a key.
func parseHeader(s string) (Header, error) {
	name, value, err := flagvalue.Pair(s, ":", headerName)
	if err == nil && strings.ContainsFunc(value, unicode.IsControl) {
		err = fmt.Errorf("the value of %s has control characters", name)
	}
	return Header{name, strings.TrimSpace(value)}, err
}

// parseURL reads the URL of a server under test, with or without /v1.
func parseURL(s string) (string, error) {
	base, err := openai.ParseBase(s)
	if err != nil {
		return "", err
	}
	return base.String(), nil
}

// Engines lists the engines that are told apart; openai stands for any other.
func Engines() []string {
	return []string{"vllm", "trtllm", "sglang", "dynamo", openai.EngineLlamaCPP, openai.EngineOpenAI}
}

// RequestHeader is the user's part of the header of every request.
func (t Target) RequestHeader() http.Header {
	header := http.Header{}
	for _, h := range t.Headers {
		header.Add(h.Name, h.Value)
	}
	return header
}

// apiKey reads the key from its file or the environment; "" is none.
func (t Target) apiKey() (string, error) {
	if t.APIKeyFile == "" {
		return os.Getenv("OPENAI_API_KEY"), nil
	}
	text, err := os.ReadFile(t.APIKeyFile)
	if err != nil {
		return "", fmt.Errorf("--api-key-file: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Credentials are what nothing that a server answers may repeat: the key, and headers that hold one. A key that cannot be
// read is none here; who asks the server reports it.
func (t Target) Credentials() []string {
	header := t.RequestHeader()
	if key, err := t.apiKey(); err == nil && key != "" {
		header.Add("Authorization", key)
	}
	return openai.Credentials(header)
}
