package demo

import (
	"fmt"

	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/render/report"
)

// rehydration is the section on KV blocks that came back from a drive.
func rehydration(r Rehydration) []render.Block {
	blocks := []render.Block{
		section("rehydration", "Did KV blocks come back from the SSD?"),
		text("eviction_replay sends prompts, pushes them out of GPU and host memory with others, and sends them again. A counter of the cache alone proves nothing: the bytes have to be seen by the process and by the drive too."),
		absent(missing(r.Section, r.Run != nil)), fault(r.Fault),
	}
	if r.Run != nil {
		back, stored := r.Run.Signals.SSDRehydrate, r.Run.Signals.SSDOffload
		blocks = append(blocks,
			render.Notice(gradeTone(back.Grade), render.Strong(fmt.Sprintf("That KV blocks were read back from the SSD: %s. That they were written to it: %s.", gradeWords(back), gradeWords(stored)))),
			text("The warm phases compute the KV cache of each prompt, the replay phases send the same prompts after they were pushed out. Which phase is faster can be read, not by how much a Spark would be:"),
			report.PhaseTable(*r.Run), render.Details{Summary: "Which counters agree", Blocks: []render.Block{report.SignalTable(r.Run.Signals)}})
	}
	return append(blocks, commands(r.Commands), links(r.Links))
}

// outputs is the section on answers from a cache with wrong blocks.
func outputs(o Outputs) []render.Block {
	cards := render.Group{Class: "cards"}
	for _, r := range o.Runs {
		cards.Blocks = append(cards.Blocks, newJudged(r).card())
	}
	return []render.Block{
		section("wrong", "Would wrong KV be noticed?"),
		text("The same run twice: once against the engine as it is, once against one that was told to bring back other bytes than it had stored, while every counter goes on to report a hit. Each answer from the cache is held against the one that was computed, beside how often the engine differs from itself without a cache."),
		absent(missing(o.Section, len(o.Runs) > 0)), fault(o.Fault), cards, commands(o.Commands),
	}
}

// judged is the result for a run whose answers were compared.
type judged struct {
	Judged
	Found, Grade, Text string
	Tone               render.Tone
}

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
		render.Small(j.Text), absent(j.Absent), fault(j.Fault),
	}
	return render.Group{Class: "card", Blocks: append(blocks, links(j.Links))}
}
