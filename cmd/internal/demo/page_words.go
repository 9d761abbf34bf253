package demo

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
)

func signed(unit figure.Unit, v float64) string {
	if v > 0 {
		return "+" + unit.Text(v)
	}
	return unit.Text(v)
}

// short formats bytes in GiB with one decimal, for figures and dense tables.
func short(bytes float64) string { return fmt.Sprintf("%.1f", bytes/(1<<30)+0) }

func shortSigned(bytes float64) string {
	text := short(math.Abs(bytes))
	switch {
	case text == "0.0":
		return text
	case bytes < 0:
		return "-" + text
	}
	return "+" + text
}

// gradeTone returns the colour of a grade. "contradicted" is not an error colour: it is a finding.
func gradeTone(grade evidence.Grade) render.Tone {
	switch grade {
	case evidence.Proven:
		return render.Good
	case evidence.Contradicted:
		return render.Bad
	}
	return render.Note
}

// gradeWords returns a grade with the reason why it is not a better one.
func gradeWords(s evidence.Signal) string {
	if s.Grade == "" {
		return "not known"
	}
	text := strings.ReplaceAll(string(s.Grade), "_", " ")
	if s.Reason != "" {
		text += " (" + string(s.Reason) + ")"
	}
	return text
}

// duration formats a duration in words.
func duration(d time.Duration) string {
	d = d.Round(time.Second)
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	if d < time.Hour {
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// timeOfDay formats a time of day.
func timeOfDay(t time.Time) string {
	if t.IsZero() {
		return format.None
	}
	return t.UTC().Format("15:04:05")
}
