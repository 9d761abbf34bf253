package demo

import (
	"fmt"
	"strings"

	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
)

// notReached is the default reason why a section is empty.
const notReached = "the demo did not come to it"

// missing returns the reason why a section has no content, or less than it should; empty if it is complete.
func missing(s Section, there bool) string {
	if s.Absent == "" && s.Fault == "" && !there {
		return notReached
	}
	return s.Absent
}

// absent and fault are notices; an empty reason gives none.
func absent(reason string) render.Paragraph {
	if reason == "" {
		return render.Paragraph{}
	}
	return render.Notice(render.Bad, render.Strong("Missing:"), render.Plain(" "+reason+"."))
}

func fault(what string) render.Paragraph {
	if what == "" {
		return render.Paragraph{}
	}
	return render.Notice(render.Bad, render.Strong("Not as it should be:"), render.Plain(" "+what))
}

func text(s string) render.Paragraph { return render.P(render.Plain(s)) }

// links returns the links that have an address.
func links(all []Link) render.List {
	l := render.List{Class: "links"}
	for _, link := range all {
		if link.Address != "" {
			l.Items = append(l.Items, []render.Span{render.Link(link.Text, link.Address)})
		}
	}
	return l
}

// commands returns the command lines as a part of the page.
func commands(all []string) render.Details {
	var l render.List
	for _, c := range all {
		l.Items = append(l.Items, []render.Span{render.Code(c)})
	}
	name := "commands"
	if len(all) == 1 {
		name = "command"
	}
	return render.Details{Summary: fmt.Sprintf("How it was made: %d %s", len(all), name), Blocks: []render.Block{l}}
}

// section is a heading that links lead to.
func section(id, text string) render.Heading {
	h := render.H2(text)
	h.ID = id
	return h
}

func document(p Page) render.Document {
	d := render.Document{Title: "What a container costs on a DGX Spark depends on how you ask"}
	sentence, verdicts, red := front(p)
	d.Add(sentence, render.Notice(render.Bad, render.Strong("Simulated."), render.Plain(" No figure on this page is a measurement of a DGX Spark: machines, engine and model are simulated. "+
		"The exporter, the load generator, the comparison and the alert rules are those that run on a real one.")))
	for _, notice := range notices(p) {
		d.Add(render.Notice(render.Note, render.Plain(notice)))
	}
	d.Add(verdicts, red, render.Paragraph{Class: "lead", Spans: []render.Span{render.Plain(lead())}}, render.Facts{Facts: madeFacts(p.Made)}, links(p.Links))
	d.Add(question(p)...)
	d.Add(where(p)...)
	d.Add(rehydration(p.Rehydration)...)
	d.Add(outputs(p.Outputs)...)
	d.Add(alertsSection(p.Heat)...)
	d.Add(section("not", "What this does not show"), render.List{Items: render.Items(not(p))}, render.H3("Runs that enter no figure"), invalid(p.Campaigns))
	switch {
	case len(p.Campaigns) == 0:
		d.Add(render.Small("No run is known."))
	case invalid(p.Campaigns).Empty():
		d.Add(render.Small("None of the campaigns: each of their runs was called valid."))
	}
	d.Add(render.H3("The same on a real machine"),
		text("On a DGX Spark with an engine that can be started natively and in a container; the first lines of the plan say what to set in it."),
		render.Listing{Language: "sh", Text: "uma-load campaign plans native-container > mine.yaml\numa-load campaign run mine.yaml\numa-load compare runs/native-container --by arm --within model\n"})
	return d
}

