package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// row is one latency of the tables.
type row struct {
	name   string
	from   string // the clock that it starts on; "" for those between two arrivals
	values *summary.Distribution
}

// latencyRows lists the latencies that were observed, in the order of a request's life.
func latencyRows(l *summary.Latency) []row {
	var rows []row
	if l == nil {
		return nil
	}
	for _, of := range figure.Latencies() {
		if d := of.Of(l); d != nil {
			rows = append(rows, row{of.Short(), of.From, d})
		}
	}
	return rows
}

// shownLatencies returns the rows of a page, which has each quantity once.
func shownLatencies(l *summary.Latency) []row {
	rows := latencyRows(distinct(l))
	for i := 1; i < len(rows); i++ {
		if rows[i-1].name == figure.ChunkGap && rows[i].name == figure.ITL && same(rows[i-1].values, rows[i].values) {
			rows[i].name = figure.ITL + ", " + figure.ChunkGap
			return slices.Delete(rows, i-1, i)
		}
	}
	return rows
}

// distinct leaves out first visible output where it equals the first token, as with every model that does not reason.
func distinct(l *summary.Latency) *summary.Latency {
	if l == nil {
		return nil
	}
	one := *l
	if l.TTFO != nil && l.TTFT != nil && same(l.TTFO.Send, l.TTFT.Send) {
		one.TTFO = nil
	}
	return &one
}

func same(a, b *summary.Distribution) bool {
	return a != nil && b != nil && a.N == b.N && *a.Mean == *b.Mean && *a.Max == *b.Max
}

// fact is one figure with its name.
func fact(name, value string) render.Fact { return render.Fact{Name: name, Value: value} }

// runFacts returns the figures above the latencies.
func runFacts(s summary.Summary) []headline {
	if s.Tool != nil {
		return slices.Concat(computedFacts(s), toolFacts(s.Tool), togetherFacts(s.Together), machineFacts(s))
	}
	facts := []headline{
		requestFact(s),
		number("requests per second", s.Throughput.RequestsPerSecond, perSecond()),
		number("output tokens per second", s.Throughput.OutputTokensPerSecond, perSecond()),
		number("input tokens per second", s.Throughput.InputTokensPerSecond, perSecond()),
		number("measured for", s.Throughput.DurationSeconds, inSeconds()),
	}
	if g := s.SLO; g != nil {
		met := "not met"
		if g.Met {
			met = "met"
		}
		within := number("within "+g.SLO, &g.Ratio, percent())
		within.Value += fmt.Sprintf(" of %d, %s", g.Requests, met)
		within.Note = fmt.Sprintf("of %d requests, %s", g.Requests, met)
		facts = append(facts, within)
	}
	if w := s.SteadyState; w != nil {
		facts = append(facts, number("output tokens per second, steady", w.Throughput.OutputTokensPerSecond, perSecond()))
	}
	return slices.Concat(facts, computedFacts(s), speculationFacts(s.Speculation), signalFacts(s.Signals, s.Model.Simulated), togetherFacts(s.Together), machineFacts(s))
}

// requestFact has the number of requests of each status; its number counts those that ended ok.
func requestFact(s summary.Summary) headline {
	text := requestCounts(s)
	_, others, _ := strings.Cut(text, ", ")
	return headline{Fact: fact("requests", text), Number: new(float64(s.Requests[openai.StatusOK])), Unit: "ok", Note: others}
}

// requestCounts formats the number of requests of each status, such as "62 ok, 2 timeout".
func requestCounts(s summary.Summary) string {
	text := fmt.Sprintf("%d ok", s.Requests[openai.StatusOK])
	for _, status := range openai.Statuses() {
		if n := s.Requests[status]; n > 0 && status != openai.StatusOK {
			text += fmt.Sprintf(", %d %s", n, status)
		}
	}
	return text
}

// machineFacts returns the figures of the measured host, labelled unless they are live, and with its name if it is not
// the only one.
func machineFacts(s summary.Summary) []headline {
	var facts []headline
	add := func(o summary.Origin, name string, value *float64, in unit) {
		if value == nil {
			return
		}
		h := number(name, value, in)
		if s.Together != nil {
			h.Value += " on " + o.Source
			h.Note = "on " + o.Source
		}
		if !o.Live() {
			h.Value += " (" + o.Mode + ")"
			h.Note = strings.TrimPrefix(h.Note+", "+o.Mode, ", ")
		}
		facts = append(facts, h)
	}
	if m := s.Memory; m != nil && !m.GPUHeldInPool() { // memoryTable has the memory that is part of the pool
		add(m.Origin, "GPU-held memory, peak", m.GPUHeldPeak, gibibytes())
	}
	facts = append(facts, engineFacts(s)...)
	if t := s.Thermal; t != nil {
		add(t.Origin, "GPU temperature, highest", t.MaxCelsius, celsius())
		if t.MaxCelsius == nil { // another tool read it at the start and at the end
			add(t.Origin, "GPU temperature, start", t.StartCelsius, celsius())
			add(t.Origin, "GPU temperature, end", t.EndCelsius, celsius())
		}
	}
	if e := s.Energy; e != nil {
		add(e.Origin, "energy", &e.Joules, inJoules())
		add(e.Origin, "energy per output token", e.JoulesPerOutputToken, inJoules())
	}
	return facts
}

