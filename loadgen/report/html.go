package report

import (
	_ "embed"
	"errors"
	"html/template"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// Page is what one HTML report shows.
type Page struct {
	Title   string
	Summary Summary
	// Requests are the records of the run, read once more for the figures; nil leaves the
	// figures of requests out.
	Requests iter.Seq2[chat.Record, error]
	// Telemetry is nil when there is none.
	Telemetry *telemetry.Log
}

//go:embed page.html
var pageText string

// HTML writes one self-contained page: no script, nothing loaded from elsewhere. Every text goes
// through html/template, nothing is declared safe, and characters that do not print are replaced
// on the way out, once for all.
func HTML(w io.Writer, p Page) error {
	page, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	v, err := p.view()
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := page.Execute(&text, v); err != nil {
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
	Lengths         table
	Phases          table
	Distributions   []figure
	Timeline        []figure
	Machines        []machineView
	SameRead        int
}

// machineView is one telemetry source with its figures.
type machineView struct {
	Machine
	Live    bool
	Facts   facts
	Figures []figure
}

func (p Page) view() (view, error) {
	s := p.Summary
	v := view{
		Title: p.Title, Verdict: s.verdictText(), Valid: s.Valid,
		Identity: s.identity(), Facts: s.facts(), Reasons: s.InvalidReasons, Warnings: s.Warnings,
		Latencies: table{distributionHeader("latency", "n"), distributionRows(s.Latency.distinct().rows(), formatSeconds)},
		Lengths:   table{distributionHeader("tokens per request", "n"), distributionRows(s.Tokens.rows(), digits)},
		Phases:    s.phaseTable(),
	}
	for _, rule := range Rules() {
		if slices.Contains(s.Checked, rule.Check) {
			v.Rules = append(v.Rules, rule)
		}
	}
	if s.Latency.ChunkGap != nil {
		v.SameRead = s.Latency.ChunkGap.SameRead
	}
	if p.Requests != nil {
		total, line, err := p.figuresOfRequests()
		if err != nil {
			return view{}, err
		}
		v.Distributions, v.Timeline = distributions(total), line.figures(s.spans())
	}
	v.Machines = p.machines()
	return v, nil
}

// Name and Value are what the template reads of a fact.
func (f fact) Name() string  { return f.name }
func (f fact) Value() string { return f.value }

// figuresOfRequests reads the records: those of measured phases for the distributions, all of
// them for the figures over time.
func (p Page) figuresOfRequests() (*aggregate, *timeline, error) {
	streamed := p.Summary.Latency.TTFT != nil
	total := newAggregate(&settings{streaming: streamed})
	line := newTimeline(p.end())
	for record, err := range p.Requests {
		if errors.Is(err, ErrTorn) {
			break // the summary warns about it
		}
		if err != nil {
			return nil, nil, err
		}
		if !streamed {
			record.FirstTokenNS = nil // the arrival of a whole answer is no first token
		}
		line.add(record)
		if p.Summary.Phases[record.Phase].Measured {
			total.add(record)
		}
	}
	return total, line, nil
}

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