// question is the first section: the same two arms in several designs.
func question(p Page) []render.Block {
	cards := render.Group{Class: "cards"}
	var made []string
	for _, c := range p.Campaigns {
		cards.Blocks = append(cards.Blocks, campaignCard(c))
		made = append(made, c.Commands...)
	}
	runs := runsFigure(p.Campaigns, figure.MemoryOccupiedWithoutKV, "Every run in the order of time: memory occupied without KV cache (simulated)",
		"Each is what was not free when the engine sized its KV cache. A line joins runs of one arm with no other between them: where it falls, what the other arm has left is given up from run to run.")
	seen := render.Group{Class: "shot", ID: "seen", Blocks: []render.Block{render.Figures{runs}}}
	if text := moral(p.Campaigns); text != "" {
		seen.Blocks = append(seen.Blocks, render.Notice(render.Note, render.Plain(text)))
	}
	return []render.Block{
		section("answers", "One question, three designs"),
		text("How much more memory does an engine need in a container than natively, before it takes its KV cache? " +
			"Published runs of TensorRT-LLM on a DGX Spark said 101.30 against 70.47 GiB, and 16.57 against 44.31 GiB of KV cache. They were made native first, always. " +
			"Here the same two arms run on three machines that differ in nothing but the order of the runs and what the runs before have left in the page cache."),
		absent(missing(Section{}, len(p.Campaigns) > 0)),
		render.Group{Class: "shot", ID: "glance", Blocks: []render.Block{cards, absent(missing(Section{}, runs.Drawn())), seen}},
		figuresNamed("kv-cache-and-memory-", p.Campaigns), commands(made),
	}
}

// moral returns the conclusion from several campaigns. The baseline is the same in all: where its mean differs, that comes
// from the state of the machine at its starts.
func moral(campaigns []Campaign) string {
	var means []string
	baseline := ""
	for _, c := range campaigns {
		pair, _ := pairOf(c)
		if m := find(pair, figure.MemoryOccupiedWithoutKV); m != nil && m.A.Mean != nil {
			means, baseline = append(means, fmt.Sprintf("%s GiB (%s)", short(*m.A.Mean), c.Name)), pair.A
		}
	}
	if len(means) < 2 {
		return ""
	}
	return "Between the designs only the order of the runs has changed, and what was left in the page cache: engine, container and analysis are the same. In the mean " + baseline + " itself has " + enumerated(means) +
		": this measure is also one of what the runs before have read. Where runs in blocks differ, the verdict is confounded with time: they cannot tell the arm from the hour."
}

// enumerated joins texts.
func enumerated(texts []string) string {
	last := len(texts) - 1
	return strings.TrimPrefix(strings.Join(texts[:last], ", ")+" and "+texts[last], " and ")
}

// lead describes what is scaled, and the limits of the figures.
func lead() string {
	return aboutScale() + " No program of the project reads the ground truth: the answers are compared with it."
}

func madeFacts(m Made) []render.Fact {
	var facts []render.Fact
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, render.Fact{Name: name, Value: value})
		}
	}
	add("made with", m.Command)
	if !m.Begun.IsZero() {
		add("at", m.Begun.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	if m.Ended.After(m.Begun) {
		add("wall time", duration(m.Ended.Sub(m.Begun)))
	}
	return facts
}

// notices are remarks on the page as a whole.
func notices(p Page) []string {
	var all []string
	if p.Made.Partial {
		all = append(all, "This page is partial: the demo was ended before everything was made. Each section says what it lacks.")
	}
	if p.Made.Quick {
		all = append(all, "Made with --quick: two runs of an arm, so an interval says little, whatever its verdict. The whole demo takes about a minute.")
	}
	for _, problem := range p.Problems {
		all = append(all, "While this was made: "+problem)
	}
	return all
}

// not lists what the page does not show.
func not(p Page) []string {
	all := []string{
		"It is simulated. Sizes were chosen so that the first design comes near to the published figures; that it can says that this cause is possible, and no more.",
		"It is one possible cause. The published runs recorded neither the page cache nor what the memory was spent on, and were made in one order only: their data cannot tell this cause from others.",
		"A real Spark may differ in what an image reads, in whether native and container share one copy of the weights, in how much page cache its kernel gives up and when, and in what its engine takes beside weights and KV cache.",
		"This engine sizes its KV cache by what CUDA calls free, as TensorRT-LLM does. One that asks the kernel what is available, as vLLM does on a Spark, loses nothing to page cache.",
		"Cause is not read off the verdicts. A difference that order cannot explain is one of the arms as they were run; the lines of the ledger say in what, and only another campaign says why.",
		"Latencies, throughputs, temperatures and power are those of a model of a machine. No engine, no drive and no driver was measured.",
	}
	return all
}

// invalid lists the runs that are in no figure.
func invalid(campaigns []Campaign) render.Table {
	t := render.Table{Header: []string{"run", "arm", "campaign", "why"}, Words: []int{1, 2, 3}}
	for _, c := range campaigns {
		for _, i := range c.Invalid {
			t.Add(i.Run, i.Arm, c.Name, i.Why)
		}
	}
	return t
}
