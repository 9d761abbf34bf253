package importer

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

// benchyProgress is the schema of the file that llama-benchy 0.4.0 writes with --emit-progress
// (llama_benchy/progress.py, client.py, runner.py), one event a line:
//
//	{"schema":"llama-benchy-progress.v1","type":"header","ts":1795426146.3,"llama_benchy_version":"0.4.0"}
//	{"schema":…,"type":"request_start","ts":…,"request_id":0,"model":"m","base_url":"http://127.0.0.1:8000/v1","prompt_size":256,"response_size":16,
//	 "context_size":4096,"concurrency":2,"run_index":1}
//	{…"type":"request_first_response","request_id":0,"ttfr_s":0.133}
//	{…"type":"request_first_token","request_id":0,"ttft_s":0.134}
//	{…"type":"tokens","ts":…,"request_id":0,"count":1,"snippet":" lake","estimated":true}
//	{…"type":"request_end","ts":…,"request_id":0,"total_tokens":16,"prompt_tokens":256,"decode_seconds":0.318,"error":""}
//	{…"type":"bench_complete","ts":…,"status":"ok"}
//
// A ts is the time of day when the line was written; the times since the request's start are of a monotonic clock.
// Without the ids of tokens a count is 1 an event, and estimated. The phase is not in the file: with prefix caching a
// batch of contexts comes first, then one of prompts, under the same numbers. The batch that warms up is left out.
const benchyProgress = "llama-benchy-progress.v1"

// benchyEvent is a line of the file.
type benchyEvent struct {
	Schema      string   `json:"schema"`
	Type        string   `json:"type"`
	Time        *float64 `json:"ts"`
	Version     string   `json:"llama_benchy_version"`
	Mode        string   `json:"mode"`
	Latency     *float64 `json:"latency_s"`
	ID          *int     `json:"request_id"`
	Model       string   `json:"model"`
	URL         string   `json:"base_url"`
	Prompt      *int     `json:"prompt_size"`
	Response    *int     `json:"response_size"`
	Depth       *int     `json:"context_size"`
	Concurrency *int     `json:"concurrency"`
	Run         *int     `json:"run_index"`
	TTFR        *float64 `json:"ttfr_s"`
	TTFT        *float64 `json:"ttft_s"`
	Count       *int     `json:"count"`
	Estimated   bool     `json:"estimated"`
	Total       *int     `json:"total_tokens"`
	PromptCount *int     `json:"prompt_tokens"`
	Decode      *float64 `json:"decode_seconds"`
	Error       string   `json:"error"`
	Status      string   `json:"status"`
}

// benchyRequest is a request by its events. Moments are in seconds since 1970.
type benchyRequest struct {
	start                  benchyEvent
	cell                   benchyCell
	firstEvent, firstToken *benchyEvent
	tokens                 []benchyEvent
	end                    *benchyEvent
	last                   float64 // of its events
}

// benchyLog is what the file has.
type benchyLog struct {
	version, mode string
	latency       *float64
	requests      []*benchyRequest
	first         float64 // moment of the first event of a request
	status        string  // empty if the benchmark did not complete
	torn          bool
	// deep is true if a cell has a depth; its batches then show caching: whether depths were sent ahead.
	deep, caching bool
}

// isBenchyProgress reports whether a text is events rather than one report.
func isBenchyProgress(text []byte) bool {
	first, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	return bytes.Contains(first, []byte(`"llama-benchy-progress.`))
}

func readBenchyProgress(f *file) ([]Result, error) {
	log, err := parseBenchyProgress(f.text)
	if err != nil {
		return nil, err
	}
	cells := log.cells()
	if len(cells) == 0 {
		return nil, errors.New("it has no requests")
	}
	log.caching = slices.ContainsFunc(cells, benchyBatches.doubled)
	log.deep = slices.ContainsFunc(cells, func(c benchyBatches) bool { return c.cell.depth > 0 })
	var all []Result
	for i, cell := range cells {
		for _, phase := range cell.phases(log.caching) {
			r := phase.result(log)
			if i == len(cells)-1 && log.status != "ok" {
				r.Stopped = log.stopped()
			}
			all = append(all, r)
		}
	}
	distinct(all)
	return all, nil
}

func (l *benchyLog) stopped() string {
	if l.status == "" {
		return "llama-benchy was killed: its progress does not end"
	}
	return "llama-benchy ended with the status " + printable(l.status, longestLabel)
}

