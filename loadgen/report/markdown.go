package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/umascope/umascope/loadgen/chart"
	"github.com/umascope/umascope/loadgen/summary"
)

// Markdown writes report.md: what ran, whether it is valid, and every figure with its number of
// samples. Text from elsewhere cannot break out of its cell, and is no markup or HTML.
func Markdown(w io.Writer, s summary.Summary) error {
	m := markdown{}
	m.line("# Run %s", cell(s.Run))
	m.verdict(s)
	m.table([]string{"what", "value"}, append(runIdentity(s), runFacts(s)...).cells())
	m.latencies("Latency", s.Latency)
	if reported := toolTable(s.Tool); len(reported.Rows) > 0 {
		m.line("## Reported by %s", cell(s.Tool.Program))
		m.line("By the tool's own definitions; none of it was measured here.")
		m.table(reported.Header, reported.Rows)
	}
	if w := s.SteadyState; w != nil {
		m.latencies("Latency in the steady state", &w.Latency)
		m.line("%s", cell(steadyText(*w)))
	}
	if s.Signals.Asked() {
		evidence := signalTable(s.Signals)
		m.line("## Evidence")
		m.table(evidence.Header, evidence.Rows)
	}
	if lengths := lengthRows(s.Tokens); len(lengths) > 0 {
		m.line("## Tokens per request")
		m.table(distributionHeader("", "n"), distributionRows(lengths, chart.Digits))
	}
	for _, machine := range s.Machines {
		m.machine(machine)
	}
	if phases := phaseTable(s); len(phases.Rows) > 0 {
		m.line("## Phases")
		m.table(phases.Header, phases.Rows)
	}
	if s.Tool == nil {
		m.line("A percentile is given from the number of samples on that supports it (p50: 5, p75: 11, p90: 29, p95: 59, p99: 299, p99.9: 2,995); %s is no figure. Only requests that ended ok enter latencies. “Send” starts when the request was dispatched, “intended start” when it was due.", chart.None)
	}
	_, err := io.WriteString(w, m.b.String())
	return err
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

func (m *markdown) verdict(s summary.Summary) {
	m.line("**%s**", cell(verdictText(s)))
	for _, reason := range s.InvalidReasons {
		fmt.Fprintf(&m.b, "- **%s**: %s\n", cell(string(reason.Code)), cell(reason.Detail))
	}
	for _, warning := range s.Warnings {
		fmt.Fprintf(&m.b, "- warning: %s\n", cell(warning))
	}
	m.b.WriteString("\n")
}

func (m *markdown) latencies(title string, l *summary.Latency) {
	rows := latencyRows(distinct(l))
	if len(rows) == 0 {
		return
	}
	m.line("## %s", cell(title))
	m.table(distributionHeader("latency", "n"), distributionRows(rows, chart.FormatSeconds))
	if l.ChunkGap != nil && l.ChunkGap.SameRead > 0 {
		m.line("%d chunks came in one network read with the chunk before them; they are in no chunk gap.", l.ChunkGap.SameRead)
	}
}

// machine writes what one telemetry source says, with its mode in the heading.
func (m *markdown) machine(x summary.Machine) {
	m.line("## Machine %s (%s)", cell(x.Source), cell(x.Mode))
	if !x.Live() {
		m.line("These figures are %s: they are not measurements of this run.", cell(x.Mode))
	}
	rows := machineFacts(summary.Summary{Memory: x.Memory, KV: x.KV, Thermal: x.Thermal, Energy: x.Energy})
	if len(rows) > 0 {
		m.table([]string{"measured phases", "value"}, facts(rows).cells())
	}
	if x.Memory != nil && x.Memory.LedgerAt != nil {
		ledger := ledgerTable(*x.Memory.LedgerAt)
		m.table(ledger.Header, ledger.Rows)
	}
	if network := networkTable(x.Network); len(network.Rows) > 0 {
		m.table(network.Header, network.Rows)
	}
	if throttle := throttleTable(x.Thermal); len(throttle.Rows) > 0 {
		m.table(throttle.Header, throttle.Rows)
	}
}

// cell makes any text safe in a table: nothing in it is markup, and it has no line break.
func cell(text string) string {
	return strings.NewReplacer(
		`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "#", `\#`, "~", `\~`,
		"<", "&lt;", ">", "&gt;", "&", "&amp;", "!", `\!`,
	).Replace(chart.Printable(text))
}
