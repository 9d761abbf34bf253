// Package workload computes the requests of a run: their number, content and due times, as functions of settings and a
// seed. Scenarios are the table in scenario.go. The package writes the schedule before the first request and
// prepares requests ahead of time.
//
// Loop sends them at their moments, by the clock or slot by slot, phase by phase, and measures how late the client itself
// was. It does not depend on prompts, scenarios or files.
package workload

import (
	"fmt"
	"time"

	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/traffic"
)

// Defaults of settings whose zero value means that they are not set.
const (
	defaultRequests    = 64
	defaultConcurrency = 1
)

// Settings define what is sent, and when. Flags declares them, Resolve completes them.
type Settings struct {
	endpoint       openai.Endpoint // of the target
	Scenario       Scenario
	Prompts        string // a set's name or a file
	file           *traffic.PromptFile
	inputTokens    *traffic.Lengths
	maxInputTokens int
	tokenMargin    int
	clip           bool
	sharedTokens   int
	outputTokens   traffic.Lengths
	template       *traffic.Template
	templateName   string
	templateFlag   string
	IgnoreEOS      bool
	Temperature    float64
	TopP           float64
	Stop           []string
	RequestSeed    *int64
	ExtraBody      map[string]any
	NoStream       bool
	// PromptIDs makes prompts of token ids instead of text.
	PromptIDs bool

	Arrival     traffic.Arrival
	Concurrency int
	rate        float64
	burstiness  float64
	stages      []traffic.Stage
	rampGiven   *time.Duration // nil without --ramp
	ramp        time.Duration
	TracePath   string
	traceUnits  traffic.TraceUnits
	trace       *traffic.Trace
	clients     int
	active      int
	maxTurns    int
	sampling    string
	requests    int
	duration    time.Duration
	warmup      traffic.Limit
	Grace       time.Duration // for requests in flight when the load ends
	Seed        uint64
	repeatOf    string    // as given
	repeat      *repeated // nil: the run has its own prompts
	sizes       []size
	fitPressure float64
	force       bool
	sets        *sets // of scenarios that send sets of prompts, after Resolve
	bursts      bursts
	arena       *arenaCell // of arena, after Resolve

	// Limits of a request, of its first token, and of the time from one chunk to the next.
	RequestTimeout, FirstTokenTimeout, ChunkTimeout time.Duration

	// PromptKey, with the seed, determines the first words of prompts, so that no server has seen them; if empty, all
	// words come from the seed alone. SamePrompts: other runs of a sweep have the same key.
	PromptKey   string
	SamePrompts bool

	// Flags set on the command line to something other than the default.
	promptsGiven, outputGiven, samplingGiven, concurrencyGiven, clientsGiven, requestsGiven, seedGiven, warmupGiven, temperatureGiven, topPGiven bool

	// Place is this process's rank among those that share the load; set it before Resolve. The settings describe the
	// load of all ranks together.
	Place traffic.Place

	// KeepOutputs keeps the model's output; scenarios that compare outputs set it.
	KeepOutputs bool
	// KeepPrompts keeps prompts and answers, separate from the outputs.
	KeepPrompts bool
	// SeeOutputs adds the model's output to every result, even if it is not kept.
	SeeOutputs bool
}

// Resolve reads the files, fills in dependent settings, and refuses contradictions; the error names the flag. The
// endpoint is the target's.
func (s *Settings) Resolve(endpoint openai.Endpoint) error {
	s.endpoint = endpoint
	for _, resolve := range []func() error{s.resolveArrival, s.resolvePrompts, s.resolveScenario, s.resolveRamp, s.resolveShare} {
		if err := resolve(); err != nil {
			return err
		}
	}
	if s.FirstTokenTimeout == 0 {
		s.FirstTokenTimeout = s.RequestTimeout
	}
	return nil
}

// Server holds the server's properties that the workload needs.
type Server struct {
	Model  string // its name
	Vendor openai.Vendor
	// Run is the name of the run. It separates what is salted from what earlier runs sent: a repeated run would
	// otherwise be answered from the server's cache.
	Run string
	// MaxTokens is the longest prompt with its answer, in tokens; 0 is unknown.
	MaxTokens int
	// Fields are the vendor's fields that the server takes; nil means the default fields of the vendor.
	Fields []openai.Field
	// Omit are fields of OpenAI's own that the server refuses.
	Omit []openai.Field
	// Servers is how many servers share the load; 0 and 1 are a single one.
	Servers int
	// Tiers is the capacity of the tiers of its KV cache, as far as the server reports it.
	Tiers evidence.Room
	// Scale converts texts to the server's tokens.
	Scale traffic.TokenScale
	// Count returns the tokens of a text, for scenarios that cut texts to a length.
	Count func(text string) (int, error)
	// Framing is nil if it is not known.
	Framing *Framing
	// CountChat returns the tokens of a chat's prompt, with what the chat template adds; nil if the server does not count
	// them before a request.
	CountChat func([]openai.Message) (int, error)
}

