package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// runIdentity returns what ran, when and with which programs.
func runIdentity(s summary.Summary) []render.Fact {
	f := []render.Fact{fact("scenario", s.Scenario)}
	if s.Model.ID != "" { // the model of a recorded command may be unknown
		f = append(f, fact("model", s.Model.ID))
	}
	known := f
	for _, name := range slices.Sorted(maps.Keys(s.Labels)) {
		named := fact(name, s.Labels[name])
		if slices.Contains(known, named) {
			continue
		}
		if slices.ContainsFunc(known, func(k render.Fact) bool { return k.Name == name }) {
			named.Name = "label " + name
		}
		f = append(f, named)
	}
	return append(f, madeFacts(s.Made)...)
}

// lengthRows returns the known lengths.
func lengthRows(t summary.Tokens) []row {
	var rows []row
	if t.Input != nil {
		rows = append(rows, row{"input", "", t.Input})
	}
	if t.Output != nil {
		rows = append(rows, row{"output", "", t.Output})
	}
	return rows
}

func distributionHeader(first ...string) []string {
	return append(first, "mean", "sd", "min", "p25", "p50", "p75", "p90", "p95", "p99", "p99.9", "max")
}

// distributionCells returns the columns of distributionHeader, n first.
func distributionCells(d *summary.Distribution, written func(float64) string) []string {
	cells := []string{fmt.Sprint(d.N)}
	for _, v := range []*float64{d.Mean, d.SD, d.Min, d.P25, d.P50, d.P75, d.P90, d.P95, d.P99, d.P999, d.Max} {
		cells = append(cells, format.Optional(v, written))
	}
	return cells
}

func distributionTable(title string, rows []row, written func(float64) string) render.Table {
	t := render.Table{Header: distributionHeader(title, "n")}
	for _, r := range rows {
		t.Add(append([]string{strings.TrimSpace(r.name + fromText(r.from))}, distributionCells(r.values, written)...)...)
	}
	return t
}

func latencyTable(l *summary.Latency) render.Table {
	return distributionTable("latency", shownLatencies(l), format.Seconds)
}

func fromText(from string) string {
	if from == "" {
		return ""
	}
	return " from " + from
}

// memoryTable has the pool at the moments of the memory figures: the lines of each add up to it. Where names the
// machine if it is not the only one.
func memoryTable(m *summary.Memory, kv *summary.KV, where string) render.Table {
	lines := poolLines(m, kv)
	if len(lines) == 0 {
		return render.Table{}
	}
	t := render.Table{Header: []string{"memory" + where + notLive(m.Origin), "line", "GiB", "share of the pool"}, Words: []int{1}}
	for _, line := range lines {
		t.Add(line.moment, line.name, format.Optional(line.bytes, formatGiB), format.Optional(line.share, format.Ratio))
	}
	return t
}

// poolLine is a row of the table of memory; a value that was not recorded is nil.
type poolLine struct {
	moment, name string
	bytes        *float64
	share        *float64 // of the pool
}

// poolLines returns the lines of every moment, which is named in its first one, and the pool at the end. Where the pool
// is unknown, the rest of it is a line without a figure.
func poolLines(m *summary.Memory, kv *summary.KV) []poolLine {
	splits := m.Splits(kv)
	if len(splits) == 0 {
		return nil
	}
	var lines []poolLine
	for _, split := range splits {
		moment := split.Moment
		for _, line := range split.Lines {
			name := line.Name
			if name == summary.LineKVCache {
				name += ", by " + kv.Source
			}
			row := poolLine{moment: moment, name: name, bytes: &line.Bytes}
			if m.Pool != nil {
				row.share = new(line.Bytes / *m.Pool)
			}
			lines = append(lines, row)
			moment = ""
		}
		if split.Partial {
			lines = append(lines, poolLine{name: summary.LineNotRecorded})
		}
	}
	pool := poolLine{moment: "all moments", name: "pool", bytes: m.Pool}
	if m.Pool != nil {
		pool.share = new(1.)
	}
	return append(lines, pool)
}

// measuredMemory returns the table of the measured host.
func measuredMemory(s summary.Summary) render.Table {
	where := ""
	if s.Memory != nil && s.Together != nil {
		where = " on " + s.Memory.Source
	}
	return memoryTable(s.Memory, s.KV, where)
}

