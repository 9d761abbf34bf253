package demo

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/render/comparison"
	"github.com/umascope/umascope/loadgen/rundir"
)

// writeReport writes the page of a demo: the whole file, or none on an error.
func (p Program) writeReport(s *shown) error {
	page := s.index()
	return rundir.Folder(s.out).Write(reportName, func(w io.Writer) error { return render.HTML(w, page) })
}

// index returns the page of a demo: its results in one sentence, and a row for each page that uma-load has written of
// its runs and comparisons.
func (s *shown) index() render.Document {
	d := render.Document{Title: "What a container costs on a simulated DGX Spark depends on the order of the runs"}
	d.Add(render.Notice(render.Note, render.Strong(s.answer())),
		render.Notice(render.Bad, render.Strong("Simulated."), render.Plain(" No figure of this demo is a measurement of a DGX Spark: machines, engine and model are simulated. "+
			"The exporter, the load generator, the comparison and the alert rules are those that run on a real one.")))
	for _, notice := range s.notices() {
		d.Add(render.Notice(render.Note, render.Plain(notice)))
	}
	d.Add(s.pages(), render.Small("Red: the ground truth is outside the interval. A 95 % interval misses it once in 20 times. No program of the project reads the ground truth."),
		render.List{Items: s.files()},
		render.Facts{Facts: []render.Fact{
			{Name: "made with", Value: s.command()},
			{Name: "at", Value: s.begun.UTC().Format("2006-01-02 15:04:05 UTC")},
			{Name: "wall time", Value: s.ended.Sub(s.begun).Round(time.Second).String()},
			{Name: "alerts that fired", Value: strings.Join(s.alerts, ", ")},
		}},
		render.H2("What this does not show"), render.List{Items: render.Items(limits())})
	return d
}

// answer returns the results of the demo in one sentence.
func (s *shown) answer() string {
	var clauses []string
	for _, c := range s.campaigns {
		if m := c.occupied(); m != nil {
			clauses = append(clauses, fmt.Sprintf("%+.1f GiB (%s: %s)", *m.Difference/gib, c.label(), comparison.VerdictText(*m)))
		}
	}
	if len(clauses) == 0 {
		return "No comparison was made."
	}
	return "Memory occupied without KV cache, container minus native: " + strings.Join(clauses, ", ") + "."
}

// notices are remarks on the page as a whole.
func (s *shown) notices() []string {
	var all []string
	if s.interrupted {
		all = append(all, "This page is partial: the demo was ended before everything was made.")
	}
	if s.options.quick {
		all = append(all, quickLimit)
	}
	for _, problem := range s.noted() {
		all = append(all, "While this was made: "+problem)
	}
	return all
}

// quickLimit is the remark on intervals of a quick demo.
const quickLimit = "With --quick there are two runs of an arm: such an interval says little, whatever its verdict."

// pages returns a row for each page: the question that it answers, the result, and what the simulator did.
func (s *shown) pages() render.Table {
	t := render.Table{Header: []string{"page", "result", "verdict", "ground truth of the simulator"}, Words: []int{0, 1, 2, 3}}
	row := func(tone render.Tone, page, title, result, verdict, truth string) {
		t.Rows = append(t.Rows, render.Row{Tone: tone, Address: s.address(page), Cells: []string{title, result, verdict, truth}})
	}
	for _, c := range s.campaigns {
		title := c.title + ": container minus native"
		m := c.occupied()
		if m == nil {
			row("", c.page, title, "no comparison: "+cmp.Or(c.fault, notMade), "", "")
			continue
		}
		truth, tone := c.groundTruth().describe(m.CI95)
		if tone == render.Good {
			tone = ""
		}
		row(tone, c.page, title, comparison.SignedChange(*m), comparison.VerdictText(*m), truth)
	}
	for _, one := range s.trials {
		truth := "the same blocks come back"
		if one.wrong {
			truth = "other blocks come back than were stored"
		}
		if one.run == nil {
			row("", "", one.title, cmp.Or(one.fault, notMade), "", truth)
			continue
		}
		result, verdict := one.result(*one.run)
		row("", one.run.Path(rundir.HTMLFile), one.title, result, verdict, truth)
	}
	if s.heat != nil {
		row(map[bool]render.Tone{true: render.Bad}[s.heat.fired.IsZero()], "", "An alert fires when the room is hot", s.heat.caught(), "", s.heat.name)
	}
	return t
}

// notMade is the reason why a part is missing that has no other one.
const notMade = "it was not made to its end"

// files returns links to the reports of the campaigns, which have each run in its order, and to the folder of all files.
func (s *shown) files() [][]render.Span {
	var items [][]render.Span
	add := func(path, text, rest string) {
		if address := s.address(path); address != "" {
			items = append(items, []render.Span{render.Link(text, address), render.Plain(rest)})
		}
	}
	for _, c := range s.campaigns {
		if c.page != "" {
			add(filepath.Join(c.dir, rundir.HTMLFile), fmt.Sprintf("every run of the campaign %s", c.name), ": its ledger, its latencies and its validity")
		}
	}
	add(s.folder, "everything that this demo has written", ": plans, runs, logs, and the samples of uma-view")
	return items
}

// command returns the command line that repeats the demo.
func (s *shown) command() string {
	command := fmt.Sprintf("uma-demo --seed %d", s.options.seed)
	if s.options.quick {
		command += " --quick"
	}
	return command
}

// address returns the link from the page to a file or a folder of the demo; empty for a path outside of its folder.
func (s *shown) address(path string) string {
	relative, err := filepath.Rel(s.out, path)
	if path == "" || err != nil || !filepath.IsLocal(relative) {
		return ""
	}
	return "./" + filepath.ToSlash(relative)
}

// limits lists what the page does not show.
func limits() []string {
	return []string{
		aboutScale(),
		"Sizes were chosen so that the first design comes near to published figures of TensorRT-LLM on a DGX Spark, which were made native first, always. Page cache that earlier runs left is one possible cause of those: they recorded neither the page cache nor another order.",
		"A real Spark may differ in what an image reads, in whether native and container share one copy of the weights, in how much page cache its kernel gives up and when, and in what its engine takes beside weights and KV cache.",
		"This engine sizes its KV cache by what CUDA reports as free, as TensorRT-LLM does. An engine that asks the kernel what is available, as vLLM does on a Spark, loses nothing to page cache.",
	}
}