// Write makes the workload for the server. It refuses what does not fit; the error names the flag.
func (s *Settings) Write(f Server) (*Workload, error) {
	made, err := s.Scenario.write(s, f)
	if err != nil {
		return nil, err
	}
	if made.Facts.Clipped > 0 {
		made.note("%d prompts or conversations were shortened to fit (--clip)", made.Facts.Clipped)
	}
	if cuts, exact := s.CutsText(); !exact && (cuts || made.Facts.File != nil || !f.Scale.Exact()) {
		made.note("the lengths asked of prompts are %s", s.inputLengths(f))
	}
	for _, raised := range s.raisedToWorld() {
		made.note("%s", raised)
	}
	return &Workload{
		model: f.Model, vendor: f.Vendor, servers: f.Servers, run: f.Run, fields: f.Fields, omit: f.Omit, keepOutputs: s.KeepOutputs || s.KeepPrompts || s.SeeOutputs, seed: s.Seed, place: s.Place, repeat: s.repeat, Script: made,
		Sampling: rundir.Sampling{
			Endpoint: string(s.endpoint), Template: s.templateName, Stream: !s.NoStream, IgnoreEOS: s.IgnoreEOS,
			Temperature: s.Temperature, TopP: s.TopP, Stop: s.Stop, Seed: s.RequestSeed, Extra: s.ExtraBody,
		},
		template: s.template, InputLengths: s.inputLengths(f), Output: s.outputTokens, Phases: s.phases(made.phases),
	}, nil
}

// inputLengths describes the lengths of prompts.
func (s *Settings) inputLengths(f Server) string {
	scale := f.Scale
	switch cuts, exact := s.CutsText(); {
	case exact && f.CountChat != nil:
		return "exact: the server counted every prompt with its chat template before it was sent"
	case exact:
		return "exact: every prompt is counted by the server's tokenizer, with what its chat template adds; where a text meets the template a token or two may differ"
	case cuts:
		return fmt.Sprintf("estimated: %.3f tokens a byte of the corpus (%s)", scale.TokensPerByte, scale.Basis)
	}
	if s.file == nil {
		return scale.String()
	}
	return fmt.Sprintf("estimated: %.3f tokens a byte of the prompt file (%s); what the server's chat template adds is not counted", scale.TokensPerByte, scale.Basis)
}

// Sample returns a text like those of the prompt file or of the corpus; empty if prompts are of neither.
func (s *Settings) Sample() string {
	if s.arena != nil {
		return traffic.CorpusSample()
	}
	if s.file == nil {
		return ""
	}
	return s.file.Sample()
}

// Recount counts the tokens of the prompt file by the scale of the server.
func (s *Settings) Recount(scale traffic.TokenScale) error {
	if s.file == nil {
		return nil
	}
	return s.readPrompts(scale)
}

// Pressured reports whether the scenario evicts from the KV cache and so needs its size.
func (s *Settings) Pressured() bool { return s.sets != nil }

// OneServer reports whether the scenario is about the prefix cache of one server.
func (s *Settings) OneServer() bool { return s.sets != nil || s.arena != nil }

// NeedsSalt reports whether requests must not hit what the server cached for others.
func (s *Settings) NeedsSalt() bool { return s.sets != nil && s.sets.baseline.requests > 0 }

// AsksTokenIDs reports whether requests ask for the ids of tokens. llama-benchy always does, and what it counts depends
// on them.
func (s *Settings) AsksTokenIDs() bool { return s.arena != nil }

// MostInFlight returns how many requests may be in flight at once; 0 is no limit.
func (s *Settings) MostInFlight() int {
	most := s.Concurrency
	for _, stage := range s.stages {
		if s.Arrival == traffic.Closed {
			most = max(most, int(stage.Level))
		}
	}
	return most
}

// Insisted returns the flags of the fields that requests may not go without: the user gave them, or the scenario is about
// the length of answers.
func (s *Settings) Insisted() map[openai.Field]string {
	flags := map[openai.Field]string{}
	if s.temperatureGiven {
		flags[openai.FieldTemperature] = "--temperature"
	}
	if s.topPGiven {
		flags[openai.FieldTopP] = "--top-p"
	}
	if s.outputGiven || s.IgnoreEOS || s.arena != nil {
		for _, name := range (openai.Vendor{}).Caps(s.endpoint) {
			flags[name] = "--output-tokens"
		}
	}
	return flags
}
