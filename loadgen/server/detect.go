package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Weights of clues to an engine. A name is weak evidence, since it can be set freely; a page of metrics is strong.
const (
	weightNone   = 0 // of a gateway, which identifies no engine
	weightManner = 1 // the form of an error, which several engines share
	weightName   = 2 // the name that it lists as the owner of its models
	weightTrait  = 3 // a page, route or answer that only one engine has
)

// detectTimeout is the longest that all requests together may take. A gateway may leave unknown paths unanswered.
const detectTimeout = 20 * time.Second

// clue is one observation that identifies an engine.
type clue struct {
	rundir.Clue
	weight int
}

// detection is the engine that a server seems to be.
type detection struct {
	engine  string
	version string // empty if the server does not report it
	gateway string // empty if none was found
	clues   []clue
	page    string // path of its metrics; empty if there are none
}

// inspection examines one server.
type inspection struct {
	api     *api
	clues   []clue
	gateway string
	metrics string // path of the page that shows the engine
}

// detect identifies the engine by the server's behaviour. A server that cannot be identified is openai, whose fields
// every server accepts.
func (a *api) detect(ctx context.Context, m Model) detection {
	ctx, cancel := context.WithTimeout(ctx, a.detection)
	defer cancel()
	i := &inspection{api: a.within(a.detection / 2)} // a page that hangs leaves time for the others
	i.owner(m)
	i.own(ctx)
	i.health(ctx)
	i.pages(ctx)
	if i.best().weight < weightName {
		i.manners(ctx)
	}
	version := a.version(ctx, i.best().Engine)
	if i.best().weight < weightName {
		version = cmp.Or(i.answer(ctx, m), version)
	}
	return detection{engine: i.best().Engine, version: version, gateway: i.gateway, clues: i.clues, page: i.metrics}
}

// best returns the engine with the most weight, and the weight. Of equal engines, the first one found wins.
func (i *inspection) best() clue {
	sums := map[string]int{}
	for _, c := range i.clues {
		sums[c.Engine] += c.weight
	}
	best := clue{Clue: rundir.Clue{Engine: openai.EngineOpenAI}}
	for _, c := range i.clues {
		if sums[c.Engine] > best.weight {
			best = clue{c.Clue, sums[c.Engine]}
		}
	}
	return best
}

// facts returns the clues without their weights.
func (d detection) facts() []rundir.Clue {
	var facts []rundir.Clue
	for _, c := range d.clues {
		facts = append(facts, c.Clue)
	}
	return facts
}

// contradiction returns the clue that contradicts an engine, or "" if none has weight. A llama.cpp server does not
// contradict openai, since llama.cpp takes plain request fields.
func (d detection) contradiction(engine string) string {
	var against []string
	for _, c := range d.clues {
		plain := c.Engine == openai.EngineLlamaCPP && engine == openai.EngineOpenAI
		if c.Engine != engine && c.weight >= weightName && !plain {
			against = append(against, c.Says+" ("+c.Engine+")")
		}
	}
	return strings.Join(against, ", ")
}

func (i *inspection) note(engine string, weight int, format string, values ...any) {
	i.clues = append(i.clues, clue{rundir.Clue{Engine: engine, Says: printable(fmt.Sprintf(format, values...))}, weight})
}

// owner checks the name that the engine lists as the owner of its models.
func (i *inspection) owner(m Model) {
	if engine := metric.ForeignEngineOfOwner(m.OwnedBy); engine != "" {
		i.note(engine, weightName, "its models are owned by %q", m.OwnedBy)
	}
}

// health looks for the workers that Dynamo's frontend lists:
//
//	{"status":"healthy","endpoints":["dyn://dynamo.backend.generate"],"instances":[{"component":"backend","instance_id":7}]}
//
// It does not request the route from LiteLLM, which would send a request to each of its models.
func (i *inspection) health(ctx context.Context) {
	if i.gateway == gatewayLiteLLM {
		return
	}
	answer := i.api.fetch(ctx, "/health")
	var listed struct {
		Endpoints []string         `json:"endpoints"`
		Instances []map[string]any `json:"instances"`
	}
	if json.Unmarshal(answer.body, &listed) == nil && (listed.Endpoints != nil || listed.Instances != nil) {
		i.note("dynamo", weightTrait, "/health lists workers")
	}
}

// page is a page of metrics whose series names identify an engine.
type page struct{ path, prefix, engine string }

// pages checks the pages of metrics. TensorRT-LLM serves the content of /metrics only once, to the first client, and a
// probe must not take it. So its other page is checked first, and if it identifies TensorRT-LLM, no further page is
// requested.
func (i *inspection) pages(ctx context.Context) {
	if i.has(ctx, page{metric.ForeignTensorRTLLMPagePath, metric.ForeignTensorRTLLMPrefix, "trtllm"}) || i.best().Engine == "trtllm" {
		return
	}
	body := i.api.fetch(ctx, metricsPath).okBody()
	for _, p := range []page{
		{metricsPath, metric.ForeignDynamoFrontendPrefix, "dynamo"},
		{metricsPath, metric.ForeignVLLMPrefix, "vllm"},
		{metricsPath, metric.ForeignSGLangPrefix, "sglang"},
		{metricsPath, metric.ForeignLlamaCPPPrefix, openai.EngineLlamaCPP},
	} {
		if p.on(body) {
			i.metrics = p.path
			i.note(p.engine, weightTrait, "%s has series %s…", p.path, p.prefix)
			return // a worker of Dynamo shows its engine's series too
		}
	}
}

