package server

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/engine/spec"
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
	plain  bool // the engine takes plain request fields
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
	metrics string           // path of the page that shows the engine
	answers map[string]reply // by path
}

// detect identifies the engine by the server's behaviour. A server that cannot be identified is openai, whose fields
// every server accepts.
func (a *api) detect(ctx context.Context, m Model) detection {
	ctx, cancel := context.WithTimeout(ctx, a.detection)
	defer cancel()
	i := &inspection{api: a.within(a.detection / 2)} // a page that hangs leaves time for the others
	i.owner(m)
	i.traits(ctx, false)
	i.gateways(ctx)
	if i.gateway != gatewayLiteLLM { // it would send a request to each of its models
		i.traits(ctx, true)
	}
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
			best = clue{Clue: c.Clue, weight: sums[c.Engine]}
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

// contradiction returns the clue that contradicts an engine, or "" if none has weight. An engine that takes plain request
// fields does not contradict openai.
func (d detection) contradiction(engine string) string {
	var against []string
	for _, c := range d.clues {
		plain := c.plain && engine == openai.EngineOpenAI
		if c.Engine != engine && c.weight >= weightName && !plain {
			against = append(against, c.Says+" ("+c.Engine+")")
		}
	}
	return strings.Join(against, ", ")
}

func (i *inspection) note(engine string, weight int, format string, values ...any) {
	i.clues = append(i.clues, clue{Clue: rundir.Clue{Engine: engine, Says: printable(fmt.Sprintf(format, values...))}, weight: weight})
}

// found records a clue to a known engine; one whose requests have no fields of their own counts as openai.
func (i *inspection) found(e spec.Engine, weight int, format string, values ...any) {
	i.note(flagName(e), weight, format, values...)
	i.clues[len(i.clues)-1].plain = e.Request == nil || e.Request.Plain
}

// flagName is the value of --engine for an engine.
func flagName(e spec.Engine) string {
	if e.Request == nil {
		return openai.EngineOpenAI
	}
	return e.Name
}

// owner checks the name that the engine lists as the owner of its models.
func (i *inspection) owner(m Model) {
	if e, is := i.api.known.OfOwner(strings.TrimSuffix(m.OwnedBy, spec.SimulatedSuffix)); is && e.Request != nil {
		i.found(e, weightName, "its models are owned by %q", m.OwnedBy)
	}
}

// traits looks for answers that only one engine gives. Costly ones are at paths that a gateway may turn into requests to
// its models.
func (i *inspection) traits(ctx context.Context, costly bool) {
	for _, e := range i.api.known {
		for _, trait := range e.Identity.Traits {
			if trait.Costly != costly {
				continue
			}
			answer := i.ask(ctx, trait.Path)
			if says := trait.Shows(answer.status, answer.body); says != "" {
				i.found(e, weightTrait, "%s", says)
			}
		}
		if own := e.Identity.Server; !costly && own != "" && strings.EqualFold(i.ask(ctx, "/").header.Get("Server"), own) {
			i.found(e, weightTrait, "it calls itself %s", own)
		}
	}
}

// gateways looks for answers of gateways.
func (i *inspection) gateways(ctx context.Context) {
	for _, e := range i.api.known {
		if g := e.Identity.Gateway; g != nil && g.Is(i.ask(ctx, g.Path).okBody()) {
			i.through(g.Name, g.Because)
		}
	}
	root := i.ask(ctx, "/")
	i.smg(root.header)
	i.liteLLM(root.okBody())
}

// ask requests a path once.
func (i *inspection) ask(ctx context.Context, path string) reply {
	if i.answers == nil {
		i.answers = map[string]reply{}
	}
	answer, asked := i.answers[path]
	if !asked {
		answer = i.api.fetch(ctx, path)
		i.answers[path] = answer
	}
	return answer
}

// metricsPath is where most servers have their metrics.
const metricsPath = spec.DefaultPath

// pages checks the pages of metrics. An engine may serve the content of metricsPath only once, to the first client, and a
// probe must not take it. So pages at other paths are checked first, and if they or another clue identify such an engine, no
// further page is requested. A program that passes on the series of another one has its own page first.
func (i *inspection) pages(ctx context.Context) {
	for _, e := range i.api.known {
		if e.HasAPI() && e.Metrics.Path != "" && i.page(e, i.ask(ctx, e.Metrics.Path).okBody()) {
			return
		}
	}
	if best, is := i.api.known.Find(i.best().Engine); is && best.Metrics.Draining != nil {
		return
	}
	body := i.ask(ctx, metricsPath).okBody()
	for _, around := range []bool{true, false} {
		for _, e := range i.api.known {
			if e.HasAPI() && e.Metrics.Path == "" && (e.Metrics.Around != nil) == around && i.page(e, body) {
				return
			}
		}
	}
}

// page reports whether a page is an engine's, by the first form of its page, or by a form without a prefix, and records it.
func (i *inspection) page(e spec.Engine, body []byte) bool {
	for at, form := range e.Metrics.Forms {
		switch {
		case at == 0 && begins(body, form.Prefix):
			i.found(e, weightTrait, "%s has series %s…", e.PagePath(), form.Prefix)
		case len(form.Names) > 0 && hasUnprefixed(body, form):
			i.found(e, weightTrait, "%s has the series of %s without %s", e.PagePath(), e.Title, form.Prefix)
		default:
			continue
		}
		i.metrics = e.PagePath()
		return true
	}
	return false
}

// hasUnprefixed reports whether a page has a series of a form whose series have no prefix.
func hasUnprefixed(body []byte, form spec.Form) bool {
	for line := range bytes.Lines(body) {
		name, labels, _ := bytes.Cut(line, []byte("{"))
		for _, end := range []string{"_bucket", "_sum", "_count"} {
			name = bytes.TrimSuffix(name, []byte(end))
		}
		if form.Owns(string(name)) && bytes.Contains(labels, []byte(form.Mark+`="`)) {
			return true
		}
	}
	return false
}

// begins reports whether a line of the page begins with the prefix, or names it in a TYPE comment.
func begins(body []byte, prefix string) bool {
	for line := range bytes.Lines(body) {
		if bytes.HasPrefix(line, []byte(prefix)) || bytes.HasPrefix(line, []byte("# TYPE "+prefix)) {
			return true
		}
	}
	return false
}

// manners examines the error for a request without a prompt, which no server can answer. Rust's decoder has its own
// messages, which every server written in Rust shares, engines as well as most gateways.
func (i *inspection) manners(ctx context.Context) {
	answer := i.api.send(ctx, http.MethodPost, "/v1/chat/completions", []byte("{}"))
	if answer.header.Get("X-Litellm-Call-Id") != "" {
		i.through(gatewayLiteLLM, "its errors have the header x-litellm-call-id")
	}
	if answer.status/100 != 4 {
		return
	}
	if bytes.Contains(answer.body, []byte("missing field `m")) {
		i.note(openai.EngineOpenAI, weightManner, "its errors are those of a server written in Rust")
		return
	}
	for _, e := range i.api.known {
		if e.Identity.Manner == nil {
			continue
		}
		if says := e.Identity.Manner(answer.body); says != "" {
			i.found(e, weightManner, "%s", says)
			return
		}
	}
}

// version returns the version that an engine reports about itself; "" for none. A server that is no known engine, or whose
// engine says nothing about itself, may have one at the path of any server, or be an engine without fields of its own.
func (a *api) version(ctx context.Context, engine string) string {
	abouts := []*spec.About{spec.AboutVersion()}
	if known, is := a.known.Find(engine); is && known.Identity.About != nil {
		abouts[0] = known.Identity.About
	} else {
		for _, e := range a.known {
			if e.Request == nil && e.Identity.About != nil {
				abouts = append(abouts, e.Identity.About)
			}
		}
	}
	for _, about := range abouts {
		body := a.fetch(ctx, about.Path).okBody()
		if facts, err := about.Read(body); body != nil && err == nil && facts.Version != "" {
			return printable(a.secrets.Text(facts.Version))
		}
	}
	return ""
}
