package server

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/umascope/umascope/loadgen/openai"
)

// Gateways pass requests on to engines of any kind. The engine behind one is reported only if an answer names it.
const (
	gatewaySMG     = "smg"
	gatewayLiteLLM = "LiteLLM"
)

// through records a gateway. The clue has no weight, since it identifies no engine.
func (i *inspection) through(gateway, because string) {
	if i.gateway != "" {
		return
	}
	i.gateway = gateway
	i.note(openai.EngineOpenAI, weightNone, "gateway %s (%s)", gateway, because)
}

// smg looks for the header that smg 1.13 adds to each of its own errors.
func (i *inspection) smg(header http.Header) {
	if header.Get("X-Smg-Error-Code") != "" {
		i.through(gatewaySMG, "its errors have the header x-smg-error-code")
	}
}

// liteLLM reads the title of the page that LiteLLM shows at /, unless its documentation is switched off.
func (i *inspection) liteLLM(root []byte) {
	if bytes.Contains(root, []byte("<title>LiteLLM API")) {
		i.through(gatewayLiteLLM, "it calls itself LiteLLM API")
	}
}

// answer requests one token and looks for an engine in the answer. It returns the engine's version.
func (i *inspection) answer(ctx context.Context, m Model) string {
	body, err := openai.Body(openai.Params{Endpoint: openai.Chat, Model: m.ID, Prompt: probePrompt, MaxTokens: 1, TopP: 1})
	if err != nil {
		return ""
	}
	output := i.api.send(ctx, http.MethodPost, "/v1/chat/completions", body)
	if version := output.header.Get("X-Litellm-Version"); version != "" {
		i.through(gatewayLiteLLM, "its answers have the header x-litellm-version")
		i.note(openai.EngineOpenAI, weightNone, "%s %s", gatewayLiteLLM, version)
	}
	var answer struct {
		Fingerprint string `json:"system_fingerprint"`
	}
	if json.Unmarshal(output.okBody(), &answer) != nil {
		return ""
	}
	for _, e := range i.api.known {
		if e.Identity.Fingerprint == nil {
			continue
		}
		if version, is := e.Identity.Fingerprint(answer.Fingerprint); is {
			i.found(e, weightTrait, "its answers have the system_fingerprint %q", answer.Fingerprint)
			return version
		}
	}
	return ""
}
