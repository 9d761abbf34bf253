package story

import (
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/chart"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/exhibit"
)

// view is a page as its template reads it.
type view struct {
	Title, Simulated, Lead, Question string
	Books, Headline, Moral           string
	Made                             []item
	Notices                          []string
	Links                            []Link

	AnswersAbsent string
	Answers       []answer

	// Runs are in memory, KV in the KV cache that was left for it; Commands made them.
	RunsAbsent string
	Runs, KV   *chart.Figure
	Commands   []string

	Where       where
	Rehydration rehydrationView

	OutputsAbsent, OutputsFault string
	Outputs                     []judgedView
	OutputsCommands             []string

	Heat heatView

	Not       []string
	Invalid   grid
	NoInvalid string
}

// item is a fact in two words.
type item struct{ Name, Value string }

// grid is a table. Its first column is a name; others are figures, flush right, unless they are words.
type grid struct {
	Header []string
	Rows   []gridRow
	words  []int
}

type gridRow struct {
	Class string
	Cells []string
}

// Words says whether a column is text.
func (g grid) Words(column int) bool { return slices.Contains(g.words, column) }

func (g *grid) add(class string, cells ...string) {
	g.Rows = append(g.Rows, gridRow{class, cells})
}

// notReached is said of a section of which nothing is there and nobody says why.
const notReached = "the demo did not come to it"

// missing is why a section has nothing to show, or less than it should.
func missing(s Section, there bool) string {
	if s.Absent == "" && s.Fault == "" && !there {
		return notReached
	}
	return s.Absent
}

const title = "What a container costs on a DGX Spark depends on how you ask"

func newView(p Page) view {
	v := view{
		Title: title, Links: p.Links, Made: made(p.Made), Notices: notices(p),
		Simulated: "Machines, engine and model are simulated; no figure on this page is a measurement of a DGX Spark. " +
			"What measured and judged them is not: the exporter, the load generator, the comparison and the alert rules are those that run on a real one.",
		Lead: lead(p.Made),
		Question: "How much more memory does an engine need in a container than natively, before it takes its KV cache? " +
			"Published runs of TensorRT-LLM on a DGX Spark said 101.30 against 70.47 GiB, and 16.57 against 44.31 GiB of KV cache. They were made native first, always. " +
			"Here the same two arms run on three machines that differ in nothing but the order of the runs and what the runs before have left in the page cache.",
		Books: "Beside each answer stands what the simulator knows of the same starts. No program of the project reads these books: they are what the answers are held against.",
		Not:   not(p), NoInvalid: "None: every run was called valid.",
	}
	for _, c := range p.Campaigns {
		v.Answers, v.Commands = append(v.Answers, newAnswer(c)), append(v.Commands, c.Commands...)
	}
	v.AnswersAbsent = missing(Section{}, len(v.Answers) > 0)
	v.Headline = headline(p.Campaigns)
	v.Moral = "Between them nothing has changed in the engine, in the container or in the analysis: only the order of the runs, and what was left in the page cache. " +
		baselineItself(p.Campaigns) +
		"Where runs in blocks differ, the verdict says that it is confounded with time: they cannot tell the arm from the hour."
	v.Runs = runsFigure(p.Campaigns, compare.MemoryExcludingKV, "Every run in the order of time: memory excluding the KV cache (simulated)",
		"Each is what was not free when the engine sized its KV cache, on the machine’s clock. A line joins runs of one arm with no other between them: where it falls, what the other arm has left is given up from run to run.")
	v.KV = runsFigure(p.Campaigns, compare.KVCapacity, "Every run in the order of time: the KV cache (simulated)",
		"What the engine took for its KV cache: a share of what was free. It is the figure above once more, and no second finding.")
	v.RunsAbsent = missing(Section{}, v.Runs != nil)
	v.Where = newWhere(p)
	v.Rehydration = newRehydration(p.Rehydration)
	v.Outputs, v.OutputsCommands = judgedViews(p.Outputs), p.Outputs.Commands
	v.OutputsAbsent, v.OutputsFault = missing(p.Outputs.Section, len(v.Outputs) > 0), p.Outputs.Fault
	v.Heat = newHeat(p.Heat)
	v.Invalid = invalid(p.Campaigns)
	if len(v.Answers) == 0 {
		v.NoInvalid = "No run is known."
	}
	return v
}

