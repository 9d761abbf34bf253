package comparison

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
)

// Verdict is the verdict of a metric that decides, in words.
type Verdict struct {
	Tone  render.Tone
	Where string // the stratum
	Text  string // what was found
	Means string // how to read it, and its limits
}

// Block returns a verdict for a page.
func (v Verdict) Block() render.Paragraph {
	spans := []render.Span{render.Strong(v.Text), render.Plain(" " + v.Means)}
	if v.Where != "" && v.Where != allRuns {
		spans = append([]render.Span{render.Tag(v.Where), render.Plain(" ")}, spans...)
	}
	return render.Notice(v.Tone, spans...)
}

// Verdicts returns the verdicts of the primary metrics of all strata.
func Verdicts(c compare.Comparison) []Verdict {
	var all []Verdict
	for _, s := range c.Strata {
		for _, pair := range s.Pairs {
			for _, m := range pair.Metrics {
				if m.Primary {
					all = append(all, newVerdict(stratumName(c, s), s, pair, m))
				}
			}
		}
	}
	return all[:min(len(all), mostStrata)]
}

func newVerdict(where string, s compare.Stratum, pair compare.Pair, m compare.Metrics) Verdict {
	v := Verdict{Tone: render.Note, Where: where}
	unit := figure.Unit(m.Unit)
	v.Text = fmt.Sprintf("%s, %s against %s: %s", keyOf(m).title(), pair.B, pair.A, VerdictText(m))
	if m.A.Mean != nil && m.B.Mean != nil {
		v.Text += fmt.Sprintf(". %s against %s", unit.Text(*m.B.Mean), unit.Text(*m.A.Mean))
	}
	if change := changeWords(m); change != "" {
		v.Text += ", " + change
	}
	v.Text += fmt.Sprintf(", n = %d and %d runs.", m.B.N, m.A.N)
	v.Means = meaning(m)
	v.Tone = toneOf(m.Verdict)
	if m.Verdict == compare.Confounded {
		v.Means = orderAs(m) + ": whatever changed with time is in this difference too, and these runs cannot tell the two apart. More runs in the same order do not help."
	}
	carry, text := gradeWords(s, pair)
	if v.Means += " " + text; !carry && v.Tone == render.Good {
		v.Tone = render.Note
	}
	return v
}

// gradeWords describes how many runs of a pair support a decision, and why the others do not. Carry is false if none
// does.
func gradeWords(s compare.Stratum, pair compare.Pair) (carry bool, text string) {
	why := map[string]int{}
	runs := slices.Concat(s.Arms[pair.A].Runs, s.Arms[pair.B].Runs)
	decision := 0
	for _, r := range runs {
		if r.Grade == compare.GradeDecision {
			decision++
		}
		for _, reason := range r.Why {
			why[reason]++
		}
	}
	switch {
	case decision == len(runs):
		return true, "All runs are of decision grade."
	case decision == 0:
		text = "No run is of decision grade"
	default:
		text = fmt.Sprintf("%d of %d runs are of decision grade", decision, len(runs))
	}
	if reasons := commonest(why); reasons != "" {
		text += ": " + reasons
	}
	return decision > 0, text + "."
}

// changeWords formats the difference with its interval, relative for a metric analysed as ratios.
func changeWords(m compare.Metrics) string {
	unit := figure.Unit(m.Unit)
	switch {
	case m.RatioCI95 != nil && m.Ratio != nil:
		return fmt.Sprintf("%s (95 %% CI %s to %s)", figure.Change(*m.Ratio), figure.Change(m.RatioCI95[0]), figure.Change(m.RatioCI95[1]))
	case m.CI95 != nil && m.Difference != nil:
		return fmt.Sprintf("%s (95 %% CI %s to %s)", signed(unit, *m.Difference), signed(unit, m.CI95[0]), signed(unit, m.CI95[1]))
	case m.Difference != nil:
		return signed(unit, *m.Difference)
	default:
		return ""
	}
}

func signed(unit figure.Unit, v float64) string {
	if v > 0 {
		return "+" + unit.Text(v)
	}
	return unit.Text(v)
}

// meaning explains a verdict to a reader who doubts it.
func meaning(m compare.Metrics) string {
	margin := "±" + m.Margin.Text(figure.Unit(m.Unit))
	switch m.Verdict {
	case compare.Equivalent, compare.Irrelevant, compare.Better, compare.Worse, compare.Different:
		if m.Constant {
			return "The difference is the same in all runs: there is no spread to test by, and the verdict goes by the difference and the margin of " + margin + "."
		}
	}
	switch m.Verdict {
	case compare.Equivalent:
		return "That the difference is less than the margin of " + margin + " is shown at 5 %: if there is one, it does not matter."
	case compare.Irrelevant:
		return "There is a difference, and that it is less than the margin of " + margin + " is shown at 5 %: it does not matter."
	case compare.Better, compare.Worse, compare.Different:
		return "The interval lies wholly beyond the margin of " + margin + "."
	case compare.BetterExtentOpen, compare.WorseExtentOpen, compare.DifferentExtentOpen:
		text := "There is a difference: the interval excludes 0. It crosses the margin of " + margin + ", so these runs do not show whether the difference matters."
		if needed := m.NeededText(); needed != "" {
			text += " About so many " + needed + "."
		}
		return text
	case compare.Inconclusive:
		text := "These runs show neither a difference nor, within " + margin + ", that there is none."
		if needed := m.NeededText(); needed != "" {
			text += " About so many " + needed + "."
		}
		return text
	default:
		return "A difference and no more: with one run of an arm nothing can be tested."
	}
}

