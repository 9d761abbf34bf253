// Package server finds out what answers at a URL: model and engine, accepted request fields, the token counts of
// texts, and whether the model is the same at the end. It does not rely on names but tests the server's behaviour,
// outside of the measurement. Errors name the flag that fixes the problem.
//
// Of a server on this machine it also finds the process. A ProvenanceKey identifies command lines, environments and
// files by keyed hashes; only listed options of engines keep their values.
package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/loadgen/openai"
)

// EngineAuto means the engine that the server seems to be.
const EngineAuto = "auto"

// Target is the server under test and how to reach it, for run and check.
type Target struct {
	URL string // without /v1
	// FoundBy is the page of the exporter that named the URL; empty if the user did.
	FoundBy string
	Model   string // empty: the only model that is listed
	// Pinned is the model name in the answers to the campaign's first run; empty if this run belongs to no campaign,
	// or names a model.
	Pinned   string
	Endpoint openai.Endpoint
	// Known are the engines that it may be, and Engine is one of EngineNames, or EngineAuto.
	Known      spec.Engines
	Engine     string
	Headers    []Header
	CAFile     string
	APIKeyFile string
	// WaitReady is how long to wait until a model is listed; 0 asks once. ReadyConsecutive is how many times in a row
	// it must be listed.
	WaitReady        time.Duration
	ReadyConsecutive int
	// RequestTimeout and FirstTokenTimeout are the deadlines of the load's requests. No request before or after the load
	// takes longer; 0 leaves those to their own limits.
	RequestTimeout, FirstTokenTimeout time.Duration
	// ResetPrefixCache asks the engine to empty its prefix cache before the load.
	ResetPrefixCache bool
	// Dial opens connections, as net.Dialer.DialContext does; nil is the machine's network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Header is a request header from the user. Its value may be a key.
type Header struct{ Name, Value string }

func headerName(s string) bool {
	return regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$").MatchString(s)
}

// parseHeader parses NAME:VALUE. Its errors do not repeat the text, which may contain a key.
func parseHeader(s string) (Header, error) {
	name, value, err := terminal.Pair(s, ":", headerName)
	if err == nil && strings.ContainsFunc(value, unicode.IsControl) {
		err = fmt.Errorf("the value of %s has control characters", name)
	}
	return Header{name, strings.TrimSpace(value)}, err
}

// parseURL parses the URL of a server under test, with or without /v1.
func parseURL(s string) (string, error) {
	base, err := openai.ParseBase(s)
	if err != nil {
		return "", err
	}
	return base.String(), nil
}

// EngineNames lists the engines that are distinguished; openai means any other.
func EngineNames(known spec.Engines) []string {
	var names []string
	for _, e := range known {
		if e.Request != nil {
			names = append(names, e.Name)
		}
	}
	return append(names, openai.EngineOpenAI)
}

// CountsOf returns the counts in answers that engines write in addition to OpenAI's.
func CountsOf(known spec.Engines) []openai.AnswerCount {
	var counts []openai.AnswerCount
	for _, count := range known.AnswerCounts() {
		counts = append(counts, openai.AnswerCount{Of: openai.Counted(count.Of), Path: count.Path})
	}
	return counts
}

// VendorOf returns what the requests to an engine have of their own.
func VendorOf(known spec.Engines, engine string) openai.Vendor {
	e, _ := known.Find(engine)
	if e.Request == nil {
		return openai.Vendor{}
	}
	fields := func(names []string) []openai.Field {
		var all []openai.Field
		for _, name := range names {
			all = append(all, openai.Field(name))
		}
		return all
	}
	return openai.Vendor{
		ChatCap: openai.Field(e.Request.ChatCap), Both: fields(e.Request.Both), Chat: fields(e.Request.Chat), Newer: fields(e.Request.Newer),
	}
}

// shortestProbe is the shortest deadline of a request that is not part of the load: a deadline of the load may be chosen
// so that its requests miss it.
const shortestProbe = time.Second

// within returns the deadline of a request that is not part of the load: its own limit, or the deadline of the load's
// requests if that is shorter.
func within(limit, load time.Duration) time.Duration {
	if load > 0 {
		return min(limit, max(load, shortestProbe))
	}
	return limit
}

// RequestHeader returns the user's header for every request.
func (t Target) RequestHeader() http.Header {
	header := http.Header{}
	for _, h := range t.Headers {
		header.Add(h.Name, h.Value)
	}
	return header
}

// apiKey reads the key from its file or the environment; "" means none.
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

// Credentials returns the secrets that no recorded answer may contain: the key, and headers that contain one. It
// leaves out a key that cannot be read, which requests report as an error.
func (t Target) Credentials() []string {
	header := t.RequestHeader()
	if key, err := t.apiKey(); err == nil && key != "" {
		header.Add("Authorization", key)
	}
	return openai.Credentials(header)
}
