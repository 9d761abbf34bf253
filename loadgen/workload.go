package loadgen

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
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
	Endpoint chat.Endpoint `json:"endpoint"`
	// Template makes one text of messages: none, llama3 or the hash of a file.
	Template    string         `json:"template,omitempty"`
	Stream      bool           `json:"stream"`
	MaxTokens   int            `json:"max_tokens,omitempty"`
	IgnoreEOS   bool           `json:"ignore_eos"`
	Temperature float64        `json:"temperature"`
	TopP        float64        `json:"top_p"`
	Stop        []string       `json:"stop,omitempty"`
	Seed        *int64         `json:"seed,omitempty"`
	Extra       map[string]any `json:"extra,omitempty"`
	// Salt keeps the request from what the server cached for others, where it knows how to.
	Salt string `json:"cache_salt,omitempty"`
}

// workload is everything that will be sent, as functions of seed, phase and index.
type workload struct {
	model, engine string
	fields        []chat.Field // of the vendor's, those that the server takes
	sampling      sampling
	template      *prompt.Template
	seed          uint64
	script        script
	output        prompt.Lengths
	phases        []phase
	keepOutputs   bool
}

// entry is one line of schedule.jsonl.
type entry struct {
	Phase string `json:"phase"`
	Index int    `json:"index"`
	// PlannedNS is the intended start from the start of the phase; absent in a closed loop.
	PlannedNS *int64 `json:"planned_ns,omitempty"`
	// Client, Conversation and Turn are of a request that goes on with what was said before; its
	// prompt is then what the user says in this turn.
	Client            *int   `json:"client,omitempty"`
	Conversation      string `json:"conversation,omitempty"`
	Turn              int    `json:"turn,omitempty"`
	PromptSHA256      string `json:"prompt_sha256"`
	PrefixSHA256      string `json:"prefix_sha256,omitempty"`
	ParamsSHA256      string `json:"params_sha256"`
	InputTokensTarget int    `json:"input_tokens_target"`
	MaxTokens         int    `json:"max_tokens"`
}

func (s *settings) workload(f served, made script) *workload {
	return &workload{
		model: f.model.ID, engine: f.engine, fields: f.fields, keepOutputs: s.saveOutputs, seed: s.seed, script: made,
		sampling: sampling{
			Endpoint: s.target.endpoint, Template: s.templateName, Stream: !s.noStream, IgnoreEOS: s.ignoreEOS,
			Temperature: s.temperature, TopP: s.topP, Stop: s.stop, Seed: s.requestSeed, Extra: s.extraBody,
		},
		template: s.template, output: s.outputTokens, phases: s.phases(made.phases),
	}
}

// endless says whether the number of requests shows only while they run: a closed loop that
// ends by time.
func (p phase) endless() bool { return !p.process.Open() && p.limit.Requests == 0 }

