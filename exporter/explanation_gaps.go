package exporter

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/hostfs"
)

// gap is a figure that a scrape could not read.
type gap struct {
	what string // a sentence without its end
	why  string // "" where the sentence contains it
	mend string // "" if there is no remedy
	need string // name of the need that is not met, "" for other gaps
}

// gaps are the missing figures, one sentence for each reason: a machine without cgroup v2 lacks a collector and a line
// of the ledger, but has only one remedy.
type gaps []gap

// add merges gaps that have the same reason.
func (g *gaps) add(one gap) {
	at := slices.IndexFunc(*g, func(other gap) bool { return one.why != "" && other.why == one.why })
	if at < 0 {
		*g = append(*g, one)
		return
	}
	other := &(*g)[at]
	other.what += "; " + strings.ToLower(one.what[:1]) + one.what[1:]
	if other.mend == "" {
		other.mend = one.mend
	}
}

// addOutcome adds why a collector did not read all its figures.
func (g *gaps) addOutcome(outcome collector.Outcome) {
	name := outcome.Spec.Name
	if outcome.State != collector.OK {
		g.add(gap{what: fmt.Sprintf("Collector %s is %s", name, outcome.State), why: outcome.Reason()})
	}
	for _, need := range outcome.Unmet() {
		g.add(gap{what: fmt.Sprintf("Collector %s lacks %s: %s", name, need.Name, need.Cost), mend: need.Mend, need: need.Name})
	}
}

// addMend adds the remedy for a reason.
func (g gaps) addMend(why, mend string) {
	for i := range g {
		if g[i].why == why {
			g[i].mend = mend
		}
	}
}

// addLine adds why a line of the ledger is missing. If the reason is a need that a collector has already reported, that
// one sentence is enough.
func (g *gaps) addLine(line, rest string, why error) {
	one := gap{what: fmt.Sprintf("Line %s is not known, its bytes are in %s", line, rest), why: why.Error()}
	if errors.Is(why, hostfs.ErrNotHostCgroups) {
		one.mend = g.take("host_cgroups")
	}
	g.add(one)
}

// take removes the gaps of a need and returns its remedy.
func (g *gaps) take(need string) (mend string) {
	*g = slices.DeleteFunc(*g, func(one gap) bool {
		if one.need == need {
			mend = one.mend
		}
		return one.need == need
	})
	return mend
}

// sentences returns one line for each gap.
func (g gaps) sentences() []string {
	var lines []string
	for _, one := range g {
		text := one.what
		if one.why != "" {
			text += ": " + one.why
		}
		text = strings.TrimSuffix(text, ".") + "."
		if one.mend != "" {
			text += " Mend: " + strings.TrimSuffix(one.mend, ".") + "."
		}
		lines = append(lines, oneLine(text))
	}
	return lines
}
