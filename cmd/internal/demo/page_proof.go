package demo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/render"
)

// rehydration is the section on KV blocks that came back from a drive.
func rehydration(r Rehydration) []render.Block {
	blocks := []render.Block{
		section("rehydration", "Did KV blocks come back from the SSD?", "bytes: machine", "latency: wall time"),
		text("eviction_replay sends prompts, pushes them out of GPU and host memory with others, and sends them again. A counter of the cache alone proves nothing: the bytes have to be seen by the process and by the drive too."),
		absent(missing(r.Section, r.Run != "")), fault(r.Fault),
	}
	if r.Run != "" {
		blocks = append(blocks, render.Notice(gradeTone(r.Rehydrate.Grade),
			render.Strong(fmt.Sprintf("That KV blocks were read back from the SSD: %s. That they were written to it: %s.", gradeWords(r.Rehydrate), gradeWords(r.Stored)))))
	}
	return append(blocks, observationTable(r.Rehydrate), render.Figures{firstFigure(r.Passes)}, passTable(r.Passes),
		render.Details{Summary: "Witnesses of what was written to the SSD", Blocks: []render.Block{observationTable(r.Stored)}}, commands(r.Commands), links(r.Links))
}

// outputs is the section on answers from a cache with wrong blocks.
func outputs(o Outputs) []render.Block {
	cards := render.Group{Class: "cards"}
	for _, r := range o.Runs {
		cards.Blocks = append(cards.Blocks, newJudged(r).card())
	}
	return []render.Block{
		section("wrong", "Would wrong KV be noticed?", "answers: no axis of time"),
		text("The same run twice: once against the engine as it is, once against one that was told to bring back other bytes than it had stored, while every counter goes on to report a hit. Each answer from the cache is held against the one that was computed, beside how often the engine differs from itself without a cache."),
		absent(missing(o.Section, len(o.Runs) > 0)), fault(o.Fault), cards, commands(o.Commands),
	}
}

// observationTable lists the observations of a signal.
func observationTable(s evidence.Signal) render.Table {
	g := render.Table{Header: []string{"witness", "seen", "if it holds", "agrees"}}
	for _, w := range s.Figures {
		tone := render.Tone("")
		if !w.Agrees {
			tone = render.Bad
		}
		g.AddIn(tone, observationTitle(w.Name), amount(w.Value, w.Unit), expected(w), yesNo(w.Agrees))
	}
	return g
}

func passTable(passes []Pass) render.Table {
	g := render.Table{Header: []string{"KV cache of the prompt", "n", "median", "least", "most", "run"}, Words: []int{5}}
	for _, p := range passes {
		if n := len(p.Seconds); n > 0 {
			g.Add(p.Name, fmt.Sprintf("%d requests", n), render.FormatSeconds(median(p.Seconds)), render.FormatSeconds(slices.Min(p.Seconds)), render.FormatSeconds(slices.Max(p.Seconds)), p.Run)
		}
	}
	return g
}

// judged is the result for a run whose answers were compared.
type judged struct {
	Judged
	Found, Grade, Text string
	Tone               render.Tone
}

// mostExamples is how many prompts are shown, and mostLetters how many letters of an answer.
const (
	mostExamples = 2
	mostLetters  = 160
)

func newJudged(r Judged) judged {
	j := judged{Judged: r, Grade: "output_match: " + gradeWords(r.Match), Tone: gradeTone(r.Match.Grade)}
	differs := r.Match.Grade == evidence.Contradicted
	switch {
	case r.Run == "":
		j.Found, j.Grade, j.Tone = "Not judged", "no run", render.Note
		j.Absent = missing(Section{Absent: r.Absent, Fault: r.Fault}, false)
		return j
	case r.Wrong && differs:
		j.Found = "Caught"
	case r.Wrong:
		j.Found, j.Tone = "Not caught", render.Bad
	case differs:
		j.Found = "Accused, and nothing is wrong"
	default:
		j.Found = "Not accused"
	}
	j.Text = fmt.Sprintf("Run %s; uma-load ended with exit code %d", r.Run, r.Exit)
	if r.Exit != r.Wanted {
		j.Text += fmt.Sprintf(", and should have with %d", r.Wanted)
	}
	j.Text += ", and calls the run " + map[bool]string{true: "valid", false: "invalid"}[r.Valid] + "."
	if differs && r.Valid {
		j.Text += " Valid says that the client measured well; it is output_match that says what the cache did."
	}
	return j
}

func (j judged) card() render.Group {
	blocks := []render.Block{
		render.H3(j.Title), render.Paragraph{Class: "big", Spans: []render.Span{render.Plain(j.Found + " "), render.Badge(j.Tone, j.Grade)}},
		render.Small(j.Text), absent(j.Absent), fault(j.Fault), observationTable(j.Match),
	}
	if n := len(j.Examples); n > 0 {
		heading := "Prompts that were answered otherwise from the cache"
		if n > mostExamples {
			heading += fmt.Sprintf("; %d more are in the run", n-mostExamples)
		}
		blocks = append(blocks, render.H4(heading))
		for _, e := range j.Examples[:min(n, mostExamples)] {
			blocks = append(blocks, render.Small(fmt.Sprintf("prompt %d, computed", e.Prompt)), quotedAnswer("", e.Expected),
				render.Small(fmt.Sprintf("prompt %d, from the cache", e.Prompt)), quotedAnswer(render.Bad, e.Seen))
		}
	}
	return render.Group{Class: "card", Blocks: append(blocks, links(j.Links))}
}

func quotedAnswer(tone render.Tone, answer string) render.Paragraph {
	return render.Paragraph{Class: "quoted", Tone: tone, Spans: []render.Span{{Text: excerpt(answer), Style: "quote"}}}
}

// excerpt returns the beginning of an answer, in one line.
func excerpt(text string) string {
	letters := []rune(strings.Join(strings.Fields(text), " "))
	if len(letters) <= mostLetters {
		return string(letters)
	}
	return string(letters[:mostLetters]) + "…"
}
