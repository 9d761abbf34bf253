package demo

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/render"
)

func signed(unit compare.Unit, v float64) string {
	if v > 0 {
		return "+" + unit.Text(v)
	}
	return strings.Replace(unit.Text(v), "-", "−", 1)
}

// short formats bytes in GiB with one decimal, for figures and dense tables.
func short(bytes float64) string { return fmt.Sprintf("%.1f", bytes/(1<<30)+0) }

func shortSigned(bytes float64) string {
	text := short(math.Abs(bytes))
	switch {
	case text == "0.0":
		return text
	case bytes < 0:
		return "−" + text
	}
	return "+" + text
}

// interval formats the confidence interval of a difference, in the unit of its figures.
func interval(unit compare.Unit, ci *compare.Interval) string {
	if ci == nil {
		return "no interval"
	}
	return fmt.Sprintf("95 %% CI %s to %s", signed(unit, ci[0]), signed(unit, ci[1]))
}

// verdictTone returns the colour of a verdict.
func verdictTone(m compare.Metrics) render.Tone {
	switch {
	case m.Confounded:
		return render.Note
	case m.Verdict == compare.Worse:
		return render.Bad
	case m.Verdict == compare.Equivalent, m.Verdict == compare.Irrelevant, m.Verdict == compare.Better:
		return render.Good
	}
	return render.Note
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
		return render.None
	}
	return t.UTC().Format("15:04:05")
}

// ofOrder reports whether a warning code is about the order of runs.
func ofOrder(code string) bool {
	return slices.Contains([]string{compare.CodeBlockedOrder, compare.CodeFirstAfterSwitch, compare.CodeDrift, compare.CodeOrderEffect}, code)
}

// warnings returns those of a comparison and of its parts, each once. Those on the order come first.
func warnings(c Campaign) []compare.Warning {
	if c.Comparison == nil {
		return nil
	}
	all := slices.Clone(c.Comparison.Warnings)
	for _, s := range c.Comparison.Strata {
		all = append(all, s.Warnings...)
		for _, p := range s.Pairs {
			all = append(all, p.Warnings...)
		}
	}
	var once []compare.Warning
	for _, w := range all {
		if !slices.Contains(once, w) {
			once = append(once, w)
		}
	}
	slices.SortStableFunc(once, func(a, b compare.Warning) int { return rank(a) - rank(b) })
	return once
}

func rank(w compare.Warning) int {
	if ofOrder(w.Code) {
		return 0
	}
	return 1
}
