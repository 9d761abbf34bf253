package workload

import (
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/traffic"
)

// ScenarioArena is the scenario of one cell of an arena.
const ScenarioArena = "arena"

// LatencyProbe is how the latency without a load is measured before it.
type LatencyProbe string

// The probes, by the names that llama-benchy has for them.
const (
	LatencyNone       LatencyProbe = "none"
	LatencyAPI        LatencyProbe = "api"        // the list of models, whole
	LatencyGeneration LatencyProbe = "generation" // one token, to its first event
)

// LatencyProbes returns all probes.
func LatencyProbes() []LatencyProbe {
	return []LatencyProbe{LatencyAPI, LatencyGeneration, LatencyNone}
}

// Sources of the lengths of prompts.
const (
	lengthsExact     = "exact"
	lengthsEstimated = "estimated"
)

// arenaCell are the sizes of arena: batches of requests that are sent at one moment, at a depth.
type arenaCell struct {
	depth, prompt, output int // tokens
	batches               int
	caching               bool
	latency               LatencyProbe
	lengths               string
}

// Limits of a cell. A tokenizer's answer for a longer text is not read to its end.
const (
	mostDepth   = 500_000
	mostBatches = 1000
)

// ErrDoesNotFit means that the server's context is too short for a cell.
var ErrDoesNotFit = errors.New("does not fit")

// ErrNoTokenizer means that the server's tokenizer is needed and cannot be used.
var ErrNoTokenizer = errors.New("the server's tokenizer cannot be asked")

// EstimatedLengths is the advice for a server without a tokenizer.
const EstimatedLengths = "--estimate-lengths of arena, or --set lengths=estimated of run, sends prompts of about the length"

// resolveArena: batches of requests that are sent at one moment, the next batch when all have ended, as llama-benchy
// sends them. With a depth and a prefix cache, each batch follows one that sends the contexts alone.
func resolveArena(s *Settings) error {
	if err := refuseConversations(s); err != nil {
		return err
	}
	cell := arenaCell{prompt: 2048, output: 128, batches: 3, caching: true, latency: LatencyAPI, lengths: lengthsExact}
	knobs := []knob{
		knobOf("depth", &cell.depth, terminal.Between(0, mostDepth)),
		knobOf("pp", &cell.prompt, terminal.Between(1, mostDepth)),
		knobOf("tg", &cell.output, terminal.Between(1, traffic.MaxTokens)),
		knobOf("runs", &cell.batches, terminal.Between(1, mostBatches)),
		knobOf("prefix.caching", &cell.caching, onOrOff),
		knobOf("latency", &cell.latency, terminal.OneOf(LatencyProbes()...)),
		knobOf("lengths", &cell.lengths, terminal.OneOf(lengthsExact, lengthsEstimated)),
	}
	for _, other := range []struct {
		flag  string
		given bool
	}{
		{"--arrival", s.Arrival != traffic.Closed}, {"--stages", len(s.stages) > 0}, {"--duration", s.duration != 0}, {"--requests", s.requestsGiven},
		{"--prompts", s.promptsGiven}, {"--input-tokens", s.inputTokens != nil}, {"--output-tokens", s.outputGiven}, {"--shared-prefix-tokens", s.sharedTokens > 0},
		{"--repeat-of", s.repeat != nil},
	} {
		if other.given {
			return fmt.Errorf("%s: --scenario %s has its own; --set says it (%s)", other.flag, s.Scenario.Name, keysOf(knobs))
		}
	}
	switch {
	case s.endpoint == completions:
		return fmt.Errorf("--endpoint: --scenario %s sends the depth as a system message, and completions take one text: use chat", s.Scenario.Name)
	case s.NoStream:
		return fmt.Errorf("--no-stream: --scenario %s measures the arrival of tokens", s.Scenario.Name)
	case s.warmup.Duration > 0:
		return fmt.Errorf("--warmup: --scenario %s warms up with a number of requests", s.Scenario.Name)
	}
	if err := s.applySizes(knobs); err != nil {
		return err
	}
	if !s.warmupGiven {
		s.warmup = traffic.Limit{Requests: s.Concurrency}
	}
	s.arena, s.outputTokens = &cell, traffic.Lengths{Min: cell.output, Max: cell.output}
	return nil
}

