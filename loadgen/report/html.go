package report

import (
	_ "embed"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/telemetry"
)

// Page is what one HTML report shows.
type Page struct {
	Title   string
	Summary Summary
	// Drawn is what the figures show of the requests; nil leaves them out.
	Drawn *Drawn
	// Telemetry is nil when there is none.
	Telemetry *telemetry.Log
}

// Drawn is what the figures of a page show of the requests of a run.
type Drawn struct {
	total *aggregate // of measured phases
	line  *timeline  // of all
}

var (
	//go:embed page.html
	pageText string
	// partsText is what pages have in common: how figures and tables are written, and the style.
	//go:embed parts.html
	partsText string
)

// HTML writes one self-contained page: no script, nothing loaded from elsewhere. Every text goes
// through html/template, nothing is declared safe, and characters that do not print are replaced
// on the way out, once for all.
func HTML(w io.Writer, p Page) error { return writePage(w, pageText, p.view()) }

func writePage(w io.Writer, source string, view any) error {
	page, err := template.New("page").Parse(partsText + source)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := page.Execute(&text, view); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		if _, err := io.WriteString(w, printable(strings.TrimSuffix(line, "\n"))+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// view is the page as its template reads it.
type view struct {
	Title, Verdict  string
	Valid           bool
	Identity, Facts facts
	Reasons         []Reason
	Rules           []Rule // those that were applied
	Warnings        []string
	Latencies       table
	Steady          *steadyView
	Lengths         table
	Evidence        table
	Phases          table
	Distributions   []figure
	Timeline        []figure
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
	Machine
	Live    bool
	Facts   facts
	Figures []figure
}

func (p Page) view() view {
	s := p.Summary
	v := view{
		Title: p.Title, Verdict: s.verdictText(), Valid: s.Valid,
		Identity: s.identity(), Facts: s.facts(), Reasons: s.InvalidReasons, Warnings: s.Warnings,
		Latencies: table{distributionHeader("latency", "n"), distributionRows(s.Latency.distinct().rows(), formatSeconds)},
		Lengths:   table{distributionHeader("tokens per request", "n"), distributionRows(s.Tokens.rows(), digits)},
		Phases:    s.phaseTable(),
		Recorded:  s.Tool != nil, Reported: s.Tool.table(),
	}
	if s.Signals.asked() {
		v.Evidence = s.Signals.table()
	}
	if w := s.SteadyState; w != nil {
		v.Steady = &steadyView{w.says(), table{distributionHeader("latency", "n"), distributionRows(w.Latency.distinct().rows(), formatSeconds)}}
	}
	for _, rule := range Rules() {
		if slices.Contains(s.Checked, rule.Check) {
			v.Rules = append(v.Rules, rule)
		}
	}
	if s.Latency != nil && s.Latency.ChunkGap != nil {
		v.SameRead = s.Latency.ChunkGap.SameRead
	}
	if p.Drawn != nil {
		v.Distributions, v.Timeline = distributions(p.Drawn.total), p.Drawn.line.figures(s.spans())
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

// spans are the phases for the figures over time.
func (s Summary) spans() []phaseSpan {
	var spans []phaseSpan
	for _, name := range s.phaseOrder() {
		spans = append(spans, phaseSpan{name, s.Phases[name].Start, s.Phases[name].End})
	}
	return spans
}

// machines has one view for each source of the telemetry, or of the summary alone.
func (p Page) machines() []machineView {
	var views []machineView
	for _, m := range p.Summary.Machines {
		v := machineView{Machine: m, Live: m.live()}
		v.Facts = Summary{Memory: m.Memory, KV: m.KV, Thermal: m.Thermal, Energy: m.Energy}.machineFacts()
		if p.Telemetry != nil {
			if source := p.Telemetry.Source(m.Source); source != nil {
				end := p.end()
				if n := len(source.Samples); n > 0 {
					end = max(end, seconds(source.Samples[n-1]))
				}
				v.Figures = track{p.Telemetry, source, end, p.Summary.spans()}.figures()
			}
		}
		views = append(views, v)
	}
	return views
}

// Ledger is the ledger at the moments that were observed.
func (m machineView) Ledger() table {
	if m.Memory == nil || m.Memory.LedgerAt == nil {
		return table{}
	}
	return m.Memory.LedgerAt.table()
}

// Throttle is how long clocks were held down, by reason.
func (m machineView) Throttle() table { return m.Thermal.table() }
