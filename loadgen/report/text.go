package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/umascope/umascope/loadgen/chart"
	"github.com/umascope/umascope/loadgen/chat"
)

// row is one latency as the tables show it.
type row struct {
	name   string
	from   string // the clock that it starts on; "" for those between two arrivals
	values *Distribution
}

// rows lists the latencies that were observed, in the order of a request's life.
func (l *Latency) rows() []row {
	var rows []row
	if l == nil {
		return nil
	}
	add := func(name, from string, d *Distribution) {
		if d != nil {
			rows = append(rows, row{name, from, d})
		}
	}
	both := func(name string, c *Clocks) {
		if c != nil {
			add(name, "send", c.Send)
			add(name, "intended start", c.Intended)
		}
	}
	both("TTFT", l.TTFT)
	both("TTFO", l.TTFO)
	if l.TPOT != nil {
		add("TPOT", "", l.TPOT.Send)
	}
	if l.ChunkGap != nil {
		add("chunk gap", "", l.ChunkGap.Send)
	}
	if l.ITL != nil {
		add("ITL", "", l.ITL.Send)
	}
	both("E2E", l.E2E)
	add("queue delay", "", l.QueueDelay)
	add("client lag", "", l.ClientLag)
	return rows
}

// distinct leaves out first visible output where it is the first token anyway, as with every
// model that does not reason.
func (l *Latency) distinct() *Latency {
	if l == nil {
		return nil
	}
	one := *l
	if l.TTFO != nil && l.TTFT != nil && same(l.TTFO.Send, l.TTFT.Send) {
		one.TTFO = nil
	}
	return &one
}

func same(a, b *Distribution) bool {
	return a != nil && b != nil && a.N == b.N && *a.Mean == *b.Mean && *a.Max == *b.Max
}

// fact is one figure with its name.
type fact struct{ name, value string }

// facts are the figures that stand above the latencies.
func (s Summary) facts() []fact {
	if s.Tool != nil {
		return slices.Concat(s.computedFacts(), s.Tool.facts(), s.Together.facts(), s.machineFacts())
	}
	facts := []fact{
		{"requests", s.requestCounts()},
		{"requests per second", chart.Optional(s.Throughput.RequestsPerSecond, chart.Digits)},
		{"output tokens per second", chart.Optional(s.Throughput.OutputTokensPerSecond, chart.Digits)},
		{"input tokens per second", chart.Optional(s.Throughput.InputTokensPerSecond, chart.Digits)},
		{"measured for", chart.Optional(s.Throughput.DurationSeconds, chart.FormatSeconds)},
	}
	if g := s.Goodput; g != nil {
		met := "not met"
		if g.Met {
			met = "met"
		}
		facts = append(facts, fact{"within " + g.SLO, fmt.Sprintf("%s of %d, %s", chart.FormatRatio(g.Ratio), g.Requests, met)})
	}
	if w := s.SteadyState; w != nil {
		facts = append(facts, fact{"output tokens per second, steady", chart.Optional(w.Throughput.OutputTokensPerSecond, chart.Digits)})
	}
	return slices.Concat(facts, s.computedFacts(), s.Signals.facts(s.Model.Simulated), s.Together.facts(), s.machineFacts())
}

// requestCounts has the number of requests of each status, such as "62 ok, 2 timeout".
func (s Summary) requestCounts() string {
	text := fmt.Sprintf("%d ok", s.Requests[chat.StatusOK])
	for _, status := range chat.Statuses() {
		if n := s.Requests[status]; n > 0 && status != chat.StatusOK {
			text += fmt.Sprintf(", %d %s", n, status)
		}
	}
	return text
}