// metricsPath is where most servers have their metrics.
const metricsPath = "/metrics"

func (i *inspection) has(ctx context.Context, p page) bool {
	body := i.api.fetch(ctx, p.path).okBody()
	switch {
	case p.on(body):
		i.note(p.engine, weightTrait, "%s has series %s…", p.path, p.prefix)
	case p.engine == "trtllm" && hasUnprefixed(body):
		i.note(p.engine, weightTrait, "%s has the series of TensorRT-LLM without %s", p.path, p.prefix)
	default:
		return false
	}
	i.metrics = p.path
	return true
}

// hasUnprefixed reports whether the page is one of a release of TensorRT-LLM whose series have no prefix.
func hasUnprefixed(body []byte) bool {
	for line := range bytes.Lines(body) {
		name, labels, _ := bytes.Cut(line, []byte("{"))
		for _, end := range []string{"_bucket", "_sum", "_count"} {
			name = bytes.TrimSuffix(name, []byte(end))
		}
		if metric.ForeignTensorRTLLMUnprefixed(string(name)) && bytes.Contains(labels, []byte(metric.ForeignLabelEngineType+`="`)) {
			return true
		}
	}
	return false
}

// on reports whether a line of the page begins with the prefix, or names it in a TYPE comment.
func (p page) on(body []byte) bool {
	for line := range bytes.Lines(body) {
		if bytes.HasPrefix(line, []byte(p.prefix)) || bytes.HasPrefix(line, []byte("# TYPE "+p.prefix)) {
			return true
		}
	}
	return false
}

// own looks for answers that only one server gives. Servers without fields of their own count as openai.
func (i *inspection) own(ctx context.Context) {
	var info struct {
		Tokenizer    *string `json:"tokenizer_path"`
		IsGeneration *bool   `json:"is_generation"`
	}
	if json.Unmarshal(i.api.fetch(ctx, "/get_model_info").okBody(), &info) == nil && info.Tokenizer != nil && info.IsGeneration != nil {
		i.note("sglang", weightTrait, "it answers at /get_model_info")
	}
	i.sglangRouter(ctx)
	root := i.api.fetch(ctx, "/")
	i.smg(root.header)
	i.liteLLM(root.okBody())
	if server := root.header.Get("Server"); strings.EqualFold(server, "llama.cpp") {
		i.note(openai.EngineLlamaCPP, weightTrait, "it calls itself llama.cpp")
	}
	if string(bytes.TrimSpace(root.okBody())) == "Ollama is running" {
		i.note(openai.EngineOpenAI, weightTrait, "it calls itself Ollama")
	}
}

// manners examines the error for a request without a prompt, which no server can answer. Python servers list the
// missing fields, each in an envelope of its own. Rust's decoder has its own messages, which every server written in
// Rust shares: Dynamo and most gateways.
func (i *inspection) manners(ctx context.Context) {
	answer := i.api.send(ctx, http.MethodPost, "/v1/chat/completions", []byte("{}"))
	if answer.header.Get("X-Litellm-Call-Id") != "" {
		i.through(gatewayLiteLLM, "its errors have the header x-litellm-call-id")
	}
	var output struct {
		Object string          `json:"object"`
		Error  json.RawMessage `json:"error"`
	}
	if answer.status/100 != 4 {
		return
	}
	_ = json.Unmarshal(answer.body, &output) // text that is not JSON has neither
	fastAPI := bytes.Contains(answer.body, []byte("'missing'"))
	switch {
	case bytes.Contains(answer.body, []byte("missing field `m")):
		i.note(openai.EngineOpenAI, weightManner, "its errors are those of a server written in Rust")
	case fastAPI && output.Object == "error":
		i.note("trtllm", weightManner, "its errors are flat objects of FastAPI")
	case fastAPI && len(output.Error) > 0:
		i.note("vllm", weightManner, "its errors are wrapped objects of FastAPI")
	}
}

// version returns the engine's version: from a route for it in vLLM, TensorRT-LLM and Ollama, from the description of
// Dynamo's API, or from llama.cpp's properties; "" for others.
func (a *api) version(ctx context.Context, engine string) string {
	if engine == "dynamo" {
		return a.documentedVersion(ctx, "NVIDIA Dynamo OpenAI Frontend")
	}
	if engine == openai.EngineLlamaCPP {
		return a.build(ctx)
	}
	for _, path := range []string{metric.ForeignVersionPath, "/api/version"} {
		var answer struct {
			Version string `json:"version"`
		}
		if json.Unmarshal(a.fetch(ctx, path).okBody(), &answer) == nil && answer.Version != "" {
			return printable(a.secrets.Text(answer.Version))
		}
	}
	return ""
}

// build reads the build from llama.cpp's GET /props, or "" if it is not shown, as behind a key:
//
//	{"total_slots":2,"build_info":"b6500-4b8560a2"}
func (a *api) build(ctx context.Context) string {
	var properties struct {
		Build string `json:"build_info"`
	}
	if json.Unmarshal(a.fetch(ctx, metric.ForeignLlamaCPPPropertiesPath).okBody(), &properties) != nil {
		return ""
	}
	return printable(a.secrets.Text(properties.Build))
}
