package server

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/loadgen/openai"
)

// Flags declares the flags of a server that is measured or checked, which may be one of the known engines.
func Flags(set terminal.FlagSet, t *Target, known spec.Engines) {
	t.Known = known
	terminal.Flag(set, "url", "Server under test; default: the only engine that the exporter of this machine has found.", "", &t.URL, parseURL)
	accessFlags(set, t)
}

// ReplicaFlags is Flags for a load that several servers may share: the first --url is the target's, the others are its
// replicas.
func ReplicaFlags(set terminal.FlagSet, t *Target, replicas *[]string, known spec.Engines) {
	t.Known = known
	var urls []string
	terminal.Flags(set, "url", "Server under test, once for each replica; default: the only engine that this machine's exporter has found.", &urls, func(s string) (string, error) {
		url, err := parseURL(s)
		switch {
		case err != nil:
		case slices.ContainsFunc(urls, func(other string) bool { return sameServer(other, url) }):
			err = fmt.Errorf("%s is given twice", url)
		case len(urls) == 0:
			t.URL = url
		default:
			*replicas = append(*replicas, url)
		}
		return url, err
	}, terminal.AsGiven)
	accessFlags(set, t)
}

// sameServer reports whether two URLs are of one server: localhost is 127.0.0.1.
func sameServer(a, b string) bool {
	numeric := func(text string) string {
		u, err := url.Parse(text)
		if err != nil || u.Hostname() != "localhost" {
			return text
		}
		u.Host = strings.Replace(u.Host, "localhost", "127.0.0.1", 1)
		return u.String()
	}
	return numeric(a) == numeric(b)
}

// accessFlags declares the flags for what is asked of a server, and how.
func accessFlags(set terminal.FlagSet, t *Target) {
	terminal.Flag(set, "model", "Model to ask for; default: the only listed one. Needed where the server lists none.", "", &t.Model, terminal.Text)
	terminal.Flag(set, "endpoint", "API to drive: chat or completions.", string(openai.Chat), &t.Endpoint, terminal.OneOf(openai.Chat, openai.Completions))
	terminal.Flag(set, "engine", "Whose request fields to send: auto, "+strings.Join(EngineNames(t.Known), ", ")+".", EngineAuto, &t.Engine, terminal.OneOf(append(EngineNames(t.Known), EngineAuto)...))
	terminal.Flags(set, "header", "Request header, NAME:VALUE; values are not recorded.", &t.Headers, parseHeader, terminal.NameOnly)
	terminal.Flag(set, "ca-file", "PEM file of the authorities that sign the server's certificate; default: the system's.", "", &t.CAFile, terminal.Text)
	terminal.Flag(set, "api-key-file", "File with the API key; default: $OPENAI_API_KEY.", "", &t.APIKeyFile, terminal.Text)
}

// TimeoutFlag declares the deadline of the requests of check. A run has that of its load.
func TimeoutFlag(set terminal.FlagSet, t *Target) {
	terminal.Flag(set, "request-timeout", "Longest time of a request.", slowestCheck.String(), &t.RequestTimeout, terminal.PositiveDuration)
}

// ReadyFlags declares the flags for what happens before the load: waiting until a server has started, and its cache.
func ReadyFlags(set terminal.FlagSet, t *Target) {
	terminal.Flag(set, "wait-ready", "How long to wait until the server lists a model.", "0s", &t.WaitReady, terminal.Duration)
	terminal.Flag(set, "ready-consecutive", "How often in a row it must list one, a second apart.", "2", &t.ReadyConsecutive, terminal.AtLeast(1))
	set.Flag("reset-prefix-cache", "Have "+strings.Join(resettable(t.Known), " or ")+" empty its prefix cache before the load: for all its clients.").BoolVar(&t.ResetPrefixCache)
}

// resettable are the titles of the engines with a request that empties the prefix cache, with what they need for it.
func resettable(known spec.Engines) []string {
	var titles []string
	for _, e := range known {
		switch {
		case e.Reset == nil:
		case e.Reset.Needs != "":
			titles = append(titles, e.Title+" ("+e.Reset.Needs+")")
		default:
			titles = append(titles, e.Title)
		}
	}
	return titles
}
