package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/traffic"
)

// outputStream separates the draws of output lengths from those of prompts.
const outputStream = "/output"

// Workload is all that will be sent, as functions of seed, phase and index.
type Workload struct {
	Phases   []Phase // in order, the warm-up first
	Script   Script
	Sampling rundir.Sampling
	Output   traffic.Lengths // caps of answers whose prompts have none
	// InputLengths describes the lengths of prompts.
	InputLengths string

	model       string
	vendor      openai.Vendor
	servers     int // that share the load
	run         string
	fields      []openai.Field // the vendor's fields that the server takes
	omit        []openai.Field // OpenAI's fields that it refuses
	template    *traffic.Template
	seed        uint64
	place       traffic.Place
	repeat      *repeated
	keepOutputs bool
}

// stream returns a number that separates the arrivals of the phases.
func (w *Workload) stream(p Phase) uint64 {
	if p.Name == rundir.PhaseWarmup {
		return 1
	}
	return 0
}

// slot is one planned request before anything of it is made.
type slot struct {
	index   int
	offset  *time.Duration
	content content
}

// slots yields the requests of a phase from the given index on.
func (w *Workload) slots(p Phase, first int) iter.Seq[slot] {
	return func(yield func(slot) bool) {
		next, stop := iter.Pull(w.Script.contents(p.Name, first))
		defer stop()
		for index, offset := range p.Planned(first, w.seed, w.stream(p)) {
			a, ok := next()
			if !ok || !yield(slot{index, offset, a}) {
				return
			}
		}
	}
}

// draft is one planned request before its body is made.
type draft struct {
	entry    rundir.ScheduleLine
	prompt   traffic.Prompt
	sampling rundir.Sampling
	content  content
}

// draft draws prompt and output length of one request.
func (w *Workload) draft(p Phase, s slot) (draft, error) {
	made := s.content.draw()
	d := draft{prompt: made, sampling: w.Sampling, content: s.content}
	d.sampling.Salt = s.content.salt
	if d.sampling.MaxTokens = made.OutputTokens; made.OutputTokens == 0 {
		d.sampling.MaxTokens = w.Output.Draw(traffic.NewRandom(w.seed, p.Name+outputStream, s.index))
	}
	params, err := json.Marshal(d.sampling)
	if err != nil {
		return draft{}, err
	}
	d.entry = rundir.ScheduleLine{
		Phase: p.Name, Index: s.index, PlannedNS: (*int64)(s.offset), Conversation: s.content.conversation, Turn: s.content.turn,
		ParamsSHA256:      hexSHA256(params),
		InputTokensTarget: made.Tokens, RepeatedTokensTarget: made.RepeatedTokens, MaxTokens: d.sampling.MaxTokens,
	}
	d.entry.PromptSHA256, d.entry.PrefixSHA256 = promptHash(made), prefixHash(made)
	if s.content.turn > 0 {
		d.entry.Client = &d.content.worker
	}
	return d, nil
}

// hashed returns the line of the schedule in the form that workload_sha256 counts: without the run's own words, which
// no other run has.
func (d draft) hashed() rundir.ScheduleLine {
	line := d.entry
	line.RepeatedTokensTarget = 0
	if !d.prompt.OfRun() {
		return line
	}
	seeded := d.prompt.Seeded()
	line.PromptSHA256, line.PrefixSHA256 = promptHash(seeded), prefixHash(seeded)
	return line
}

// prefixHash returns the hash of the part that the prompt shares with others; empty if it shares nothing.
func prefixHash(p traffic.Prompt) string {
	switch {
	case p.SharedIDs > 0:
		return idHash(p.IDs[:p.SharedIDs])
	case p.SharedBytes > 0:
		return hexSHA256([]byte(p.Text[:p.SharedBytes]))
	}
	return ""
}

// promptHash returns the hash of the text and of the messages before it; for token ids, that of the list in JSON.
func promptHash(p traffic.Prompt) string {
	if len(p.IDs) > 0 {
		return idHash(p.IDs)
	}
	if len(p.Before) == 0 {
		return hexSHA256([]byte(p.Text))
	}
	history := newConversation()
	history.append(append(messagesOf(p.Before), openai.Message{Role: "user", Content: p.Text})...)
	return hex.EncodeToString(history.sum.Sum(nil))
}

// idHash returns the hash of a list of token ids as a request has it, such as [2201,17,905].
func idHash(ids []uint32) string {
	text := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendUint(text, uint64(id), 10)
	}
	return hexSHA256(append(text, ']'))
}

func hexSHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func messagesOf(messages []traffic.Message) []openai.Message {
	converted := make([]openai.Message, len(messages))
	for i, m := range messages {
		converted[i] = openai.Message(m)
	}
	return converted
}

