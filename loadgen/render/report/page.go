// Package report shows the summary of a run, and of several side by side, as text, Markdown, tables and HTML.
package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// Page is the contents of one HTML report.
type Page struct {
	Title   string
	Summary summary.Summary
	// Drawn has the data of the charts of requests; nil leaves the charts out.
	Drawn *summary.Requests
	// Telemetry is nil for a run without any.
	Telemetry *telemetry.Log
}

// PageOf returns the page of a run, read from its folder.
func PageOf(r summary.Run) (Page, error) {
	p := Page{Title: r.Manifest.Run, Summary: r.Summary}
	var err error
	if p.Telemetry, err = r.Telemetry(); err == nil {
		p.Drawn, err = r.Requests()
	}
	return p, err
}

// HTML writes one self-contained page, as render.HTML does.
func HTML(w io.Writer, p Page) error { return render.HTML(w, p.Document()) }

// Markdown writes report.md: what ran, whether it is valid, and every figure with its number of samples.
func Markdown(w io.Writer, s summary.Summary) error {
	return render.Markdown(w, Page{Title: "Run " + s.Run, Summary: s}.Document())
}

// Document returns the report.
func (p Page) Document() render.Document {
	s := p.Summary
	d := render.Document{Title: p.Title}
	d.Add(answerBlock(s), readyBar(s), measuredMemory(s), render.Facts{Facts: pageFacts(runFacts(s)), Tiles: true}, warningList(s.Warnings),
		render.Facts{Facts: append(runIdentity(s), fact("this run is", verdictText(s)))})
	if reported := toolTable(s.Tool); !reported.Empty() {
		d.Add(render.H2("Reported by "+s.Tool.Program), render.Small("By the tool’s own definitions, read from its log or its files; none of it was measured here."), reported)
	}
	if s.Tool == nil { // without a tool, uma-load sent the load
		d.Add(render.H2("Latency"), latencyTable(s.Latency))
		if s.Latency != nil && s.Latency.ChunkGap != nil && s.Latency.ChunkGap.SameRead > 0 {
			d.Add(render.Small(fmt.Sprintf("%d chunks came in one network read with the chunk before them; they are in no chunk gap.", s.Latency.ChunkGap.SameRead)))
		}
		if p.Drawn != nil {
			d.Add(render.Figures(distributions(p.Drawn)))
		}
		if servers := serverTable(s); !servers.Empty() {
			d.Add(render.H2("By server"), servers, render.Small(serversNote))
		}
	}
	d.Add(decodeBlocks(s.Decode)...)
	if w := s.SteadyState; w != nil {
		d.Add(render.Details{Summary: "Latency in the steady state", Blocks: []render.Block{render.Small(steadyText(*w)), latencyTable(&w.Latency)}})
	}
	if p.Drawn != nil {
		if figures := timelineFigures(p.Drawn.Timeline, phaseSpans(s)); len(figures) > 0 {
			d.Add(render.H2("Over time"), render.Figures(figures))
		}
	}
	for _, m := range s.Machines {
		d.Add(p.machine(m)...)
	}
	if evidence := signalTable(s.Signals); s.Signals.Asked() && !evidence.Empty() {
		d.Add(render.H2("Evidence"), render.Small("A signal is proven only where witnesses that do not depend on each other agree. Each line below it is one of them."), evidence)
		d.Add(worthBlocks(s.Signals.Worth)...)
	}
	d.Add(render.H2("Phases and sizes"), phaseTable(s), phaseWorkTable(s), distributionTable("tokens per request", lengthRows(s.Tokens), format.Digits))
	d.Add(checkedRules(s)...)
	if s.Tool == nil {
		d.Add(render.Small("Only requests that ended ok enter latencies. “Send” starts when a request was dispatched, “intended start” when it was due. A percentile is given from the number of samples on that supports it (p50: 5, p75: 11, p90: 29, p95: 59, p99: 299, p99.9: 2,995); – is no figure."))
	}
	return d
}

// verdictBlock returns a verdict with its grounds.
func verdictBlock(good bool, text string, items [][]render.Span) render.Block {
	tone := render.Bad
	if good {
		tone = render.Good
	}
	if len(items) == 0 {
		return render.Notice(tone, render.Strong(text))
	}
	return render.List{Tone: tone, Lead: []render.Span{render.Strong(text)}, Items: items}
}

func reasonItems(s summary.Summary) [][]render.Span {
	var items [][]render.Span
	for _, reason := range s.InvalidReasons {
		items = append(items, render.Coded(string(reason.Code), reason.Detail))
	}
	return items
}

// warningList returns warnings folded under their number.
func warningList(warnings []string) render.Details {
	summary := "1 warning"
	if len(warnings) != 1 {
		summary = fmt.Sprintf("%d warnings", len(warnings))
	}
	return render.Details{Summary: summary, Blocks: []render.Block{render.List{Tone: render.Note, Items: render.Items(warnings)}}}
}

// checkedRules returns the rules that were applied.
func checkedRules(s summary.Summary) []render.Block {
	rules := render.List{Class: "small"}
	for _, rule := range summary.Rules() {
		if slices.Contains(s.Checked, rule.Check) {
			rules.Items = append(rules.Items, render.Coded(string(rule.Code), fmt.Sprintf("invalid on %s.", rule)))
		}
	}
	if rules.Empty() {
		return nil
	}
	return []render.Block{render.H3("What was checked"), rules}
}

// end returns the end of the last phase, in seconds.
func (p Page) end() float64 {
	end := 0.0
	for _, phase := range p.Summary.Phases {
		end = max(end, phase.End)
	}
	return end
}

// phaseSpans returns the phases for the charts over time.
func phaseSpans(s summary.Summary) []render.PhaseSpan {
	var spans []render.PhaseSpan
	for _, name := range phaseOrder(s) {
		spans = append(spans, render.PhaseSpan{Name: name, Start: s.Phases[name].Start, End: s.Phases[name].End})
	}
	return spans
}

// machine returns the blocks of one source of the telemetry, or of the summary alone, with its mode in the heading.
func (p Page) machine(m summary.Machine) []render.Block {
	tone, text := render.Good, ""
	if !m.Live() {
		tone, text = render.Bad, fmt.Sprintf("These figures are %s: they are not measurements of this run.", m.Mode)
	}
	facts := machineFacts(summary.Summary{Memory: m.Memory, KV: m.KV, Thermal: m.Thermal, Energy: m.Energy})
	blocks := []render.Block{render.H2("Machine "+m.Source, render.Badge(tone, m.Mode)), render.Small(text), render.Facts{Of: "measured phases", Facts: pageFacts(facts), Tiles: true}}
	if p.Telemetry != nil {
		if source := p.Telemetry.Source(m.Source); source != nil {
			end := p.end()
			if n := len(source.Samples); n > 0 {
				end = max(end, seconds(source.Samples[n-1]))
			}
			blocks = append(blocks, render.Figures(track{p.Telemetry, source, end, phaseSpans(p.Summary)}.figures()))
		}
	}
	tables := []render.Block{memoryTable(m.Memory, m.KV, ""), ledgerTable(m.Memory), growthTable(m.Growth), networkTable(m.Network), throttleTable(m.Thermal)}
	return append(blocks, render.Group{Class: "tables", Blocks: tables})
}
