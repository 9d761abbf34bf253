package server

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"regexp"

	"github.com/umascope/umascope/loadgen/openai"
)

// Gateways pass requests on to engines of any kind. The engine behind one is reported only if an answer names it.
const (
	gatewaySMG          = "smg"
	gatewaySGLangRouter = "sglang-router"
	gatewayLiteLLM      = "LiteLLM"
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

// sglangRouter reads the answer of sglang-router 0.3 to the path where SGLang returns its arguments:
//
//	{"router_manager":true,"routers_count":1,"workers_count":1}
func (i *inspection) sglangRouter(ctx context.Context) {
	var info struct {
		RouterManager *bool `json:"router_manager"`
	}
	if json.Unmarshal(i.api.fetch(ctx, "/get_server_info").okBody(), &info) == nil && info.RouterManager != nil {
		i.through(gatewaySGLangRouter, "it answers at /get_server_info as a router")
	}
}

// fingerprintOfVLLM matches the system_fingerprint in answers of vLLM 0.32, such as vllm-0.32.0-30e88cc7. Gateways
// pass it on.
var fingerprintOfVLLM = regexp.MustCompile(`^vllm-([0-9][0-9A-Za-z.+]{0,63})(-[0-9a-f]{1,64})?$`)

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
	parts := fingerprintOfVLLM.FindStringSubmatch(answer.Fingerprint)
	if parts == nil {
		return ""
	}
	i.note("vllm", weightTrait, "its answers have the system_fingerprint %q", answer.Fingerprint)
	return parts[1]
}

// documentedVersion reads the version in a server's own /openapi.json, if the title is the expected one. Frameworks
// fill in a version of their own, as FastAPI does with 0.1.0 for vLLM.
func (a *api) documentedVersion(ctx context.Context, title string) string {
	var document struct {
		Info struct {
			Title   string `json:"title"`
			Version string `json:"version"`
		} `json:"info"`
	}
	if json.Unmarshal(a.fetch(ctx, "/openapi.json").okBody(), &document) != nil || document.Info.Title != title {
		return ""
	}
	return printable(a.secrets.Text(document.Info.Version))
}
