// Package workload knows what is asked of a server: which requests there are, what they say, when they
// are due, and how all of that follows from settings and a seed. Scenarios are its files. It writes the
// schedule before anything is sent and keeps requests ready ahead of their time; sending them is drive's.
package workload

import (
	"fmt"
	"time"

	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/prompt"
	"github.com/umascope/umascope/loadgen/rank"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/schedule"
)

// Defaults of settings whose zero value means that they were not given.
const (
	defaultRequests    = 64
	defaultConcurrency = 1
)

// Settings say what is sent, and when. Flags declares them, Resolve completes them.
type Settings struct {
	endpoint       openai.Endpoint // of the target
	Scenario       Scenario
	Prompts        string // a set's name or a file
	file           *prompt.File
	inputTokens    *prompt.Lengths
	maxInputTokens int
	tokenMargin    int
	clip           bool
	sharedTokens   int
	outputTokens   prompt.Lengths
	template       *prompt.Template
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

	Arrival     schedule.Arrival
	Concurrency int
	rate        float64
	burstiness  float64
	stages      []schedule.Stage
	ramp        time.Duration
	TracePath   string
	trace       *schedule.Trace
	clients     int
	active      int
	maxTurns    int
	sampling    string
	requests    int
	duration    time.Duration
	warmup      schedule.Limit
	Grace       time.Duration // for requests in flight when the load ends
	Seed        uint64
	repeatOf    string    // as given
	repeat      *repeated // nil: the prompts are of the run's own
	sizes       []size
	fitPressure float64
	force       bool
	sets        *sets // of scenarios that send sets of prompts, once resolved
	bursts      bursts

	// How long a request may take, its first token, and from one chunk to the next.
	RequestTimeout, FirstTokenTimeout, ChunkTimeout time.Duration

	// PromptKey is what the first words of prompts come from beside the seed, so that no server has seen them; empty:
	// all words come from the seed alone. SamePrompts: other runs of a sweep have the same key.
	PromptKey   string
	SamePrompts bool

	// What was said on the command line and is not the default's.
	promptsGiven, outputGiven, samplingGiven, concurrencyGiven, clientsGiven, requestsGiven, seedGiven bool

	// Place is that of this process among those that share the load, to be set before Resolve. What the
	// load is, the settings say of all of them together.
	Place rank.Place

	// KeepOutputs keeps what the model wrote; scenarios that compare outputs set it.
	KeepOutputs bool
	// KeepPrompts keeps what was asked and answered, apart from the outputs.
	KeepPrompts bool
	// SeeOutputs has what the model wrote come with every result, whether it is kept or not.
	SeeOutputs bool
}

// Resolve reads the files, fills what depends on other settings, and refuses what contradicts itself; the
// error names the flag. The endpoint is the target's.
func (s *Settings) Resolve(endpoint openai.Endpoint) error {
	s.endpoint = endpoint
	for _, resolve := range []func() error{s.resolveArrival, s.resolvePrompts, s.resolveScenario, s.checkRamp, s.resolveShare} {
		if err := resolve(); err != nil {
			return err
		}
	}
	if s.FirstTokenTimeout == 0 {
		s.FirstTokenTimeout = s.RequestTimeout
	}
	return nil
}

// Server is what is known of the server before the load.
type Server struct {
	Model  string // its name
	Engine string
	// Run is the name of the run. It keeps what is salted apart from what earlier runs sent: of a repeated
	// run, the server would have it all in its cache.
	Run string
	// MaxTokens is the longest prompt with its answer; 0 is not known.
	MaxTokens int
	// Fields are those of the vendor's that it takes; nil stands for what is known of the vendor.
	Fields []openai.Field
	// Tiers is how much the tiers of its KV cache hold, as far as it is known.
	Tiers evidence.Room
	// Scale is how many tokens texts have there.
	Scale prompt.Scale
}

// Write makes the workload, once it is known what is served. It refuses what does not fit; the error names
// the flag.
func (s *Settings) Write(f Server) (*Workload, error) {
	made, err := s.Scenario.write(s, f)
	if err != nil {
		return nil, err
	}
	if made.Facts.Clipped > 0 {
		made.note("%d prompts or conversations were shortened to fit (--clip)", made.Facts.Clipped)
	}
	if made.Facts.File != nil || !f.Scale.Exact() {
		made.note("the lengths asked of prompts are %s", s.InputLengths(f.Scale))
	}
	for _, raised := range s.raisedToWorld() {
		made.note("%s", raised)
	}
	return &Workload{
		model: f.Model, engine: f.Engine, run: f.Run, fields: f.Fields, keepOutputs: s.KeepOutputs || s.KeepPrompts || s.SeeOutputs, seed: s.Seed, place: s.Place, repeat: s.repeat, Script: made,
		Sampling: rundir.Sampling{
			Endpoint: s.endpoint, Template: s.templateName, Stream: !s.NoStream, IgnoreEOS: s.IgnoreEOS,
			Temperature: s.Temperature, TopP: s.TopP, Stop: s.Stop, Seed: s.RequestSeed, Extra: s.ExtraBody,
		},
		template: s.template, Output: s.outputTokens, Phases: s.phases(made.phases),
	}, nil
}

// InputLengths says how the lengths of prompts come about.
func (s *Settings) InputLengths(scale prompt.Scale) string {
	if s.file == nil {
		return scale.String()
	}
	return fmt.Sprintf("estimated: %.3f tokens a byte of the prompt file (%s); what the server's chat template adds is not counted", scale.TokensPerByte, scale.Basis)
}

// Sample is a text like those of the prompt file; empty without a file.
func (s *Settings) Sample() string {
	if s.file == nil {
		return ""
	}
	return s.file.Sample()
}

// Recount counts the tokens of the prompt file by the scale of the server.
func (s *Settings) Recount(scale prompt.Scale) error {
	if s.file == nil {
		return nil
	}
	return s.readPrompts(scale)
}

// Pressured says whether the scenario pushes something out of the KV cache, and has to know its size.
func (s *Settings) Pressured() bool { return s.sets != nil }

// NeedsSalt says whether requests have to be kept from what the server cached for others.
func (s *Settings) NeedsSalt() bool { return s.sets != nil && s.sets.baseline.requests > 0 }

// MostInFlight is how many requests may be in flight at once; 0 is no limit.
func (s *Settings) MostInFlight() int {
	most := s.Concurrency
	for _, stage := range s.stages {
		if s.Arrival == schedule.Closed {
			most = max(most, int(stage.Level))
		}
	}
	return most
}
