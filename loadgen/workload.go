package loadgen

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"time"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/prompt"
)

// Phases of a run, in order. Ready and stop have no load: they give telemetry a stretch before
// and after it.
const (
	phaseReady   = "ready"
	phaseWarmup  = "warmup"
	phaseMeasure = "measure"
	phaseStop    = "stop"
)

// outputStream keeps the draws of output lengths apart from those of prompts.
const outputStream = "/output"

// sampling is what a request asks for beside its prompt. Model and vendor are left out: two arms
// that differ in them have the same workload.
type sampling struct {
	Endpoint    chat.Endpoint  `json:"endpoint"`
	Stream      bool           `json:"stream"`
	MaxTokens   int            `json:"max_tokens,omitempty"`
	IgnoreEOS   bool           `json:"ignore_eos"`
	Temperature float64        `json:"temperature"`
	TopP        float64        `json:"top_p"`
	Stop        []string       `json:"stop,omitempty"`
	Seed        *int64         `json:"seed,omitempty"`
	Extra       map[string]any `json:"extra,omitempty"`
}

// workload is everything that will be sent, as functions of seed, phase and index.
type workload struct {
	model, engine string
	sampling      sampling
	prompts       prompt.Set
	output        prompt.Lengths
	concurrency   int
	phases        []phase
	keepOutputs   bool
}

// entry is one line of schedule.jsonl.
type entry struct {
	Phase string `json:"phase"`
	Index int    `json:"index"`
	// PlannedNS is the intended start from the start of the phase; absent in a closed loop.
	PlannedNS         *int64 `json:"planned_ns,omitempty"`
	PromptSHA256      string `json:"prompt_sha256"`
	ParamsSHA256      string `json:"params_sha256"`
	InputTokensTarget int    `json:"input_tokens_target"`
	MaxTokens         int    `json:"max_tokens"`
}

func (s *settings) workload(m model, engine string, inputs []prompt.Lengths) *workload {
	return &workload{
		model: m.ID, engine: engine, keepOutputs: s.saveOutputs,
		sampling: sampling{
			Endpoint: s.target.endpoint, Stream: !s.noStream, IgnoreEOS: s.ignoreEOS,
			Temperature: s.temperature, TopP: s.topP, Stop: s.stop, Seed: s.requestSeed, Extra: s.extraBody,
		},
		prompts: prompt.Set{Seed: s.seed, Lengths: inputs}, output: s.outputTokens,
		concurrency: s.concurrency, phases: s.phases(),
	}
}

// endless says whether the number of requests shows only while they run: a closed loop that
// ends by time.
func (p phase) endless() bool { return !p.process.Open() && p.limit.Requests == 0 }

// planned yields index and planned offset of each request of a phase; without end if it is endless.
func (w *workload) planned(p phase) iter.Seq2[int, *time.Duration] {
	return func(yield func(int, *time.Duration) bool) {
		if p.process.Open() {
			index := 0
			for offset := range p.process.Offsets(p.limit, w.prompts.Seed, w.stream(p)) {
				if !yield(index, &offset) {
					return
				}
				index++
			}
			return
		}
		for index := 0; p.endless() || index < p.limit.Requests; index++ {
			if !yield(index, nil) {
				return
			}
		}
	}
}

// stream keeps the arrivals of the phases apart.
func (w *workload) stream(p phase) uint64 {
	if p.name == phaseWarmup {
		return 1
	}
	return 0
}

// draft is one planned request before its body is made.
type draft struct {
	entry    entry
	prompt   string
	sampling sampling
}

// draft draws prompt and output length of one request.
func (w *workload) draft(p phase, index int, offset *time.Duration) (draft, error) {
	made := w.prompts.Prompt(p.name, index)
	d := draft{prompt: made.Text, sampling: w.sampling}
	d.sampling.MaxTokens = w.outputTokens(p.name, index)
	params, err := json.Marshal(d.sampling)
	if err != nil {
		return draft{}, err
	}
	d.entry = entry{
		Phase: p.name, Index: index, PlannedNS: (*int64)(offset),
		PromptSHA256: hexSHA256([]byte(made.Text)), ParamsSHA256: hexSHA256(params),
		InputTokensTarget: made.Tokens, MaxTokens: d.sampling.MaxTokens,
	}
	return d, nil
}

// outputTokens draws the cap of one output, which is its length where --ignore-eos forces it.
func (w *workload) outputTokens(phase string, index int) int {
	return w.output.Draw(prompt.Random(w.prompts.Seed, phase+outputStream, index))
}

func hexSHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// job makes the request's body.
func (w *workload) job(d draft) (job, error) {
	params := chat.Params{
		Endpoint: d.sampling.Endpoint, Model: w.model, Engine: w.engine, Prompt: d.prompt,
		MaxTokens: d.sampling.MaxTokens, IgnoreEOS: d.sampling.IgnoreEOS,
		Temperature: d.sampling.Temperature, TopP: d.sampling.TopP, Stop: d.sampling.Stop,
		Seed: d.sampling.Seed, Stream: d.sampling.Stream, Extra: d.sampling.Extra,
	}
	if d.sampling.IgnoreEOS {
		params.MinTokens = d.sampling.MaxTokens
	}
	body, err := chat.Body(params)
	if err != nil {
		return job{}, err
	}
	j := job{
		index: d.entry.Index, maxTokens: d.entry.MaxTokens,
		request:      chat.Request{Endpoint: d.sampling.Endpoint, Body: body, KeepOutput: w.keepOutputs},
		promptSHA256: d.entry.PromptSHA256, paramsSHA256: d.entry.ParamsSHA256,
		inputTokensTarget: d.entry.InputTokensTarget,
	}
	if d.entry.PlannedNS != nil {
		j.planned = time.Duration(*d.entry.PlannedNS)
	}
	return j, nil
}