func onOrOff(text string) (bool, error) {
	word, err := terminal.OneOf("on", "off")(text)
	return word == "on", err
}

// deep reports whether the contexts are sent before the prompts.
func (c *arenaCell) deep() bool { return c.depth > 0 && c.caching }

// LatencyProbe returns how the latency without a load is measured before the run; LatencyNone for not at all.
func (s *Settings) LatencyProbe() LatencyProbe {
	if s.arena == nil {
		return LatencyNone
	}
	return s.arena.latency
}

// CutsText reports whether prompts are slices of the corpus; exact means by the count of the server's tokenizer.
func (s *Settings) CutsText() (cuts, exact bool) {
	return s.arena != nil, s.arena != nil && s.arena.lengths == lengthsExact
}

// ScenarioLabels returns the labels that the scenario gives a run, such as depth=4096.
func (s *Settings) ScenarioLabels() map[string]string {
	if s.arena == nil {
		return nil
	}
	return map[string]string{
		rundir.LabelDepth: strconv.Itoa(s.arena.depth), rundir.LabelConcurrency: strconv.Itoa(s.Concurrency),
		rundir.LabelPrompt: strconv.Itoa(s.arena.prompt), rundir.LabelResponse: strconv.Itoa(s.arena.output),
	}
}

// Framing is how many tokens the chat template adds to a request with a user's message alone, and to one with a system
// message too.
type Framing struct{ User, System int }

func writeArena(s *Settings, f Server) (Script, error) {
	cell := s.arena
	if need := cell.depth + cell.prompt + cell.output; f.MaxTokens > 0 && need > f.MaxTokens {
		return Script{}, fmt.Errorf("depth %d, pp %d, tg %d: a request of %d tokens %w: the server takes %d", cell.depth, cell.prompt, cell.output, need, ErrDoesNotFit, f.MaxTokens)
	}
	made := Script{workers: 1, Slots: s.Concurrency, independent: true, longest: cell.depth + cell.prompt}
	made.Facts = rundir.Script{Scenario: s.Scenario.Name, Arena: &rundir.Arena{
		DepthTokens: cell.depth, PromptTokens: cell.prompt, OutputTokens: cell.output, Concurrency: s.Concurrency, Batches: cell.batches,
		PrefixCaching: cell.caching, CorpusSHA256: traffic.CorpusSHA256, Estimated: cell.lengths == lengthsEstimated,
	}}
	if f.Framing == nil {
		made.note("what the server's chat template adds to a prompt is not known, and adds to its length")
	}
	if cell.deep() {
		made.DepthTokens = cell.depth
	}
	prompts, err := s.arenaPrompts(f, &made)
	if err != nil {
		return Script{}, err
	}
	made.contents = func(phase string, first int) iter.Seq[content] {
		return func(yield func(content) bool) {
			for _, p := range prompts[phase][min(first, len(prompts[phase])):] {
				if !yield(content{draw: func() traffic.Prompt { return p }}) {
					return
				}
			}
		}
	}
	return made, nil
}

// arenaPrompts adds the phases of the batches to the script, and returns the prompts of all phases.
func (s *Settings) arenaPrompts(f Server, made *Script) (map[string][]traffic.Prompt, error) {
	cutter := arenaCutter{cell: s.arena, chat: f.CountChat, slices: traffic.CorpusSlices{Set: s.promptSet(f.Scale), Count: f.Count}}
	if f.Framing != nil {
		cutter.framing = *f.Framing
	}
	if err := cutter.check(); err != nil {
		return nil, err
	}
	prompts := map[string][]traffic.Prompt{}
	var err error
	if prompts[rundir.PhaseWarmup], _, err = cutter.batch(rundir.PhaseWarmup, s.warmup.Requests, false); err != nil {
		return nil, err
	}
	for i := range s.arena.batches {
		name, before := rundir.BatchPhase+strconv.Itoa(i+1), rundir.ContextPhase+strconv.Itoa(i+1)
		var contexts []traffic.Prompt
		if prompts[name], contexts, err = cutter.batch(name, s.Concurrency, s.arena.deep()); err != nil {
			return nil, err
		}
		if s.arena.deep() {
			prompts[before] = contexts
			made.phases, made.unmeasured = append(made.phases, s.batch(before)), append(made.unmeasured, before)
		}
		made.phases = append(made.phases, s.batch(name))
	}
	if cutter.inexact > 0 {
		made.note("%d prompts have a token more or less than asked for: no slice of the corpus fits exactly", cutter.inexact)
	}
	return prompts, nil
}

