package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Markdown writes report.md: what ran, whether it is valid, and every figure with its number of
// samples. Text from elsewhere cannot break out of its cell, and is no markup or HTML.
func Markdown(w io.Writer, s Summary) error {
	m := markdown{}
	m.line("# Run %s", cell(s.Run))
	m.verdict(s)
	m.table([]string{"what", "value"}, append(s.identity(), s.facts()...).cells())
	m.latencies("Latency", s.Latency)
	if lengths := s.Tokens.rows(); len(lengths) > 0 {
		m.line("## Tokens per request")
		m.table(distributionHeader("", "n"), distributionRows(lengths, digits))
	}
	for _, machine := range s.Machines {
		m.machine(machine)
	}
	m.phases(s)
	m.line("A percentile is given from the number of samples on that supports it (p50: 5, p75: 11, p90: 29, p95: 59, p99: 299, p99.9: 2,995); %s is no figure. Only requests that ended ok enter latencies. “Send” starts when the request was dispatched, “intended start” when it was due.", none)
	_, err := io.WriteString(w, m.b.String())
	return err
}

type facts []fact

func (f facts) cells() [][]string {
	var rows [][]string
	for _, x := range f {
		rows = append(rows, []string{x.name, x.value})
	}
	return rows
}

// identity is what ran.
func (s Summary) identity() facts {
	f := facts{{"scenario", s.Scenario}, {"model", s.Model.ID}}
	for _, name := range slices.Sorted(maps.Keys(s.Labels)) {
		f = append(f, fact{name, s.Labels[name]})
	}
	return f
}

// rows are the lengths that are known.
func (t Tokens) rows() []row {
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

// cells are the columns of distributionHeader, n first.
func (d *Distribution) cells(format func(float64) string) []string {
	cells := []string{fmt.Sprint(d.N)}
	for _, v := range []*float64{d.Mean, d.SD, d.Min, d.P25, d.P50, d.P75, d.P90, d.P95, d.P99, d.P999, d.Max} {
		cells = append(cells, optional(v, format))
	}
	return cells
}

func distributionRows(rows []row, format func(float64) string) [][]string {
	var cells [][]string
	for _, r := range rows {
		cells = append(cells, append([]string{strings.TrimSpace(r.name + fromText(r.from))}, r.values.cells(format)...))
	}
	return cells
}

func fromText(from string) string {
	if from == "" {
		return ""
	}
	return " from " + from
}

// markdown collects a document.
type markdown struct{ b strings.Builder }

func (m *markdown) line(format string, args ...any) { fmt.Fprintf(&m.b, format+"\n\n", args...) }

func (m *markdown) table(header []string, rows [][]string) {
	write := func(cells []string) {
		for _, text := range cells {
			m.b.WriteString("| " + cell(text) + " ")
		}
		m.b.WriteString("|\n")
	}
	write(header)
	m.b.WriteString(strings.Repeat("| --- ", len(header)) + "|\n")
	for _, row := range rows {
		write(row)
	}
	m.b.WriteString("\n")
}

func (m *markdown) verdict(s Summary) {
	m.line("**%s**", cell(s.verdictText()))
	for _, reason := range s.InvalidReasons {
		fmt.Fprintf(&m.b, "- **%s**: %s\n", cell(string(reason.Code)), cell(reason.Detail))
	}
	for _, warning := range s.Warnings {
		fmt.Fprintf(&m.b, "- warning: %s\n", cell(warning))
	}
	m.b.WriteString("\n")
}

func (m *markdown) latencies(title string, l Latency) {
	rows := l.distinct().rows()
	if len(rows) == 0 {
		return
	}
	m.line("## %s", cell(title))
	m.table(distributionHeader("latency", "n"), distributionRows(rows, formatSeconds))
	if l.ChunkGap != nil && l.ChunkGap.SameRead > 0 {
		m.line("%d chunks came in one network read with the chunk before them; they are in no chunk gap.", l.ChunkGap.SameRead)
	}
}

// machine writes what one telemetry source says, with its mode in the heading.
func (m *markdown) machine(x Machine) {
	m.line("## Machine %s (%s)", cell(x.Source), cell(x.Mode))
	if !x.live() {
		m.line("These figures are %s: they are not measurements of this run.", cell(x.Mode))
	}
	rows := Summary{Memory: x.Memory, Thermal: x.Thermal, Energy: x.Energy}.machineFacts()
	if len(rows) > 0 {
		m.table([]string{"measured phases", "value"}, facts(rows).cells())
	}
	if x.Memory != nil && x.Memory.LedgerAt != nil {
		m.ledger(*x.Memory.LedgerAt)
	}
	if x.Thermal != nil && len(x.Thermal.ThrottleSeconds) > 0 {
		var rows [][]string
		for _, reason := range slices.Sorted(maps.Keys(x.Thermal.ThrottleSeconds)) {
			rows = append(rows, []string{reason, formatSeconds(x.Thermal.ThrottleSeconds[reason])})
		}
		m.table([]string{"clock held down by", "for"}, rows)
	}
}

func (m *markdown) ledger(at LedgerAt) {
	moments := []struct {
		name  string
		lines map[string]float64
	}{{"start", at.Start}, {"ready", at.Ready}, {"peak", at.Peak}}
	header := []string{"memory ledger"}
	names := map[string]bool{}
	for _, moment := range moments {
		if moment.lines != nil {
			header = append(header, moment.name)
		}
		for name := range moment.lines {
			names[name] = true
		}
	}
	var rows [][]string
	for _, name := range inLedgerOrder(names) {
		row := []string{name}
		for _, moment := range moments {
			if moment.lines == nil {
				continue
			}
			if v, ok := moment.lines[name]; ok {
				row = append(row, formatBytes(v))
			} else {
				row = append(row, none)
			}
		}
		rows = append(rows, row)
	}
	m.table(header, rows)
}

func (m *markdown) phases(s Summary) {
	if len(s.Phases) == 0 {
		return
	}
	m.line("## Phases")
	names := slices.SortedFunc(maps.Keys(s.Phases), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Phases[a].Start, s.Phases[b].Start), cmp.Compare(a, b))
	})
	var rows [][]string
	for _, name := range names {
		p := s.Phases[name]
		rows = append(rows, []string{
			name, formatSeconds(p.Start), formatSeconds(p.End), Summary{Requests: p.Requests}.requestCounts(),
			optional(p.Throughput.OutputTokensPerSecond, digits),
		})
	}
	m.table([]string{"phase", "start", "end", "requests", "output tokens per second"}, rows)
}

// cell makes any text safe in a table: nothing in it is markup, and it has no line break.
func cell(text string) string {
	return strings.NewReplacer(
		`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "#", `\#`, "~", `\~`,
		"<", "&lt;", ">", "&gt;", "&", "&amp;", "!", `\!`,
	).Replace(printable(text))
}