// job makes the request, or a function that makes it when it is due.
func (w *Workload) job(d draft, history *conversation) (Job, error) {
	j := Job{
		Index: d.entry.Index, Server: w.server(d), MaxTokens: d.entry.MaxTokens,
		Conversation: d.entry.Conversation, Turn: d.entry.Turn,
		PromptSHA256: d.entry.PromptSHA256, ParamsSHA256: d.entry.ParamsSHA256, PrefixSHA256: d.entry.PrefixSHA256,
		InputTokensTarget: d.entry.InputTokensTarget, RepeatedTokensTarget: d.entry.RepeatedTokensTarget,
	}
	if d.entry.Client != nil {
		j.Session = strconv.Itoa(*d.entry.Client)
	}
	if d.entry.PlannedNS != nil {
		j.Planned = time.Duration(*d.entry.PlannedNS)
	}
	if history != nil {
		j.Build, j.Answered = w.turn(history, d)
		return j, nil
	}
	body, err := w.body(d.sampling, messagesOf(d.prompt.Before), d.prompt.Text, d.prompt.IDs)
	j.Request = w.request(d.sampling, body)
	return j, err
}

// server returns the number of the server for a request: they take turns in the order of the schedule, which is that of
// dispatch. All turns of a conversation go to one server, whose prefix cache has the turns before.
func (w *Workload) server(d draft) int {
	number := d.entry.Index
	if d.content.turn > 0 {
		number = d.content.number
	}
	return number % max(w.servers, 1)
}

func (w *Workload) request(s rundir.Sampling, body []byte) openai.Request {
	r := openai.Request{Endpoint: openai.Endpoint(s.Endpoint), Body: body, KeepOutput: w.keepOutputs}
	if openai.Capped(w.omit, s.Extra) {
		r.MaxTokens = s.MaxTokens
	}
	return r
}

// body returns the request's JSON: the earlier messages and the user's text, through the template if there is one; or
// token ids, which have neither.
func (w *Workload) body(s rundir.Sampling, before []openai.Message, text string, ids []uint32) ([]byte, error) {
	params := openai.Params{
		Endpoint: openai.Endpoint(s.Endpoint), Model: w.model, Vendor: w.vendor, Fields: w.fields, Omit: w.omit, Prompt: text, Messages: before, PromptIDs: ids,
		MaxTokens: s.MaxTokens, IgnoreEOS: s.IgnoreEOS,
		Temperature: s.Temperature, TopP: s.TopP, Stop: s.Stop,
		Seed: s.Seed, Stream: s.Stream, TokenIDs: w.Script.Facts.Arena != nil, Extra: s.Extra,
	}
	if s.Salt != "" && w.TakesSalt() {
		params.Extra = map[string]any{}
		maps.Copy(params.Extra, s.Extra)
		params.Extra[string(openai.FieldCacheSalt)] = openai.CacheSalt(w.run, s.Salt)
	}
	if s.IgnoreEOS {
		params.MinTokens = s.MaxTokens
	}
	if w.template != nil {
		messages := make([]traffic.Message, 0, len(before)+1)
		for _, m := range before {
			messages = append(messages, traffic.Message(m))
		}
		rendered, err := w.template.Render(append(messages, traffic.Message{Role: "user", Content: text}))
		if err != nil {
			return nil, fmt.Errorf("--template: %w", err)
		}
		params.Prompt, params.Messages = rendered, nil
	}
	return openai.Body(params)
}

// TakesSalt reports whether the server supports the field that separates caches.
func (w *Workload) TakesSalt() bool {
	fields := w.fields
	if fields == nil {
		fields = w.vendor.Fields(openai.Endpoint(w.Sampling.Endpoint))
	}
	return slices.Contains(fields, openai.FieldCacheSalt)
}

// Counts reports whether a phase enters the figures of the run.
func (w *Workload) Counts(phase string) bool { return !slices.Contains(w.Uncounted(), phase) }

// Uncounted returns the names of the phases that do not.
func (w *Workload) Uncounted() []string {
	return append([]string{rundir.PhaseReady, rundir.PhaseWarmup, rundir.PhaseStop}, w.Script.unmeasured...)
}

// Requests returns how many requests of a phase this process sends, 0 if only time ends the phase.
func (w *Workload) Requests(p Phase) int {
	if !w.place.Alone() {
		return w.own(p)
	}
	if !p.Process.Open() || p.Limit.Duration == 0 && p.Process.Trace == nil {
		return w.Script.measured(p.Limit.Requests)
	}
	count := 0
	for range p.Planned(0, w.seed, w.stream(p)) {
		count++
	}
	return w.Script.measured(count)
}
