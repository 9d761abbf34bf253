// Package report shows the summary of a run, and of several side by side, as text, Markdown, tables and HTML.
package report

import (
	_ "embed"
	"io"
	"slices"

	"github.com/umascope/umascope/loadgen/chart"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// Page is what one HTML report shows.
type Page struct {
	Title   string
	Summary summary.Summary
	// Drawn is what the figures show of the requests; nil leaves them out.
	Drawn *summary.Requests
	// Telemetry is nil when there is none.
	Telemetry *telemetry.Log
}

//go:embed page.html
var pageText string

// HTML writes one self-contained page: no script, nothing loaded from elsewhere. Every text goes
// through html/template.
func HTML(w io.Writer, p Page) error { return chart.WritePage(w, pageText, p.view()) }

// view is the page as its template reads it.
type view struct {
	Title, Verdict  string
	Valid           bool
	Identity, Facts facts
	Reasons         []summary.Reason
	Rules           []summary.Rule // those that were applied
	Warnings        []string
	Latencies       table
	Steady          *steadyView
	Lengths         table
	Evidence        table
	Phases          table
	Distributions   []chart.Figure
	Timeline        []chart.Figure
	Machines        []machineView
	SameRead        int
	Recorded        bool  // the load was a command, not ours
	Reported        table // by that command
}

// steadyView is the window without ramp and drain.
type steadyView struct {
	Says      string
	Latencies table
}

// machineView is one telemetry source with its figures.
type machineView struct {
	summary.Machine
	Live    bool
	Facts   facts
	Figures []chart.Figure
}

func (p Page) view() view {
	s := p.Summary
	v := view{
		Title: p.Title, Verdict: verdictText(s), Valid: s.Valid,
		Identity: runIdentity(s), Facts: runFacts(s), Reasons: s.InvalidReasons, Warnings: s.Warnings,
		Latencies: table{distributionHeader("latency", "n"), distributionRows(latencyRows(distinct(s.Latency)), chart.FormatSeconds)},
		Lengths:   table{distributionHeader("tokens per request", "n"), distributionRows(lengthRows(s.Tokens), chart.Digits)},
		Phases:    phaseTable(s),
		Recorded:  s.Tool != nil, Reported: toolTable(s.Tool),
	}
	if s.Signals.Asked() {
		v.Evidence = signalTable(s.Signals)
	}
	if w := s.SteadyState; w != nil {
		v.Steady = &steadyView{steadyText(*w), table{distributionHeader("latency", "n"), distributionRows(latencyRows(distinct(&w.Latency)), chart.FormatSeconds)}}
	}
	for _, rule := range summary.Rules() {
		if slices.Contains(s.Checked, rule.Check) {
			v.Rules = append(v.Rules, rule)
		}
	}
	if s.Latency != nil && s.Latency.ChunkGap != nil {
		v.SameRead = s.Latency.ChunkGap.SameRead
	}
	if p.Drawn != nil {
		v.Distributions, v.Timeline = distributions(p.Drawn), timelineFigures(p.Drawn.Timeline, phaseSpans(s))
	}
	v.Machines = p.machines()
	return v
}

// Name and Value are what the template reads of a fact.
func (f fact) Name() string  { return f.name }
func (f fact) Value() string { return f.value }

// end is when the last phase ended, in seconds.
func (p Page) end() float64 {
	end := 0.0
	for _, phase := range p.Summary.Phases {
		end = max(end, phase.End)
	}
	return end
}

// phaseSpans are the phases for the figures over time.
func phaseSpans(s summary.Summary) []chart.Span {
	var spans []chart.Span
	for _, name := range phaseOrder(s) {
		spans = append(spans, chart.Span{Name: name, Start: s.Phases[name].Start, End: s.Phases[name].End})
	}
	return spans
}

// machines has one view for each source of the telemetry, or of the summary alone.
func (p Page) machines() []machineView {
	var views []machineView
	for _, m := range p.Summary.Machines {
		v := machineView{Machine: m, Live: m.Live()}
		v.Facts = machineFacts(summary.Summary{Memory: m.Memory, KV: m.KV, Thermal: m.Thermal, Energy: m.Energy})
		if p.Telemetry != nil {
			if source := p.Telemetry.Source(m.Source); source != nil {
				end := p.end()
				if n := len(source.Samples); n > 0 {
					end = max(end, seconds(source.Samples[n-1]))
				}
				v.Figures = track{p.Telemetry, source, end, phaseSpans(p.Summary)}.figures()
			}
		}
		views = append(views, v)
	}
	return views
}

// Traffic is what went between this machine and others.
func (m machineView) Traffic() table { return networkTable(m.Network) }

// Ledger is the ledger at the moments that were observed.
func (m machineView) Ledger() table {
	if m.Memory == nil || m.Memory.LedgerAt == nil {
		return table{}
	}
	return ledgerTable(*m.Memory.LedgerAt)
}

// Throttle is how long clocks were held down, by reason.
func (m machineView) Throttle() table { return throttleTable(m.Thermal) }
