package demo

import (
	"fmt"
	"strings"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/render/comparison"
)

// front returns how the page begins: a sentence that answers, a row for each question with its verdict, and what a red
// row means. Red are an interval that the ground truth is outside of, and an alert that did not fire.
func front(p Page) (sentence render.Paragraph, verdicts render.Table, red render.Paragraph) {
	verdicts = render.Table{Header: []string{"question", "answer (container minus native [95 % CI])", "verdict", "ground truth of the simulator"}, Words: []int{1, 2, 3}}
	row := func(tone render.Tone, address string, cells ...string) {
		verdicts.Rows = append(verdicts.Rows, render.Row{Tone: tone, Address: address, Cells: cells})
	}
	var differ, clauses []string
	var intervals, outside int
	for _, c := range p.Campaigns {
		pair, _ := pairOf(c)
		for _, q := range []struct {
			metric, title string
			groundTruth   func(Start) float64
		}{
			{figure.MemoryOccupiedWithoutKV, "Occupied without KV cache", func(s Start) float64 { return s.OccupiedWithoutKVBytes }},
			{figure.KVCapacity, "KV cache", func(s Start) float64 { return s.KVBytes }},
		} {
			m := find(pair, q.metric)
			if m == nil || m.Difference == nil {
				continue // its section has the reason
			}
			if q.metric == figure.MemoryOccupiedWithoutKV {
				differ = append(differ, fmt.Sprintf("%s GiB (%s, n = %d and %d: %s)", shortSigned(*m.Difference), c.Name, m.A.N, m.B.N, comparison.VerdictText(*m)))
			}
			var tone render.Tone
			if m.Verdict == compare.Confounded {
				tone = render.Note
			}
			truth, judged := groundTruthOf(c, pair, m, q.groundTruth).describe(figure.Unit(m.Unit), m.CI95)
			switch judged {
			case render.Good:
				intervals++
			case render.Bad:
				tone = render.Bad
				intervals++
				outside++
			}
			row(tone, "#answers", q.title+": "+c.Name, comparison.SignedChange(*m), comparison.VerdictText(*m), truth)
		}
	}
	if len(differ) > 0 {
		clauses = append(clauses, "Container and native differ in memory occupied without KV cache by "+enumerated(differ))
	}
	if r := p.Rehydration.Run; r != nil {
		back := r.Signals.SSDRehydrate
		clauses = append(clauses, "KV blocks read back from the SSD: "+gradeWords(back))
		row("", "#rehydration", "KV blocks come back from the SSD", map[bool]string{true: "yes"}[back.Grade == evidence.Proven], gradeWords(back), "")
	}
	for _, one := range p.Outputs.Runs {
		j := newJudged(one)
		if j.Wrong {
			row("", "#wrong", "Wrong KV blocks are noticed", j.Found, j.Grade, "wrong blocks")
		} else {
			row("", "#wrong", "Right KV blocks are not accused", j.Found, j.Grade, "right blocks")
		}
		if j.Wrong && j.Run != "" {
			clauses = append(clauses, "wrong KV blocks: "+strings.ToLower(j.Found))
		}
	}
	for _, e := range p.Heat.Events {
		text, fired := caught(p.Heat.Firings, e)
		row(map[bool]render.Tone{false: render.Bad}[fired], "#alerts", "An alert fires when the room is hot", text, "", e.Name)
	}
	if len(clauses) > 0 {
		sentence = render.Notice(render.Note, render.Strong(strings.Join(clauses, "; ")+"."))
	}
	return sentence, verdicts, coverage(intervals, outside)
}

// coverage says how many intervals miss the ground truth, beside how many are expected to.
func coverage(intervals, outside int) render.Paragraph {
	const expected = "A 95 % interval misses it once in 20 times."
	switch {
	case intervals == 0:
		return render.Paragraph{}
	case outside == 0:
		return render.Small(fmt.Sprintf("The ground truth is inside all %d intervals. %s", intervals, expected))
	}
	return render.Small(fmt.Sprintf("Red: the ground truth is outside the interval, here in %d of %d. %s", outside, intervals, expected))
}

// campaignCard is the card of a campaign: the order of its runs, what its comparison shows, and the caveats.
func campaignCard(c Campaign) render.Group {
	blocks := []render.Block{render.H3(c.Title), render.Small(c.Design)}
	runs, _ := truthRuns(c)
	var order []render.Span
	var sequence []string
	for i, r := range runs {
		class, _ := armClass(c, r.arm)
		text := fmt.Sprintf("run %d, %s", i+1, r.arm)
		if r.invalid {
			class, text = "left-out", text+": invalid, enters no figure"
		}
		order = append(order, render.Span{Text: letter(r.arm), Style: "chip", Tone: render.Tone(class), Title: text})
		sequence = append(sequence, r.arm)
	}
	if s, compared := stratum(c); compared {
		kind := "order: " + s.Order.Kind
		blocks = append(blocks, render.Paragraph{Class: "small", Label: "Runs in the order of time: " + comparison.Sequence(sequence) + "; " + kind, Spans: append(order, render.Plain(" "+kind))})
	}
	_, there := pairOf(c)
	blocks = append(blocks, absent(missing(c.Section, there)), fault(c.Fault))
	if c.Comparison != nil {
		for _, h := range comparison.Headlines(*c.Comparison) {
			blocks = append(blocks, h.Block())
		}
		blocks = append(blocks, comparison.AllCaveats(*c.Comparison))
	}
	return render.Group{Class: "card", Blocks: append(blocks, links(c.Links))}
}