// VerdictText formats a verdict with its conditions.
func VerdictText(m compare.Metrics) string {
	text := m.Verdict.Text()
	if m.VerdictIgnoringOrder != "" {
		text += " (otherwise " + m.VerdictIgnoringOrder.Text() + ")"
	}
	if m.Verdict == compare.Undecided {
		text += " (" + whyUndecided(m) + ")"
	}
	if m.Constant {
		text += " (" + constantIn(m) + ")"
	}
	if lostToHolm(m) {
		text += " as one of many tests (Holm)"
	}
	return text
}

// whyUndecided returns the reason why only a difference can be given.
func whyUndecided(m compare.Metrics) string {
	if min(m.A.N, m.B.N) < 2 {
		return "n = 1"
	}
	return "not tested"
}

// constantIn names what does not vary.
func constantIn(m compare.Metrics) string {
	if m.A.SD != nil && m.B.SD != nil && *m.A.SD+*m.B.SD > 0 {
		return "the same in every pair"
	}
	return "runs do not vary"
}

// verdictClass returns the colour of a verdict in charts; its word is always shown next to it.
func verdictClass(m compare.Metrics) string {
	switch m.Verdict {
	case compare.Better, compare.BetterExtentOpen:
		return "c1"
	case compare.Worse, compare.WorseExtentOpen:
		return "c2"
	case compare.Different, compare.DifferentExtentOpen:
		return "c3"
	case compare.Equivalent, compare.Irrelevant:
		return "c0"
	default:
		return "c7"
	}
}

// orderAs returns why a metric is confounded with time.
func orderAs(m compare.Metrics) string {
	switch {
	case m.Drift == nil:
		return "The runs were made in blocks, one arm after the other"
	case m.Drift.Common:
		return "The runs alternate, one arm always second, and both arms drift"
	default:
		return "The difference between the arms drifts with time"
	}
}

// orderWords formats the order of a stratum with its sequence, and the pairs that its arms are tested by.
func orderWords(s compare.Stratum) string {
	text := "Order " + s.Order.Kind + ": " + sequence(s.Order.Sequence) + "."
	if s.Order.Boots > 1 {
		text += fmt.Sprintf(" The machine was booted %d times.", s.Order.Boots)
	}
	for _, pair := range s.Pairs {
		if pairs := pair.PairsText(); pairs != "" {
			text += " " + pairName(pair) + ": " + pairs + "."
		}
	}
	return text
}

// sequence shortens repetitions: native ×10, container ×10.
func sequence(arms []string) string {
	var parts []string
	for i := 0; i < len(arms); {
		n := i
		for n < len(arms) && arms[n] == arms[i] {
			n++
		}
		if n-i > 1 {
			parts = append(parts, fmt.Sprintf("%s ×%d", arms[i], n-i))
		} else {
			parts = append(parts, arms[i])
		}
		i = n
	}
	if len(parts) > 24 {
		parts = append(parts[:24], fmt.Sprintf("… (%d runs)", len(arms)))
	}
	return strings.Join(parts, ", ")
}

// allRuns is the stratum of a comparison without --within.
const allRuns = "All runs"

// stratumName formats the common labels of the runs of a stratum. A number has no meaning without its label.
func stratumName(c compare.Comparison, s compare.Stratum) string {
	var parts []string
	for _, label := range c.Within {
		text := s.Within[label]
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			text = label + " " + text
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return allRuns
	}
	return strings.Join(parts, ", ")
}

// identity returns the facts of what was compared.
func identity(c compare.Comparison) []render.Fact {
	runs, excluded := runsIn(c)
	facts := []render.Fact{{Name: "compared by", Value: c.By}, {Name: "baseline", Value: c.Baseline}, {Name: "arms", Value: strings.Join(c.Arms, ", ")}}
	if len(c.Within) > 0 {
		facts = append(facts, render.Fact{Name: "within", Value: strings.Join(c.Within, ", ")}, render.Fact{Name: "strata", Value: fmt.Sprint(len(c.Strata))})
	}
	facts = append(facts, render.Fact{Name: "runs", Value: fmt.Sprint(runs)})
	if excluded > 0 {
		facts = append(facts, render.Fact{Name: "left out as invalid", Value: fmt.Sprint(excluded)})
	}
	return facts
}

// notes returns the reasons for missing figures, each with its metrics.
func notes(pair compare.Pair) []string {
	var texts []string
	names := map[string][]string{}
	for _, m := range pair.Metrics {
		for _, note := range m.Notes {
			if names[note] == nil {
				texts = append(texts, note)
			}
			names[note] = append(names[note], m.Name)
		}
	}
	for i, text := range texts {
		texts[i] = strings.Join(slices.Compact(names[text]), ", ") + ": " + text
	}
	return texts
}
