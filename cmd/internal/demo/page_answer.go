package demo

import (
	"fmt"
	"slices"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/render/comparison"
)

// campaignAnswer is the result of one design.
type campaignAnswer struct {
	Campaign
	Order          []render.Span
	Kind           string // of the order, in a word
	Sequence       string // run by run
	Findings       []campaignFinding
	Warnings, More []compare.Warning
}

// campaignFinding is a metric of the comparison with its ground truth.
type campaignFinding struct {
	Title, Difference, Interval, Means string
	Verdict                            string
	Tone                               render.Tone
	Truth                              string
	TruthTone                          render.Tone
}

func newAnswer(c Campaign) campaignAnswer {
	a := campaignAnswer{Campaign: c}
	pair, there := pairOf(c)
	a.Absent = missing(c.Section, there)
	runs, _ := truthRuns(c)
	var sequence []string
	for i, r := range runs {
		class, _ := armClass(c, r.arm)
		text := fmt.Sprintf("run %d, %s", i+1, r.arm)
		if r.invalid {
			class, text = "left-out", text+": invalid, enters no figure"
		}
		a.Order = append(a.Order, render.Span{Text: letter(r.arm), Style: "chip", Tone: render.Tone(class), Title: text})
		sequence = append(sequence, r.arm)
	}
	if s, compared := stratum(c); compared {
		a.Kind, a.Sequence = "order: "+s.Order.Kind, "Runs in the order of time: "+comparison.Sequence(sequence)
	}
	if !there {
		return a
	}
	for _, of := range []struct {
		metric, title string
		groundTruth   func(Start) float64
	}{
		{compare.MemoryOccupiedWithoutKV, "Memory occupied without KV cache", func(s Start) float64 { return s.OccupiedWithoutKVBytes }},
		{compare.KVCapacity, "KV cache", func(s Start) float64 { return s.KVBytes }},
	} {
		f := campaignFinding{Title: fmt.Sprintf("%s: %s − %s", of.title, pair.B, pair.A), Difference: "not compared", Verdict: "no runs of both arms tell it", Tone: render.Note, Interval: "no interval", Means: "no means"}
		if m := find(pair, of.metric); m != nil {
			f.take(*m, pair)
			f.Truth, f.TruthTone = groundTruthOf(c, pair, m, of.groundTruth).describe(compare.Unit(m.Unit), m.CI95)
		}
		a.Findings = append(a.Findings, f)
	}
	for _, w := range warnings(c) {
		if ofOrder(w.Code) {
			a.Warnings = append(a.Warnings, w)
		} else {
			a.More = append(a.More, w)
		}
	}
	return a
}

func (a campaignAnswer) card() render.Group {
	blocks := []render.Block{render.H3(a.Title), render.Small(a.Design)}
	if len(a.Order) > 0 {
		order := append(slices.Clone(a.Order), render.Plain(" "+a.Kind))
		blocks = append(blocks, render.Paragraph{Class: "small", Label: a.Sequence + "; " + a.Kind, Spans: order})
	}
	blocks = append(blocks, absent(a.Absent), fault(a.Fault))
	for i, f := range a.Findings {
		class := "beside"
		if i == 0 {
			class = "big"
		}
		groundTruth := render.Small(f.Truth)
		groundTruth.Tone = f.TruthTone
		blocks = append(blocks, render.Group{Class: "finding", Blocks: []render.Block{
			render.Small(f.Title), render.Paragraph{Class: class, Spans: []render.Span{render.Plain(f.Difference + " "), render.Badge(f.Tone, f.Verdict)}},
			render.Small(f.Interval + "; " + f.Means + "."), groundTruth,
		}})
	}
	blocks = append(blocks, warningList(a.Warnings), render.Details{Summary: fmt.Sprintf("What else stands beside it: %d", len(a.More)), Blocks: []render.Block{warningList(a.More)}}, links(a.Links))
	return render.Group{Class: "card", Blocks: blocks}
}

func warningList(all []compare.Warning) render.List {
	l := render.List{Class: "small"}
	for _, w := range all {
		l.Items = append(l.Items, render.Coded(w.Code, w.Text))
	}
	return l
}

func (f *campaignFinding) take(m compare.Metrics, pair compare.Pair) {
	unit := compare.Unit(m.Unit)
	f.Verdict, f.Tone = comparison.VerdictText(m), verdictTone(m)
	f.Interval = interval(unit, m.CI95)
	if m.HolmP != nil { // the p value that gives the verdict, next to the interval
		f.Interval += fmt.Sprintf(", p %.2g as one of all metrics (Holm)", *m.HolmP)
	}
	if m.Difference != nil {
		f.Difference = signed(unit, *m.Difference)
	}
	if m.A.Mean != nil && m.B.Mean != nil {
		f.Means = fmt.Sprintf("%s %s, %s %s; n = %d and %d runs", pair.A, unit.Text(*m.A.Mean), pair.B, unit.Text(*m.B.Mean), m.A.N, m.B.N)
	}
	if m.EngineReported {
		f.Title += ", as the engine reports it"
	}
}
