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
	fix  string // "" if there is no remedy
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
	if other.fix == "" {
		other.fix = one.fix
	}
}

// addOutcome adds why a collector did not read all its figures.
func (g *gaps) addOutcome(outcome collector.Outcome) {
	name := outcome.Spec.Name
	if outcome.State != collector.OK {
		g.add(gap{what: fmt.Sprintf("Collector %s is %s", name, outcome.State), why: outcome.Reason()})
	}
	for _, need := range outcome.Unmet() {
		g.add(gap{what: fmt.Sprintf("Collector %s lacks %s: %s", name, need.Name, need.Cost), fix: need.Fix, need: need.Name})
	}
}

// addFix adds the remedy for a reason.
func (g gaps) addFix(why, fix string) {
	for i := range g {
		if g[i].why == why {
			g[i].fix = fix
		}
	}
}

// addLine adds why a line of the ledger is missing. If the reason is a need that a collector has already reported, that
// one sentence is enough.
func (g *gaps) addLine(line, rest string, why error) {
	one := gap{what: fmt.Sprintf("Line %s is not known, its bytes are in %s", line, rest), why: why.Error()}
	if errors.Is(why, hostfs.ErrNotHostCgroups) {
		one.fix = g.take("host_cgroups")
	}
	g.add(one)
}

// take removes the gaps of a need and returns its remedy.
func (g *gaps) take(need string) (fix string) {
	*g = slices.DeleteFunc(*g, func(one gap) bool {
		if one.need == need {
			fix = one.fix
		}
		return one.need == need
	})
	return fix
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
		if one.fix != "" {
			text += " Fix: " + strings.TrimSuffix(one.fix, ".") + "."
		}
		lines = append(lines, oneLine(text))
	}
	return lines
}
