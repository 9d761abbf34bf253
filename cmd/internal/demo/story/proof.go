package story

import (
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/chart"
)

// rehydrationView is what a run shows of blocks that came back from a drive.
type rehydrationView struct {
	Absent, Fault             string
	Verdict, Class            string
	Witnesses, Stored, Passes grid
	First                     *chart.Figure
	Commands                  []string
	Links                     []Link
}

func newRehydration(r Rehydration) rehydrationView {
	v := rehydrationView{
		Witnesses: witnessTable(r.Rehydrate), Stored: witnessTable(r.Stored), First: firstFigure(r.Passes), Passes: passTable(r.Passes),
		Commands: r.Commands, Links: r.Links, Fault: r.Fault,
	}
	v.Absent = missing(r.Section, r.Run != "")
	if r.Run != "" {
		v.Verdict = fmt.Sprintf("That KV blocks were read back from the SSD: %s. That they were written to it: %s.", gradeWords(r.Rehydrate), gradeWords(r.Stored))
		v.Class = gradeClass(r.Rehydrate.Grade)
	}
	return v
}

// witnessTable lists what a signal rests on.
func witnessTable(s Signal) grid {
	g := grid{Header: []string{"witness", "seen", "if it holds", "agrees"}}
	for _, w := range s.Witnesses {
		class := ""
		if !w.Agrees {
			class = "fault"
		}
		g.add(class, witnessWords(w.Name), amount(w.Value, w.Unit), expected(w), yesNo(w.Agrees))
	}
	return g
}

func passTable(passes []Pass) grid {
	g := grid{Header: []string{"KV cache of the prompt", "n", "median", "least", "most", "run"}, words: []int{5}}
	for _, p := range passes {
		if n := len(p.Seconds); n > 0 {
			g.add("", p.Name, fmt.Sprintf("%d requests", n), chart.FormatSeconds(median(p.Seconds)), chart.FormatSeconds(slices.Min(p.Seconds)), chart.FormatSeconds(slices.Max(p.Seconds)), p.Run)
		}
	}
	return g
}

// judgedView is a run whose answers were compared.
type judgedView struct {
	Title, Found, Grade, Class, Says string
	Absent, Fault                    string
	Witnesses                        grid
	Examples                         []Example
	More                             int
	Links                            []Link
}

// mostExamples is how many prompts are shown, and mostLetters how much of an answer.
const (
	mostExamples = 2
	mostLetters  = 160
)

func judgedViews(o Outputs) []judgedView {
	var all []judgedView
	for _, r := range o.Runs {
		all = append(all, newJudged(r))
	}
	return all
}

func newJudged(r Judged) judgedView {
	v := judgedView{Title: r.Title, Absent: r.Absent, Fault: r.Fault, Links: r.Links, Witnesses: witnessTable(r.Match), Grade: "output_match: " + gradeWords(r.Match), Class: gradeClass(r.Match.Grade)}
	differs := r.Match.Grade == "contradicted"
	switch {
	case r.Run == "":
		v.Found, v.Grade, v.Class = "Not judged", "no run", "note"
		v.Absent = missing(Section{Absent: r.Absent, Fault: r.Fault}, false)
		return v
	case r.Wrong && differs:
		v.Found = "Caught"
	case r.Wrong:
		v.Found, v.Class = "Not caught", "bad"
	case differs:
		v.Found = "Accused, and nothing is wrong"
	default:
		v.Found = "Not accused"
	}
	v.Says = fmt.Sprintf("Run %s; uma-load ended with exit code %d", r.Run, r.Exit)
	if r.Exit != r.Wanted {
		v.Says += fmt.Sprintf(", and should have with %d", r.Wanted)
	}
	v.Says += ", and calls the run " + map[bool]string{true: "valid", false: "invalid"}[r.Valid] + "."
	if differs && r.Valid {
		v.Says += " Valid says that the client measured well; it is output_match that says what the cache did."
	}
	for i, e := range r.Examples {
		if i == mostExamples {
			v.More = len(r.Examples) - mostExamples
			break
		}
		v.Examples = append(v.Examples, Example{e.Prompt, excerpt(e.Expected), excerpt(e.Seen)})
	}
	return v
}

// excerpt is the beginning of an answer, in one line.
func excerpt(text string) string {
	letters := []rune(strings.Join(strings.Fields(text), " "))
	if len(letters) <= mostLetters {
		return string(letters)
	}
	return string(letters[:mostLetters]) + "…"
}