// formatGiB formats figures that are added up: all with the same number of digits.
func formatGiB(bytes float64) string { return strconv.FormatFloat(bytes/(1<<30), 'f', 2, 64) }

// notLive returns the mode of figures that are not live measurements of the machine.
func notLive(o summary.Origin) string {
	if o.Live() || o.Mode == "" {
		return ""
	}
	return " (" + o.Mode + ")"
}

// ledgerTable has the ledger's lines, GiB, with a column for each observed moment.
func ledgerTable(m *summary.Memory) render.Table {
	if m == nil || m.LedgerAt == nil {
		return render.Table{}
	}
	t := render.Table{Header: []string{"memory ledger, GiB"}}
	var moments [][]ledger.Line
	names := map[string]bool{}
	for _, at := range m.LedgerAt.Moments() {
		if *at.Ledger == nil {
			continue
		}
		lines := m.LedgerLines(*at.Ledger)
		for _, line := range lines {
			names[line.Name] = true
		}
		t.Header, moments = append(t.Header, at.Moment), append(moments, lines)
	}
	pools := []string{"pool"}
	for _, lines := range moments {
		pools = append(pools, formatGiB(ledger.Sum(lines)))
	}
	for _, name := range ledger.InOrder(names) {
		row := []string{ledger.Named(name).Title}
		for _, lines := range moments {
			text := format.None
			if i := slices.IndexFunc(lines, func(l ledger.Line) bool { return l.Name == name }); i >= 0 {
				text = formatGiB(lines[i].Bytes)
			}
			row = append(row, text)
		}
		t.Add(row...)
	}
	if m.Pool == nil { // lines may be missing, with their bytes
		for i := range moments {
			pools[i+1] = format.None
		}
		t.Add(append([]string{summary.LineNotRecorded}, pools[1:]...)...)
	}
	t.Add(pools...)
	return t
}

// phaseTable has a row for each phase.
func phaseTable(s summary.Summary) render.Table {
	t := render.Table{Header: []string{"phase", "start", "end", "requests", "output tokens per second", "mean TTFT", "p50 TTFT"}}
	switch {
	case s.Tool != nil:
		t.Header = t.Header[:3] // uma-load did not send the requests
	case s.Latency == nil || s.Latency.TTFT == nil:
		t.Header = t.Header[:5]
	}
	for _, name := range phaseOrder(s) {
		p := s.Phases[name]
		first := firstToken(p)
		row := []string{
			name, format.Seconds(p.Start), format.Seconds(p.End), requestCounts(summary.Summary{Requests: p.Requests}),
			format.Optional(p.Throughput.OutputTokensPerSecond, format.Digits), format.Optional(first.Mean, format.Seconds), format.Optional(first.P50, format.Seconds),
		}
		t.Add(row[:len(t.Header)]...)
	}
	return t
}

// phaseWorkTable has what the machine did in each phase, a row for each drive; empty without telemetry of a machine.
func phaseWorkTable(s summary.Summary) render.Table {
	t := render.Table{Header: []string{"phase", "GPU busy, mean", "GPU-held, peak", "drive", "read", "written"}, Words: []int{3}}
	bytes := func(v *float64) string { return format.Optional(v, format.Bytes) }
	for _, name := range phaseOrder(s) {
		w, held := s.Phases[name].Work, s.Phases[name].GPUHeldPeak
		if w == nil {
			if held == nil {
				continue
			}
			w = &summary.Work{}
		}
		first := []string{name, format.Optional(w.GPUUtilizationMean, format.Ratio), bytes(held)}
		if len(w.Drives) == 0 {
			t.Add(append(first, format.None, format.None, format.None)...)
		}
		for _, drive := range slices.Sorted(maps.Keys(w.Drives)) {
			t.Add(append(first, drive, bytes(w.Drives[drive].Read), bytes(w.Drives[drive].Written))...)
			first = []string{"", "", ""}
		}
	}
	if len(t.Rows) == 0 {
		return render.Table{}
	}
	if s.Work != nil {
		t.Header[0] += notLive(s.Work.Origin)
	}
	return t
}

