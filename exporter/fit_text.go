package exporter

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/ledger"
)

// print writes the report as text: the answer, the model, the arithmetic to what one engine can have, each engine's
// flag, and what would give more.
func (r *fitReport) print(out io.Writer) {
	header := explanation{Answer: r.Answer, Mode: r.Mode, Exporter: r.Exporter, Note: r.Note}
	header.printHeader(out)
	if r.Model != nil {
		r.Model.print(out)
	}
	if r.GPU != nil {
		fmt.Fprintf(out, "\nGPU %d: %s, memory %s, GiB\n", r.GPU.Index, printable(r.GPU.Name), placeOf(r.GPU.Architecture))
		r.GPU.printSteps(out, r.known)
		for _, other := range r.Others {
			fmt.Fprintf(out, "  GPU %d has %s for one engine (--gpu=%d)\n", other.Index, gib(other.BudgetBytes), other.Index)
		}
	}
	for i, e := range r.Engines {
		if i == 0 {
			fmt.Fprintf(out, "\nEngines, by the meaning of their flags, GiB\n")
		}
		r.printEngine(out, e)
	}
	r.printRunning(out)
	printList(out, "To get more", r.More)
	printList(out, "Not known", r.Unknown)
}

func printList(out io.Writer, title string, lines []string) {
	for i, line := range lines {
		if i == 0 {
			fmt.Fprintf(out, "\n%s\n", title)
		}
		fmt.Fprintf(out, "  %s\n", printable(line))
	}
}

// printSteps writes the arithmetic, with the floor of the reserve of a GPU that allocates from the pool.
func (g *fitGPU) printSteps(out io.Writer, known spec.Engines) {
	if g.can == nil {
		printSteps(out, g.Steps)
		return
	}
	for _, row := range rowsOf(g.Steps) {
		fmt.Fprintf(out, "  %18s  %s\n", row.GiB, printable(row.Text))
	}
	fmt.Fprintf(out, "  %s.\n  %s\n", g.can.Sentence(), sizedSentence(known))
}

// printSteps writes one line of the arithmetic after the other.
func printSteps(out io.Writer, steps []spec.Step) {
	for _, s := range steps {
		fmt.Fprintf(out, "  %18s  %s\n", between(s.Bytes, gib[int64]), printable(s.Name))
	}
}

func (m *fitModel) print(out io.Writer) {
	fmt.Fprintf(out, "\nModel %s (%s)\n", printable(m.Name), printable(cmp.Or(m.Kind, "no model_type")))
	files := "1 file"
	if m.Files > 1 {
		files = fmt.Sprintf("%d files", m.Files)
	}
	fmt.Fprintf(out, "  weights  %s GiB in %s (%s)\n", gib(m.WeightBytes), files, m.Format)
	if m.TokenBytes == 0 {
		return
	}
	fmt.Fprintf(out, "  KV       %s bytes a token: %s\n", grouped(m.TokenBytes), m.Formula)
	if m.ContextTokens > 0 {
		fmt.Fprintf(out, "  context  %s tokens, which take %s GiB\n", grouped(m.ContextTokens), between(m.SequenceBytes(m.ContextTokens), gib[int64]))
	}
}

func (r *fitReport) printEngine(out io.Writer, e engineFit) {
	fmt.Fprintf(out, "  %-13s %s\n    %s\n", e.Name, e.toType(), e.Meaning)
	if len(e.Arguments) > 0 && e.Flag != "" {
		fmt.Fprintf(out, "    %s\n", e.quotients())
	}
	steps := e.Steps
	if e.KV != nil && e.Tokens != nil {
		last := steps[len(steps)-1]
		last.Name += ": " + between(*e.Tokens, grouped) + " tokens"
		if e.Sequences.High > 0 {
			last.Name += fmt.Sprintf(", %s sequences of %s", between(*e.Sequences, grouped), grouped(r.Model.ContextTokens))
		} else {
			last.Name += ": less than one sequence of " + grouped(r.Model.ContextTokens) + ", so set a shorter context"
		}
		steps = append(steps[:len(steps)-1:len(steps)-1], last)
	}
	printSteps(out, steps)
}

// toType is what to start the engine with, or why there is nothing.
func (e engineFit) toType() string {
	switch {
	case len(e.Arguments) > 0:
		return strings.Join(e.Arguments, " ")
	case e.KV == nil && e.Flag == "":
		return "needs --model"
	case e.Flag == "" && e.KV.High > 0:
		return "--ctx-size is not known: the KV cache of a token is not"
	}
	return "does not fit"
}

// quotients is the arithmetic of the share.
func (e engineFit) quotients() string {
	take := gib(e.Take)
	if e.Keep > 0 {
		take = fmt.Sprintf("(%s - %s)", take, gib(e.Keep))
	}
	text := fmt.Sprintf("%s is %s / %s, rounded down", inHundredths(e.Hundredths), take, gib(e.Of))
	if e.Limit < 100 {
		text += fmt.Sprintf("; it cannot run above %s, which is %s / %s", inHundredths(e.Limit), gib(e.Most), gib(e.Of))
	}
	return text
}

// printRunning shows what engines that run were told to take, and what they have.
func (r *fitReport) printRunning(out io.Writer) {
	for i, e := range r.Running {
		if i == 0 {
			fmt.Fprintf(out, "\nEngines that run: what they were told to take, and what they have, GiB\n")
		}
		fmt.Fprintf(out, "  %s at %s %s\n", printable(e.Engine), printable(e.Source), printable(e.Model))
		if e.AskedRatio != nil && r.GPU != nil {
			fmt.Fprintf(out, "  %18s  told to take: %.2f of the total\n", gib(*e.AskedRatio*float64(r.GPU.memory.Total)), *e.AskedRatio)
		}
		for _, kind := range slices.Sorted(maps.Keys(e.Kinds)) {
			fmt.Fprintf(out, "  %18s  %s, by its page\n", gib(e.Kinds[kind]), printable(kind))
		}
		switch {
		case e.KVBytes != nil:
			fmt.Fprintf(out, "  %18s  KV cache, by its page\n", gib(*e.KVBytes))
		case e.KVTokens != nil && r.Model != nil && r.Model.TokenBytes > 0:
			fmt.Fprintf(out, "  %18s  KV cache: %s tokens of its page, if it serves %s\n", gib(*e.KVTokens*float64(r.Model.TokenBytes)), grouped(int64(*e.KVTokens)), printable(r.Model.Name))
		case e.KVTokens != nil:
			fmt.Fprintf(out, "  %18s  KV cache: %s tokens (their size: --model)\n", "", grouped(int64(*e.KVTokens)))
		}
	}
	for _, h := range r.Holders {
		if h.Bytes != nil && *h.Bytes >= leastPart {
			fmt.Fprintf(out, "  %18s  held by %s (pid %d)\n", gib(*h.Bytes), h.name(), h.PID)
		}
	}
	for _, line := range r.Ledger {
		fmt.Fprintf(out, "  %18s  %s of the pool%s\n", gib(line.Bytes), printable(ledger.Named(line.Name).Title), meaningOf(line.Name))
	}
}

// meaningOf is what an engine has in a line of the ledger.
func meaningOf(line string) string {
	switch line {
	case ledger.Anon:
		return ": heaps of programs, compilation among them"
	case ledger.Shmem:
		return ": shared memory, and pinned memory where the driver charges it"
	case ledger.PageCache:
		return ": files that were read, weights among them"
	case ledger.Managed:
		return ": cudaMallocManaged"
	}
	return ""
}