// planned yields index and planned offset of each request of a phase from the given index on;
// without end if it is endless.
func (w *workload) planned(p phase, first int) iter.Seq2[int, *time.Duration] {
	return func(yield func(int, *time.Duration) bool) {
		if p.process.Open() {
			index := 0
			for offset := range p.process.Offsets(p.limit, w.seed, w.stream(p)) {
				if index >= first && !yield(index, &offset) {
					return
				}
				index++
			}
			return
		}
		for index := first; p.endless() || index < p.limit.Requests; index++ {
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

// slot is one planned request before anything of it is made.
type slot struct {
	index  int
	offset *time.Duration
	ask    ask
}

// slots yields the requests of a phase from the given index on.
func (w *workload) slots(p phase, first int) iter.Seq[slot] {
	return func(yield func(slot) bool) {
		next, stop := iter.Pull(w.script.asks(p.name, first))
		defer stop()
		for index, offset := range w.planned(p, first) {
			a, ok := next()
			if !ok || !yield(slot{index, offset, a}) {
				return
			}
		}
	}
}

// draft is one planned request before its body is made.
type draft struct {
	entry    entry
	prompt   prompt.Prompt
	sampling sampling
	ask      ask
}

// draft draws prompt and output length of one request.
func (w *workload) draft(p phase, s slot) (draft, error) {
	made := s.ask.draw()
	d := draft{prompt: made, sampling: w.sampling, ask: s.ask}
	d.sampling.Salt = s.ask.salt
	if d.sampling.MaxTokens = made.OutputTokens; made.OutputTokens == 0 {
		d.sampling.MaxTokens = w.output.Draw(prompt.Random(w.seed, p.name+outputStream, s.index))
	}
	params, err := json.Marshal(d.sampling)
	if err != nil {
		return draft{}, err
	}
	d.entry = entry{
		Phase: p.name, Index: s.index, PlannedNS: (*int64)(s.offset), Conversation: s.ask.conversation, Turn: s.ask.turn,
		PromptSHA256: promptHash(made), ParamsSHA256: hexSHA256(params),
		InputTokensTarget: made.Tokens, MaxTokens: d.sampling.MaxTokens,
	}
	if made.SharedBytes > 0 {
		d.entry.PrefixSHA256 = hexSHA256([]byte(made.Text[:made.SharedBytes]))
	}
	if s.ask.turn > 0 {
		d.entry.Client = &d.ask.lane
	}
	return d, nil
}

// promptHash is that of the text, and of what stands before it if anything does.
func promptHash(p prompt.Prompt) string {
	if len(p.Before) == 0 {
		return hexSHA256([]byte(p.Text))
	}
	talk := newDialogue()
	talk.say(append(messagesOf(p.Before), chat.Message{Role: "user", Content: p.Text})...)
	return hex.EncodeToString(talk.sum.Sum(nil))
}

func hexSHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func messagesOf(messages []prompt.Message) []chat.Message {
	converted := make([]chat.Message, len(messages))
	for i, m := range messages {
		converted[i] = chat.Message(m)
	}
	return converted
}

// job makes the request, or what makes it when its turn has come.
func (w *workload) job(d draft, talk *dialogue) (job, error) {
	j := job{
		index: d.entry.Index, maxTokens: d.entry.MaxTokens,
		conversation: d.entry.Conversation, turn: d.entry.Turn,
		promptSHA256: d.entry.PromptSHA256, paramsSHA256: d.entry.ParamsSHA256, prefixSHA256: d.entry.PrefixSHA256,
		inputTokensTarget: d.entry.InputTokensTarget,
	}
	if d.entry.PlannedNS != nil {
		j.planned = time.Duration(*d.entry.PlannedNS)
	}
	if talk != nil {
		j.speak, j.heard = w.turn(talk, d)
		return j, nil
	}
	body, err := w.body(d.sampling, messagesOf(d.prompt.Before), d.prompt.Text)
	j.request = w.request(d.sampling, body)
	return j, err
}

func (w *workload) request(s sampling, body []byte) chat.Request {
	return chat.Request{Endpoint: s.Endpoint, Body: body, KeepOutput: w.keepOutputs}
}

// body is the request's JSON: the messages before and the user's text after them, through the
// template where there is one.
func (w *workload) body(s sampling, before []chat.Message, text string) ([]byte, error) {
	params := chat.Params{
		Endpoint: s.Endpoint, Model: w.model, Engine: w.engine, Fields: w.fields, Prompt: text, Messages: before,
		MaxTokens: s.MaxTokens, IgnoreEOS: s.IgnoreEOS,
		Temperature: s.Temperature, TopP: s.TopP, Stop: s.Stop,
		Seed: s.Seed, Stream: s.Stream, Extra: s.Extra,
	}
	if s.Salt != "" && w.takesSalt() {
		params.Extra = merged(params.Extra, string(chat.FieldCacheSalt), s.Salt)
	}
	if s.IgnoreEOS {
		params.MinTokens = s.MaxTokens
	}
	if w.template != nil {
		messages := make([]prompt.Message, 0, len(before)+1)
		for _, m := range before {
			messages = append(messages, prompt.Message(m))
		}
		rendered, err := w.template.Render(append(messages, prompt.Message{Role: "user", Content: text}))
		if err != nil {
			return nil, fmt.Errorf("--template: %w", err)
		}
		params.Prompt, params.Messages = rendered, nil
	}
	return chat.Body(params)
}

// takesSalt says whether the server knows the field that keeps caches apart.
func (w *workload) takesSalt() bool {
	fields := w.fields
	if fields == nil {
		fields, _ = chat.Fields(w.engine, w.sampling.Endpoint)
	}
	return slices.Contains(fields, chat.FieldCacheSalt)
}

// counts says whether a phase enters the figures of the run.
func (w *workload) counts(phase string) bool { return !slices.Contains(w.uncounted(), phase) }

// uncounted names the phases that do not.
func (w *workload) uncounted() []string {
	return append([]string{phaseReady, phaseWarmup, phaseStop}, w.script.unmeasured...)
}
