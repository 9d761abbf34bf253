// Package ollama has all that is known of Ollama.
package ollama

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// Engine describes Ollama, which has no page of metrics.
func Engine() spec.Engine {
	return spec.Engine{
		Name: "ollama", Title: "Ollama",
		Identity: spec.Identity{
			Owners: []string{"library"}, Traits: []spec.Trait{{Path: "/", Shows: greets}}, About: &spec.About{Path: "/api/version", Read: spec.AboutVersion().Read},
		},
		CommandLine: commandLine(),
		Context:     &spec.Context{Path: "/api/ps", Read: loadedContext},
		Programs: []spec.Program{ // 0.6.8
			{Command: "ollama", Verb: "serve", Variable: hostVariable, Port: 11434, ParsePort: parsePort},
			{Command: "ollama", Verb: "start", Variable: hostVariable, Port: 11434, ParsePort: parsePort},
		},
		Variables: []string{hostVariable},
	}
}

const hostVariable = "OLLAMA_HOST"

// parsePort reads the port of OLLAMA_HOST: a host, host:port or a URL, whose scheme then gives the default
// (envconfig/config.go of Ollama 0.6.8). Ollama takes its default for a port that is none.
func parsePort(text string, usual uint16) (uint16, bool) {
	text = strings.Trim(strings.TrimSpace(text), `"'`)
	scheme, host, is := strings.Cut(text, "://")
	switch {
	case !is:
		host = text
	case scheme == "http":
		usual = 80
	case scheme == "https":
		usual = 443
	}
	host, _, _ = strings.Cut(host, "/")
	at, err := url.Parse("//" + host)
	if err != nil {
		return usual, true
	}
	if port, given := strconv.ParseUint(at.Port(), 10, 16); given == nil && port > 0 {
		return uint16(port), true
	}
	return usual, true
}

func greets(status int, body []byte) string {
	if status == 200 && string(bytes.TrimSpace(body)) == "Ollama is running" {
		return "it calls itself Ollama"
	}
	return ""
}

// loadedContext reads the context of a loaded model, which the answer has since 0.10:
//
//	{"models":[{"name":"llama3:latest","size_vram":0,"context_length":4096}]}
func loadedContext(body []byte, model string) float64 {
	var loaded struct {
		Models []struct {
			Name    string `json:"name"`
			Context any    `json:"context_length"`
		} `json:"models"`
	}
	if json.Unmarshal(body, &loaded) != nil {
		return 0
	}
	for _, m := range loaded.Models {
		if m.Name == model {
			tokens, _ := m.Context.(float64)
			return tokens
		}
	}
	return 0
}