// batch returns a phase that sends all its requests at one moment.
func (s *Settings) batch(name string) Phase {
	return Phase{Name: name, Process: traffic.ArrivalProcess{Arrival: traffic.Closed}, Limit: traffic.Limit{Requests: s.Concurrency}, Slots: s.Concurrency}
}

// arenaCutter makes the prompts of a cell.
type arenaCutter struct {
	cell    *arenaCell
	slices  traffic.CorpusSlices
	framing Framing
	chat    func([]openai.Message) (int, error) // nil if the server does not count chats
	inexact int                                 // requests of another length, since no slice fits
}

// check refuses lengths that the chat template alone exceeds.
func (c *arenaCutter) check() error {
	switch {
	case c.cell.depth > 0 && c.cell.depth <= c.framing.System:
		return fmt.Errorf("depth %d: the chat template alone adds %d tokens", c.cell.depth, c.framing.System)
	case c.cell.depth == 0 && c.cell.prompt <= c.framing.User:
		return fmt.Errorf("pp %d: the chat template alone adds %d tokens", c.cell.prompt, c.framing.User)
	}
	return nil
}

// contextText is the user's message of a request that sends a context alone. llama-benchy has the same.
const contextText = "."

// batch returns the prompts of a batch. If the contexts go before it, they are returned too, and a prompt repeats the
// tokens of its context. What the chat template adds counts as a part of the context or, without one, of the prompt.
func (c *arenaCutter) batch(name string, n int, cached bool) (prompts, contexts []traffic.Prompt, err error) {
	for i := range n {
		var context, prompt traffic.Slice
		size := c.cell.prompt
		if c.cell.depth == 0 {
			size -= c.framing.User
		} else if context, err = c.slices.Cut(name+"/depth", i, c.cell.depth-c.framing.System, true, c.surplus(c.context)); err != nil {
			return nil, nil, fmt.Errorf("depth %d: %w", c.cell.depth, err)
		}
		within := func(text string) traffic.Prompt { return c.prompt(context, text, text, c.cell.prompt) }
		if prompt, err = c.slices.Cut(name, i, size, c.cell.depth == 0, c.surplus(within)); err != nil {
			return nil, nil, fmt.Errorf("pp %d: %w", c.cell.prompt, err)
		}
		p := c.prompt(context, prompt.Text, prompt.Seeded, c.cell.prompt)
		if prompt.Surplus != 0 {
			c.inexact++
		}
		if cached {
			p.RepeatedTokens = c.cell.depth
			contexts = append(contexts, c.prompt(context, contextText, contextText, 1))
		}
		prompts = append(prompts, p)
	}
	return prompts, contexts, nil
}

// context returns a request that sends a context alone.
func (c *arenaCutter) context(text string) traffic.Prompt {
	return c.prompt(traffic.Slice{Text: text, Seeded: text}, contextText, contextText, 1)
}

// surplus returns how many tokens too many a request with a text has by the server's count of the chat; nil if the server
// does not count chats.
func (c *arenaCutter) surplus(within func(text string) traffic.Prompt) func(text string) (int, error) {
	if c.chat == nil {
		return nil
	}
	return func(text string) (int, error) {
		p := within(text)
		var messages []openai.Message
		for _, m := range append(p.Before, traffic.Message{Role: "user", Content: p.Text}) {
			messages = append(messages, openai.Message(m))
		}
		n, err := c.chat(messages)
		return n - p.Tokens, err
	}
}

// prompt returns a request of a context, which may be empty, and a user's message of the given length.
func (c *arenaCutter) prompt(context traffic.Slice, text, seeded string, tokens int) traffic.Prompt {
	p := traffic.Prompt{Text: text, Tokens: tokens, OutputTokens: c.cell.output}
	plain := p
	plain.Text = seeded
	if c.cell.depth > 0 {
		p.Tokens += c.cell.depth
		p.Before = []traffic.Message{{Role: "system", Content: context.Text}}
		plain.Tokens, plain.Before = p.Tokens, []traffic.Message{{Role: "system", Content: context.Seeded}}
	}
	p.Plain = &plain
	return p
}