// lead says what is on which axis of time, and what it is worth.
func lead(m Made) string {
	speed := "a clock of their own, faster than the wall clock"
	if m.Speed > 0 {
		speed = fmt.Sprintf("a clock of their own, %s times as fast as the wall clock", chart.Number(m.Speed))
	}
	return "Two axes of time: memory, bytes of the drive, heat and alerts are on the machines’ time, " + speed +
		". Latencies of requests are wall time, of an engine that is no GPU: read which of them is shorter, not how long they are."
}

func made(m Made) []item {
	var items []item
	add := func(name, value string) {
		if value != "" {
			items = append(items, item{name, value})
		}
	}
	add("made with", m.Command)
	if !m.Begun.IsZero() {
		add("at", m.Begun.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	if m.Ended.After(m.Begun) {
		add("wall time", duration(m.Ended.Sub(m.Begun)))
	}
	if m.MachineEnded.After(m.MachineBegun) {
		add("machine time", duration(m.MachineEnded.Sub(m.MachineBegun)))
	}
	add("seed", fmt.Sprint(m.Seed))
	return items
}

// notices are what a reader has to know of the page as a whole.
func notices(p Page) []string {
	var all []string
	if p.Made.Partial {
		all = append(all, "This page is partial: the demo was ended before everything was made. Each section says what it lacks.")
	}
	if p.Made.Quick {
		all = append(all, "Made with --quick: fewer and shorter runs, so intervals are wide and less is found than in the whole demo.")
	}
	for _, problem := range p.Problems {
		all = append(all, "While this was made: "+problem)
	}
	return all
}

// headline sets the answers of all campaigns beside each other.
func headline(campaigns []Campaign) string {
	var answers []string
	for _, c := range campaigns {
		pair, there := pairOf(c)
		if !there {
			continue
		}
		if m := find(pair, compare.MemoryExcludingKV); m != nil && m.Difference != nil {
			answers = append(answers, fmt.Sprintf("%s GiB (%s, n = %d: %s)", shortSigned(*m.Difference), c.Name, m.A.N+m.B.N, exhibit.VerdictText(*m)))
		}
	}
	if len(answers) < 2 {
		return ""
	}
	return "The same two arms differ by " + strings.Join(answers[:len(answers)-1], ", ") + " and " + answers[len(answers)-1] + "."
}

// baselineItself sets the baseline's own means beside each other: nothing was changed in that arm, and so what differs is what
// its starts found. It is empty unless two campaigns have one.
func baselineItself(campaigns []Campaign) string {
	var name string
	var means []string
	for _, c := range campaigns {
		pair, there := pairOf(c)
		if !there {
			continue
		}
		if m := find(pair, compare.MemoryExcludingKV); m != nil && m.A.Mean != nil {
			name = pair.A
			means = append(means, fmt.Sprintf("%s GiB (%s)", short(*m.A.Mean), c.Name))
		}
	}
	if len(means) < 2 {
		return ""
	}
	return "In the mean " + name + " itself has " + strings.Join(means[:len(means)-1], ", ") + " and " + means[len(means)-1] +
		": this measure is also one of what the runs before have read. "
}

// not is what the page must not be taken for.
func not(p Page) []string {
	all := []string{
		"It is simulated. Sizes were chosen so that the first design comes near to the published figures; that it can says that this cause is possible, and no more.",
		"It is one possible cause. The published runs recorded neither the page cache nor what the memory was spent on, and were made in one order only: their data cannot tell this cause from others.",
		"A real Spark may differ in what an image reads, in whether native and container share one copy of the weights, in how much page cache its kernel gives up and when, and in what its engine takes beside weights and KV cache.",
		"This engine sizes its KV cache by what CUDA calls free, as TensorRT-LLM does. One that asks the kernel what is available, as vLLM does on a Spark, loses nothing to page cache.",
		"Cause is not read off the verdicts. A difference that order cannot explain is one of the arms as they were run; the lines of the ledger say in what, and only another campaign says why.",
		"Latencies, throughputs, temperatures and power are those of a model of a machine. No engine, no drive and no driver was measured.",
	}
	if p.Made.Quick {
		all = append(all, "With --quick there are two runs of an arm: an interval of so few says little, whatever its verdict.")
	}
	return all
}

// invalid lists the runs that enter no figure.
func invalid(campaigns []Campaign) grid {
	g := grid{Header: []string{"run", "arm", "campaign", "why"}, words: []int{1, 2, 3}}
	for _, c := range campaigns {
		for _, i := range c.Invalid {
			g.add("", i.Run, i.Arm, c.Name, i.Why)
		}
	}
	return g
}
