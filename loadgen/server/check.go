package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

// CheckSchema is the schema name of check's JSON.
const CheckSchema = "umascope.check/1"

// Finding is one line of check's output.
type Finding struct {
	Name string `json:"name"`
	// OK is true if a run can rely on the feature; absent if the finding is only information.
	OK     *bool  `json:"ok,omitempty"`
	Detail string `json:"detail"`
}

// Findings is the JSON output of check.
type Findings struct {
	Schema string `json:"schema"`
	URL    string `json:"url"`
	Model  string `json:"model,omitempty"`
	Engine string `json:"engine,omitempty"`
	// Version is the version that the engine reports.
	Version string `json:"version,omitempty"`
	// Clues are the observations by which the engine was identified.
	Clues []rundir.Clue `json:"engine_clues,omitempty"`
	// Usable is true if a run on the chosen endpoint can work.
	Usable bool `json:"usable"`
	// Accepted lists the request fields that the server accepts or ignores.
	Accepted *rundir.Acceptance `json:"fields,omitempty"`
	Findings []Finding          `json:"findings"`
}

// checkTokens is the length of the check's answers: enough for several chunks.
const checkTokens = 32

// checker checks one server.
type checker struct {
	target Target
	found  Findings
	api    *api
	probe  *prober
	limit  int // longest prompt with its answer, in tokens; 0 if unknown
	block  int // tokens in a block of the KV cache; 0 if unknown
	words  int // words of the prompt that is sent
}

// Check finds out which model and engine the server has and which fields it accepts. The error is the reason why a run
// on the chosen endpoint cannot work. Findings come with it, unless the server could not be reached at all.
func Check(ctx context.Context, t Target) (*Findings, error) {
	key, err := t.apiKey()
	if err != nil {
		return nil, err
	}
	api, err := newAPI(t, key)
	if err != nil {
		return nil, err
	}
	defer api.close()
	probe, err := newProber(t, key, openai.Params{TopP: 1, Stream: true})
	if err != nil {
		return nil, err
	}
	defer probe.close()
	c := &checker{target: t, api: api, probe: probe, found: Findings{Schema: CheckSchema, URL: t.URL}}
	failure := c.ask(ctx)
	c.found.Usable = failure == nil
	return &c.found, failure
}

// ask makes all checks. The error is the one that makes a run impossible.
func (c *checker) ask(ctx context.Context) error {
	listed, err := c.api.list(ctx, c.target)
	if err != nil {
		c.found.add("models", false, err.Error())
		return advised(c.target.URL, err)
	}
	if listed.without == "" {
		c.found.add("models", len(listed.models) > 0, namesOf(listed.models))
	} else {
		c.found.note("models", "not listed: "+listed.without+"; the model is the one that --model names")
	}
	m, err := choose(listed.models, c.target.Model)
	if err != nil {
		return err
	}
	seems := c.api.detect(ctx, m)
	c.health(ctx, seems)
	c.engine(seems, m)
	c.probe.base.Model, c.probe.base.Vendor = m.ID, VendorOf(c.target.Known, c.found.Engine)
	c.probe.base.Endpoint, c.probe.base.Fields = c.target.Endpoint, []openai.Field{}
	if err := c.fields(ctx); err != nil {
		return err
	}
	c.context(ctx, m)
	c.sizePrompt(ctx, m)
	return c.complete(ctx)
}

// context reports how long a request may be. A server that does not report a limit may cut prompts without an error.
func (c *checker) context(ctx context.Context, m Model) {
	c.limit = c.api.contextOf(ctx, m, c.found.Engine)
	if c.limit == 0 {
		c.found.note("longest prompt with answer", "not told: prompts may be cut or refused (--max-input-tokens)")
		return
	}
	c.found.note("longest prompt with answer", fmt.Sprintf("%d tokens", c.limit))
}

// engine reports the engine that the server seems to be, with the reasons.
func (c *checker) engine(seems detection, m Model) {
	c.found.Model, c.found.Engine, c.found.Version, c.found.Clues = m.ID, c.target.Engine, seems.version, seems.facts()
	if c.target.Engine == EngineAuto {
		c.found.Engine = seems.engine
	}
	var because []string
	for _, clue := range seems.clues {
		if clue.Engine == c.found.Engine || clue.weight == weightNone {
			because = append(because, clue.Says)
		}
	}
	detail := strings.TrimSpace(c.found.Engine + " " + seems.version)
	if len(because) > 0 {
		detail += ": " + strings.Join(because, ", ")
	}
	if against := seems.contradiction(c.found.Engine); against != "" {
		c.found.add("engine", false, detail+"; but "+against)
		return
	}
	c.found.note("engine", detail)
}

// health requests the route that most engines have; a server without it is not worse. LiteLLM's sends a request to
// each of its models.
func (c *checker) health(ctx context.Context, seems detection) {
	path := "/health"
	if seems.gateway == gatewayLiteLLM {
		path = "/health/liveliness"
	}
	switch answer := c.api.fetch(ctx, path); {
	case answer.err != nil:
		c.found.note("health", answer.err.Error())
	case answer.status == http.StatusOK:
		c.found.add("health", true, "GET "+path+" answered 200")
	default:
		c.found.note("health", fmt.Sprintf("GET %s answered %d", path, answer.status))
	}
}