// parseBenchyProgress reads the events. A last line that was not written to its end is left out.
func parseBenchyProgress(text []byte) (*benchyLog, error) {
	log := &benchyLog{}
	started := map[int]*benchyRequest{}
	lines := bytes.Split(text, []byte("\n"))
	for i, line := range lines {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e benchyEvent
		if err := decode(line, &e); err != nil {
			if i == len(lines)-1 {
				log.torn = true
				continue
			}
			return nil, fmt.Errorf("line %d: %s", i+1, strings.TrimPrefix(err.Error(), "line 1: "))
		}
		if err := log.add(e, started); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return log, nil
}

// add adds an event. Events of unknown types are ignored: other versions have more of them.
func (l *benchyLog) add(e benchyEvent, started map[int]*benchyRequest) error {
	if e.Schema != benchyProgress {
		return fmt.Errorf("its schema is %q, not %s", printable(e.Schema, longestLabel), benchyProgress)
	}
	switch e.Type {
	case "header":
		l.version = e.Version
		return nil
	case "latency_measured":
		if e.Latency != nil && !(*e.Latency >= 0 && *e.Latency <= longestSeconds) {
			return errors.New("latency_s: it is no time in seconds")
		}
		l.mode, l.latency = e.Mode, e.Latency
		return nil
	case "bench_complete":
		l.status = e.Status
		return nil
	case "request_start", "request_first_response", "request_first_token", "tokens", "request_end":
	default:
		return nil
	}
	if e.Time == nil || e.ID == nil {
		return errors.New("it has no ts or no request_id")
	}
	if _, err := unixTime("ts", e.Time); err != nil {
		return err
	}
	if l.first == 0 {
		l.first = *e.Time
	}
	if math.Abs(*e.Time-l.first) > longestSeconds {
		return errors.New("ts: it is years from that of the first request")
	}
	r := started[*e.ID]
	switch {
	case e.Type == "request_start" && r != nil:
		return fmt.Errorf("request %d starts twice", *e.ID)
	case e.Type == "request_start":
		cell, err := benchyRow{Concurrency: e.Concurrency, Depth: e.Depth, Prompt: e.Prompt, Response: e.Response}.cell()
		if err != nil {
			return err
		}
		r = &benchyRequest{start: e, cell: cell}
		started[*e.ID] = r
		l.requests = append(l.requests, r)
	case r == nil:
		return fmt.Errorf("request %d has not started", *e.ID)
	case r.end != nil:
		return fmt.Errorf("request %d has ended", *e.ID)
	}
	r.last = max(r.last, *e.Time)
	return r.add(e)
}

// longestSeconds bounds the times of a file: its moments fit into nanoseconds.
const longestSeconds = 1e8

// add adds an event of the request.
func (r *benchyRequest) add(e benchyEvent) error {
	for _, of := range []struct {
		name     string
		value    *float64
		required bool
	}{{"ttfr_s", e.TTFR, e.Type == "request_first_response"}, {"ttft_s", e.TTFT, e.Type == "request_first_token"}, {"decode_seconds", e.Decode, e.Type == "request_end"}} {
		if of.required && of.value == nil || of.value != nil && !(*of.value >= 0 && *of.value <= longestSeconds) {
			return fmt.Errorf("it has no %s, or none that is a time in seconds", of.name)
		}
	}
	for _, of := range []struct {
		name     string
		value    *int
		required bool
	}{{"count", e.Count, e.Type == "tokens"}, {"total_tokens", e.Total, e.Type == "request_end"}, {"prompt_tokens", e.PromptCount, e.Type == "request_end"}} {
		if of.required && of.value == nil || of.value != nil && !(*of.value >= 0 && *of.value <= math.MaxInt32) {
			return fmt.Errorf("it has no %s, or none that is a count", of.name)
		}
	}
	switch e.Type {
	case "request_first_response":
		r.firstEvent = &e
	case "request_first_token":
		r.firstToken = &e
	case "tokens":
		r.tokens = append(r.tokens, e)
	case "request_end":
		r.end = &e
	}
	return nil
}

// benchyBatches are the batches of one cell, or of one phase of it, in their order.
type benchyBatches struct {
	cell    benchyCell
	batches [][]*benchyRequest
}

// cells returns the cells in the order in which they ran: a batch ends before the next begins.
func (l *benchyLog) cells() []benchyBatches {
	var cells []benchyBatches
	var before *benchyRequest
	for _, r := range l.requests {
		if before == nil || !before.cell.same(r.cell) || r.run() < before.run() {
			cells = append(cells, benchyBatches{cell: r.cell})
		}
		c := &cells[len(cells)-1]
		if len(c.batches) == 0 || r.run() != before.run() {
			c.batches = append(c.batches, nil)
		}
		last := len(c.batches) - 1
		c.batches[last] = append(c.batches[last], r)
		before = r
	}
	return cells
}

func (r *benchyRequest) run() int {
	if r.start.Run == nil {
		return 0
	}
	return *r.start.Run
}

// same reports whether two cells have the same numbers.
func (c benchyCell) same(o benchyCell) bool {
	return c.depth == o.depth && c.concurrency == o.concurrency && c.prompt == o.prompt && c.response == o.response
}

// doubled reports whether a batch has more requests than go at once.
func (c benchyBatches) doubled() bool {
	return slices.ContainsFunc(c.batches, func(batch []*benchyRequest) bool { return len(batch) > c.cell.concurrency })
}

// phases splits the batches of a cell with a depth, if prefix caching was on: into contexts, which come first, and
// prompts.
func (c benchyBatches) phases(caching bool) []benchyBatches {
	c.cell.cached = caching && c.cell.depth > 0
	if !c.cell.cached {
		return []benchyBatches{c}
	}
	context, inference := benchyBatches{cell: c.cell}, benchyBatches{cell: c.cell}
	context.cell.context, context.cell.cached = true, false
	for _, batch := range c.batches {
		n := min(len(batch), c.cell.concurrency)
		context.batches = append(context.batches, batch[:n])
		if n < len(batch) {
			inference.batches = append(inference.batches, batch[n:])
		}
	}
	if len(inference.batches) == 0 { // stopped before the first prompt
		return []benchyBatches{context}
	}
	return []benchyBatches{context, inference}
}

// result returns the run of a phase of a cell, each batch a phase of the run: throughput is then that of the batches,
// without the time between them.
func (c benchyBatches) result(log *benchyLog) Result {
	base := math.Inf(1)
	for _, batch := range c.batches {
		for _, r := range batch {
			base = min(base, *r.start.Time)
		}
	}
	started, _ := unixTime("ts", &base) // checked when it was read
	first := c.batches[0][0].start
	r := c.cell.result(log.version, started, first.Model)
	r.URL, r.EndKnown = plainURL(first.URL), true
	r.setting("latency_mode", log.mode)
	r.LatencySeconds, r.LatencyMode = log.latency, printable(log.mode, longestLabel)
	if log.deep {
		r.setting("prefix_caching_enabled", fmt.Sprint(log.caching))
	}
	var end int64
	short, counted := 0, true
	for i, batch := range c.batches {
		span := rundir.Span{Name: rundir.BatchPhase + strconv.Itoa(i+1), StartNS: math.MaxInt64}
		for _, request := range batch {
			record := request.record(base)
			record.InputTokensTarget = c.cell.target()
			record.Phase, record.Index = span.Name, len(r.Requests)
			span.StartNS, span.EndNS = min(span.StartNS, record.IntendedNS), max(span.EndNS, since(base, request.last))
			if record.EndNS != nil {
				span.EndNS = max(span.EndNS, *record.EndNS)
			}
			counted = counted && !request.estimated()
			r.Requests = append(r.Requests, record)
		}
		if len(batch) != c.cell.concurrency {
			short++
		}
		end = max(end, span.EndNS)
		r.Phases = append(r.Phases, span)
	}
	r.EndedAt = started.Add(time.Duration(end))
	r.Warnings = c.progressWarnings(log, counted, short)
	return r
}

// progressWarnings returns what is unknown of requests that were recorded by llama-benchy.
func (c benchyBatches) progressWarnings(log *benchyLog, counted bool, short int) []string {
	all := []string{"llama-benchy's events are stamped when they are written, by one thread that drives all requests: its own lag is in the latencies, and is not known"}
	if !counted {
		all = append(all, "the server sent no ids of tokens: output tokens are those that llama-benchy found, by the server's usage or else by its own tokenizer or one an event")
	}
	if c.cell.cached {
		all = append(all, "llama-benchy does not record cached tokens: whether the depth came from a prefix cache shows in the time to first token only")
	}
	if short > 0 {
		all = append(all, fmt.Sprintf("%d batches do not have %d requests: the file was cut, or llama-benchy was stopped", short, c.cell.concurrency))
	}
	if log.torn {
		all = append(all, "the last line of the file is torn and left out")
	}
	if log.version == "" {
		all = append(all, versionMissing)
	}
	return all
}

// since returns the nanoseconds between two moments in seconds.
func since(base, at float64) int64 { return max(0, int64(math.Round((at-base)*1e9))) }

// estimated reports whether an event of the answer came without the ids of its tokens.
func (r *benchyRequest) estimated() bool {
	for _, e := range r.tokens {
		if e.Estimated {
			return true
		}
	}
	return false
}

// record returns the request as one of ours, its moments counted from base. It became due when it was sent, as its
// delay before that is not in the file.
func (r *benchyRequest) record(base float64) openai.Record {
	sent := *r.start.Time
	if r.firstEvent != nil { // the tasks of a batch start after the lines about it were written
		sent = max(sent, *r.firstEvent.Time-*r.firstEvent.TTFR)
	}
	dispatch := since(base, sent)
	after := func(seconds float64) *int64 { return new(dispatch + since(0, seconds)) }
	record := openai.Record{IntendedNS: dispatch, DispatchNS: &dispatch}
	if r.firstEvent != nil {
		record.FirstEventNS, record.FirstEventType = after(*r.firstEvent.TTFR), "payload"
		if r.firstToken == nil || *r.firstToken.TTFT > *r.firstEvent.TTFR {
			record.FirstEventType = "role" // an event with a choice and no text
		}
	}
	if r.firstToken != nil && len(r.tokens) > 0 {
		record.FirstTokenNS = after(*r.firstToken.TTFT)
		r.arrivals(&record)
	}
	r.ending(&record, base, after)
	return record
}

// target returns how many prompt tokens were asked for.
func (c benchyCell) target() int {
	if c.context {
		return c.depth
	}
	return c.depth + c.prompt
}

// arrivals adds the arrival of each event with text: gaps between the moments of their lines, from the first token on.
func (r *benchyRequest) arrivals(record *openai.Record) {
	record.ArrivalsNS = []int64{*record.FirstTokenNS}
	before := *r.tokens[0].Time
	for _, e := range r.tokens[1:] {
		at := max(before, *e.Time) // the time of day may be set back
		record.ArrivalsNS = append(record.ArrivalsNS, since(before, at))
		before = at
	}
	if r.estimated() {
		return
	}
	for _, e := range r.tokens {
		record.ArrivalTokens = append(record.ArrivalTokens, *e.Count)
	}
}

var benchyHTTP = regexp.MustCompile(`^HTTP (\d{3}): `)

// ending adds how the request ended, and its tokens.
func (r *benchyRequest) ending(record *openai.Record, base float64, after func(float64) *int64) {
	over := new(max(since(base, r.last), *record.DispatchNS))
	if r.end == nil {
		record.Status, record.Error, record.BrokenOffNS = openai.StatusCancelled, "it has no end in the file", over
		return
	}
	record.Error = printable(r.end.Error, longestLabel)
	if n := *r.end.PromptCount; n > 0 {
		record.TokensIn = &n
	}
	switch code := benchyHTTP.FindStringSubmatch(r.end.Error); {
	case code != nil:
		record.Status, record.EndNS = openai.StatusHTTP, over
		record.HTTPStatus, _ = strconv.Atoi(code[1])
	case r.end.Error != "" && r.firstEvent == nil:
		record.Status, record.BrokenOffNS = openai.StatusConnect, over
	case r.end.Error != "", *r.end.Total == 0 && (len(r.tokens) > 0 || r.firstEvent == nil):
		// Exceptions without a text, such as a timeout, are no errors by its own word.
		record.Status, record.BrokenOffNS = openai.StatusTruncated, over
		if record.Error == "" {
			record.Error = "llama-benchy has neither an error nor the end of the answer"
		}
	default:
		record.Status, record.EndNS = openai.StatusOK, over
		if r.firstToken != nil && *r.end.Decode > 0 {
			record.EndNS = after(*r.firstToken.TTFT + *r.end.Decode)
		}
		r.tokensOut(record)
	}
}

// tokensOut adds the output tokens of a whole answer.
func (r *benchyRequest) tokensOut(record *openai.Record) {
	total := *r.end.Total
	record.TokensOut = &total
	if len(r.tokens) > 0 && !r.estimated() {
		record.TokensSource = "token_ids"
	}
}