// firstToken returns the time to the first token from send; empty if the phase has none.
func firstToken(p summary.PhaseSummary) summary.Distribution {
	if p.Latency == nil || p.Latency.TTFT == nil || p.Latency.TTFT.Send == nil {
		return summary.Distribution{}
	}
	return *p.Latency.TTFT.Send
}

// throttleTable shows how long clocks were throttled, by reason.
func throttleTable(t *summary.Thermal) render.Table {
	if t == nil || len(t.ThrottleSeconds) == 0 {
		return render.Table{}
	}
	rows := render.Table{Header: []string{"clock held down by", "for"}}
	for _, reason := range slices.Sorted(maps.Keys(t.ThrottleSeconds)) {
		rows.Add(reason, format.Seconds(t.ThrottleSeconds[reason]))
	}
	return rows
}

// phaseOrder lists the phases by their start.
func phaseOrder(s summary.Summary) []string {
	return slices.SortedFunc(maps.Keys(s.Phases), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Phases[a].Start, s.Phases[b].Start), cmp.Compare(a, b))
	})
}

// signalTable has the signals, each followed by its witnesses and by those that it lacks.
func signalTable(s evidence.Signals) render.Table {
	t := render.Table{Header: []string{"signal", "grade", "witness", "value", "expected", "agrees"}, Words: []int{1, 2}}
	for _, signal := range s.Named() {
		grade := string(signal.Grade)
		if signal.Reason != "" {
			grade += ": " + string(signal.Reason)
		}
		t.Add(signal.Name, grade, signal.Statement, format.None, format.None, format.None)
		for _, w := range signal.Figures {
			agrees := "no"
			if w.Agrees {
				agrees = "yes"
			}
			t.Add("", "", w.Name, format.Digits(w.Value)+" "+w.Unit, summary.FormatRange(w.Expected), agrees)
		}
		for _, m := range signal.Missing {
			t.Add("", "", m.Name+": "+m.Reason, "missing", format.None, format.None)
		}
	}
	return t
}

// networkTable has a row for every port, with the mean rate over the measured time.
func networkTable(n *summary.Network) render.Table {
	if n == nil || len(n.Ports) == 0 {
		return render.Table{}
	}
	t := render.Table{Header: []string{"between machines", "received", "a second", "sent", "a second", "trouble"}}
	rate := func(bytes *float64) string {
		if bytes == nil || n.Seconds <= 0 {
			return format.None
		}
		return format.Bytes(*bytes/n.Seconds) + "/s"
	}
	for _, p := range n.Ports {
		t.Add(
			p.Title(), format.Optional(p.ReceivedBytes, format.Bytes), rate(p.ReceivedBytes),
			format.Optional(p.SentBytes, format.Bytes), rate(p.SentBytes), cmp.Or(p.Trouble(), "none"))
	}
	return t
}

// toolTable has a row for each figure, in the order of the vocabulary; statistics of one quantity follow
// each other.
func toolTable(t *rundir.ToolReport) render.Table {
	if t == nil || len(t.Values) == 0 {
		return render.Table{}
	}
	rows := render.Table{Header: []string{"as reported by " + t.Program, "value", "where", "of"}, Words: []int{2, 3}}
	if !slices.ContainsFunc(t.Values, func(v spec.Reported) bool { return v.Of != "" }) {
		rows.Header = rows.Header[:3]
	}
	place := map[spec.Quantity]int{}
	for i, q := range enginelog.Quantities() {
		place[q.Name] = i
	}
	values := slices.Clone(t.Values)
	slices.SortStableFunc(values, func(a, b spec.Reported) int {
		return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(place[a.Name], place[b.Name]))
	})
	for _, v := range values {
		row := []string{named(v), formatValue(v), v.From, v.Of}
		rows.Add(row[:len(rows.Header)]...)
	}
	return rows
}

// named returns a figure with its statistic, if it has one: "time to first token, p99".
func named(v spec.Reported) string {
	if v.Statistic == "" {
		return v.Meaning
	}
	return v.Meaning + ", " + v.Statistic
}

func formatValue(v spec.Reported) string {
	switch v.Unit {
	case spec.UnitBytes:
		return format.Bytes(v.Value)
	case spec.UnitSeconds:
		return format.Seconds(v.Value)
	case spec.UnitPerSecond:
		return format.Digits(v.Value) + " /s"
	default:
		return format.Digits(v.Value)
	}
}