// params returns the parameters of an ordinary request.
func (c *checker) params(endpoint openai.Endpoint) openai.Params {
	params := c.probe.base
	params.Endpoint, params.Prompt, params.MaxTokens = endpoint, c.text(), checkTokens
	return params
}

// fields finds out which request fields the server accepts, one by one, so that check reports each of them. It fails
// if the server accepts no request at all on the chosen endpoint.
func (c *checker) fields(ctx context.Context) error {
	var renounced rundir.Acceptance
	record, err := c.probe.try(ctx)
	if dead := c.probe.overdue(record); dead != nil {
		c.found.add(string(c.target.Endpoint), false, err.Error())
		return dead
	}
	if err != nil && mayRefuseField(record) {
		renounced, record, err = c.probe.shrink(ctx, err)
	}
	if err != nil && turnsDown(record) {
		c.found.add(string(c.target.Endpoint), false, err.Error())
		return fmt.Errorf("--endpoint: %s: %w", c.target.Endpoint, err)
	}
	wishes := features(c.target.Endpoint)
	found := c.probe.oneByOne(ctx, wishes)
	c.probe.base.Fields = fieldsOf(found, wishes)
	found.Accepted, found.Refused = append(renounced.Accepted, found.Accepted...), append(renounced.Refused, found.Refused...)
	c.found.Accepted = &found
	for _, name := range found.Accepted {
		c.found.note("accepts "+name, "yes, or ignores it")
	}
	for _, r := range found.Refused {
		detail := "no: " + r.Says
		if lost := cost(openai.Field(r.Field), c.probe.base.Omit); lost != "" {
			detail += "; a run leaves it out: " + lost
		}
		c.found.note("accepts "+r.Field, detail)
	}
	if found.Unknown != "" {
		c.found.note("accepts", "not all could be tried: "+found.Unknown)
	}
	return nil
}

// features lists the fields that check tries, of all vendors.
func features(endpoint openai.Endpoint) []wish {
	seed := int64(1)
	all := []wish{
		{name: "seed", apply: func(p *openai.Params) { p.Seed = &seed }},
		{name: "stop", apply: func(p *openai.Params) { p.Stop = []string{"\n\n\n"} }},
	}
	for _, field := range []openai.Field{
		openai.FieldIgnoreEOS, openai.FieldMinTokens, openai.FieldContinuousUsage, openai.FieldTokenIDs, openai.FieldCacheSalt, openai.FieldCachedDetails,
		openai.FieldDraftDetails,
	} {
		all = append(all, wish{name: string(field), apply: grant(field)})
	}
	if endpoint == openai.Chat {
		all = append(all, wish{name: "max_completion_tokens", apply: extra("max_completion_tokens", probeTokens)})
	}
	return append(all, wish{name: "whole answers (no stream)", apply: func(p *openai.Params) { p.Stream = false }})
}

// complete sends one streaming request to each endpoint and examines the answer of the chosen one.
func (c *checker) complete(ctx context.Context) error {
	var chosen error
	for _, endpoint := range []openai.Endpoint{openai.Chat, openai.Completions} {
		result, err := c.long(ctx, endpoint)
		if err != nil {
			c.found.add(string(endpoint), false, err.Error())
			if endpoint == c.target.Endpoint {
				chosen = fmt.Errorf("--endpoint: %s: %w", endpoint, err)
			}
			continue
		}
		c.found.add(string(endpoint), true, describe(result.Record))
		if endpoint == c.target.Endpoint {
			c.look(ctx, result)
		}
	}
	return chosen
}

func describe(record openai.Record) string {
	text := fmt.Sprintf("%d chunks, finished by %q", len(record.ArrivalsNS), record.FinishReason)
	if ttft, ok := record.TTFT(openai.FromSend); ok {
		text += fmt.Sprintf(", first token after %s", ttft.Round(time.Millisecond))
	}
	return printable(text)
}

func (f *Findings) add(name string, ok bool, detail string) {
	f.Findings = append(f.Findings, Finding{name, &ok, printable(detail)})
}

func (f *Findings) note(name, detail string) {
	f.Findings = append(f.Findings, Finding{Name: name, Detail: printable(detail)})
}

// Print writes the findings as JSON, or as one line per finding.
func (f *Findings) Print(out io.Writer, asJSON bool) error {
	if asJSON {
		return openai.PrintJSON(out, f)
	}
	width := 0
	for _, line := range f.Findings {
		width = max(width, len(line.Name))
	}
	for _, line := range f.Findings {
		mark := "-"
		if line.OK != nil {
			mark = map[bool]string{true: "ok", false: "NO"}[*line.OK]
		}
		if _, err := fmt.Fprintf(out, "%-2s  %-*s  %s\n", mark, width, line.Name, line.Detail); err != nil {
			return err
		}
	}
	return nil
}