// engineFacts returns the figures that engines report about themselves: on their pages, or in their logs.
func engineFacts(s summary.Summary) []headline {
	var facts []headline
	add := func(name, source string, value *float64, in unit) {
		if value != nil {
			h := number(name, value, in)
			h.Note = "by " + source
			h.Value += " (" + h.Note + ")"
			facts = append(facts, h)
		}
	}
	if kv := s.KV; kv != nil {
		if s.Memory == nil || s.Memory.OccupiedWithoutKV == nil { // else memoryTable has it
			add("KV cache", kv.Source, kv.CapacityBytes, gibibytes())
		}
		add("KV cache, tokens", kv.Source, kv.CapacityTokens, inTokens())
	}
	if m := s.Memory; m != nil && m.EngineReported != nil {
		e := m.EngineReported
		add("peak by the engine", e.Source, e.Peak, gibibytes())
		add("outside of its framework, by the engine", e.Source, e.NonTorch, gibibytes())
		add("weights by the engine", e.Source, e.Weights, gibibytes())
		add("compute buffers by the engine", e.Source, e.Compute, gibibytes())
		add("compute buffers in host memory by the engine", e.Source, e.HostCompute, gibibytes())
		if s.KV == nil || s.KV.Source != e.Source { // otherwise it is shown already
			add("KV cache by the engine", e.Source, e.KV, gibibytes())
			add("KV cache by the engine, tokens", e.Source, e.KVTokens, inTokens())
		}
	}
	return facts
}

// verdictText formats whether the run is valid, and why not.
func verdictText(s summary.Summary) string {
	checked := "nothing was checked"
	if len(s.Checked) > 0 {
		checked = "checked: " + strings.Join(s.Checked, ", ")
	}
	if s.Valid {
		return "valid (" + checked + ")"
	}
	return "INVALID (" + checked + ")"
}

// Text prints the short table that ends a run.
func Text(w io.Writer, s summary.Summary) error {
	latencies := render.Table{Header: []string{"latency", "from", "n", "p50", "p90", "p99", "max"}}
	for _, r := range shownLatencies(s.Latency) {
		cells := []string{r.name, r.from, strconv.Itoa(r.values.N)}
		for _, v := range []*float64{r.values.P50, r.values.P90, r.values.P99, r.values.Max} {
			cells = append(cells, format.Optional(v, format.Seconds))
		}
		latencies.Add(cells...)
	}
	grounds := render.List{Items: reasonItems(s)}
	for _, warning := range s.Warnings {
		grounds.Items = append(grounds.Items, render.Coded("warning", warning))
	}
	var d render.Document
	if made := madeText(s.Made); made != "" {
		d.Add(render.P(render.Plain(made)))
	}
	if answer := Answer(s); answer != "" {
		d.Add(render.P(render.Plain(answer)))
	}
	d.Add(render.Facts{Facts: pageFacts(runFacts(s))}, measuredMemory(s), toolTable(s.Tool), latencies, serverTable(s))
	d.Add(worthBlocks(s.Signals.Worth)...)
	if decodeKnown(s.Decode) {
		d.Add(decodeAnswer(*s.Decode)...)
	}
	d.Add(render.P(render.Plain(verdictText(s))), grounds)
	return render.Text(w, d)
}

// signalFacts formats the grades. The behaviour of a simulated engine is proven for the simulation only.
func signalFacts(s evidence.Signals, simulated bool) []headline {
	var facts []headline
	if !s.Asked() {
		return nil
	}
	for _, signal := range s.Named() {
		text := strings.ReplaceAll(string(signal.Grade), "_", " ")
		if signal.Reason != "" {
			text += fmt.Sprintf(" (%s)", strings.ReplaceAll(string(signal.Reason), "_", " "))
		}
		if simulated {
			text += ", simulated"
		}
		facts = append(facts, words(signal.Statement, text))
	}
	return facts
}

// togetherFacts precede those of the measured host.
func togetherFacts(t *summary.Together) []headline {
	if t == nil {
		return nil
	}
	facts := []headline{words("machines", strings.Join(t.Hosts, ", "))}
	if t.Joules != nil {
		facts = append(facts, number("energy of all machines", t.Joules, inJoules()))
	}
	if t.JoulesPerOutputToken != nil {
		facts = append(facts, number("energy of all machines per output token", t.JoulesPerOutputToken, inJoules()))
	}
	return facts
}

// toolFacts describe the command.
func toolFacts(t *rundir.ToolReport) []headline {
	f := []headline{words("command", t.Program)}
	if t.File != "" {
		f = []headline{words("imported result of", t.Program), words("file", t.File)}
	}
	switch {
	case t.ExitCode != nil:
		f = append(f, words("exit code", strconv.Itoa(*t.ExitCode)))
	case t.File == "":
		f = append(f, words("exit code", "it never ran"))
	}
	switch {
	case t.Version == "":
	case t.File != "":
		f = append(f, words("version", t.Version))
	default:
		f = append(f, words("version, by its log", t.Version))
	}
	return f
}

// steadyText describes the window in words.
func steadyText(w summary.SteadyState) string {
	return fmt.Sprintf("From %s to %s, the first and the last moment with %d requests in flight or more, which half of the time had: %d requests were sent then and ended ok; %s output tokens per second.",
		format.Seconds(w.Start), format.Seconds(w.End), w.InFlight, w.Requests, format.Optional(w.Throughput.OutputTokensPerSecond, format.Digits))
}

func computedText(c summary.Computed) string { return format.Optional(c.Value, format.Digits) }

func computedFacts(s summary.Summary) []headline {
	var facts []headline
	for _, c := range s.Computed() {
		facts = append(facts, number(c.Name+" (computed)", c.Value, noUnit()))
	}
	return facts
}