// machineFacts are the figures of the measured host, labelled unless they are live, and by its name if it is not
// the only one.
func (s Summary) machineFacts() []fact {
	var facts []fact
	add := func(o Origin, name string, value *float64, format func(float64) string) {
		if value == nil {
			return
		}
		text := format(*value)
		if s.Together != nil {
			text += " on " + o.Source
		}
		if !o.live() {
			text += " (" + o.Mode + ")"
		}
		facts = append(facts, fact{name, text})
	}
	if m := s.Memory; m != nil {
		add(m.Origin, "memory used when ready, KV cache excluded", m.ExcludingKV, chart.FormatBytes)
		add(m.Origin, "free for CUDA when the KV cache was sized", m.FreeAtKVSizing, chart.FormatBytes)
		add(m.Origin, "memory used, peak", m.UsedPeak, chart.FormatBytes)
		add(m.Origin, "GPU-held memory, peak", m.GPUHeldPeak, chart.FormatBytes)
		add(m.Origin, "free for CUDA, least", m.CUDAFreeMin, chart.FormatBytes)
	}
	facts = append(facts, s.engineFacts()...)
	if t := s.Thermal; t != nil {
		add(t.Origin, "GPU temperature, highest", t.MaxCelsius, chart.FormatCelsius)
		if t.MaxCelsius == nil { // of another tool, which took it twice
			add(t.Origin, "GPU temperature, start", t.StartCelsius, chart.FormatCelsius)
			add(t.Origin, "GPU temperature, end", t.EndCelsius, chart.FormatCelsius)
		}
	}
	if e := s.Energy; e != nil {
		add(e.Origin, "energy", &e.Joules, chart.FormatJoules)
		add(e.Origin, "energy per output token", e.JoulesPerOutputToken, chart.FormatJoules)
	}
	return facts
}

// engineFacts are what engines say of themselves: by their pages, or in their logs.
func (s Summary) engineFacts() []fact {
	var facts []fact
	add := func(name, source string, value *float64, format func(float64) string) {
		if value != nil {
			facts = append(facts, fact{name, format(*value) + " (by " + source + ")"})
		}
	}
	if kv := s.KV; kv != nil {
		add("KV cache", kv.Source, kv.CapacityBytes, chart.FormatBytes)
		add("KV cache, tokens", kv.Source, kv.CapacityTokens, chart.Digits)
	}
	if m := s.Memory; m != nil && m.EngineReported != nil {
		e := m.EngineReported
		add("peak by the engine", e.Source, e.Peak, chart.FormatBytes)
		add("outside of its framework, by the engine", e.Source, e.NonTorch, chart.FormatBytes)
		add("weights by the engine", e.Source, e.Weights, chart.FormatBytes)
		add("compute buffers by the engine", e.Source, e.Compute, chart.FormatBytes)
		add("compute buffers in host memory by the engine", e.Source, e.HostCompute, chart.FormatBytes)
		if s.KV == nil || s.KV.Source != e.Source { // else it stands there already
			add("KV cache by the engine", e.Source, e.KV, chart.FormatBytes)
			add("KV cache by the engine, tokens", e.Source, e.KVTokens, chart.Digits)
		}
	}
	return facts
}

// verdictText is whether the run is valid, and why not.
func (s Summary) verdictText() string {
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
func Text(w io.Writer, s Summary) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(cells ...string) {
		for i := range cells {
			cells[i] = chart.Printable(cells[i])
		}
		fmt.Fprintln(table, strings.Join(cells, "\t")) // Flush returns what goes wrong
	}
	for _, f := range s.facts() {
		line(f.name, f.value)
	}
	if reported := s.Tool.table(); len(reported.Rows) > 0 {
		line("")
		line(reported.Header...)
		for _, row := range reported.Rows {
			line(row...)
		}
	}
	if s.Latency != nil {
		line("")
		line("latency", "from", "n", "p50", "p90", "p99", "max")
	}
	for _, r := range s.Latency.distinct().rows() {
		d := r.values
		line(r.name, r.from, strconv.Itoa(d.N), chart.Optional(d.P50, chart.FormatSeconds),
			chart.Optional(d.P90, chart.FormatSeconds), chart.Optional(d.P99, chart.FormatSeconds), chart.Optional(d.Max, chart.FormatSeconds))
	}
	line("")
	line(s.verdictText())
	for _, reason := range s.InvalidReasons {
		line("  " + string(reason.Code) + ": " + reason.Detail)
	}
	for _, warning := range s.Warnings {
		line("  warning: " + warning)
	}
	return table.Flush()
}
