package comparison

import (
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/render"
)

// madeFacts returns when the runs began, in UTC, and the versions of the engines and of uma-load that made them, as far
// as the pairs have them.
func madeFacts(c compare.Comparison) []render.Fact {
	var facts []render.Fact
	if period := startedText(c); period != "" {
		facts = append(facts, render.Fact{Name: "started", Value: period})
	}
	for _, item := range []string{compare.FactEngine, compare.FactProgram} {
		if values := sharedValues(c, item); len(values) > 0 {
			facts = append(facts, render.Fact{Name: item, Value: strings.Join(values, "; ")})
		}
	}
	return facts
}

// madeLine returns the same in one line.
func madeLine(c compare.Comparison) string {
	var parts []string
	for _, f := range madeFacts(c) {
		parts = append(parts, f.Name+" "+f.Value)
	}
	return strings.Join(parts, ", ")
}

// startedText formats the range of the starts of runs; empty where none has a date.
func startedText(c compare.Comparison) string {
	var first, last time.Time
	for _, s := range c.Strata {
		for _, arm := range s.Arms {
			for _, r := range arm.Runs {
				if r.StartedAt.IsZero() {
					continue
				}
				if first.IsZero() || r.StartedAt.Before(first) {
					first = r.StartedAt
				}
				if r.StartedAt.After(last) {
					last = r.StartedAt
				}
			}
		}
	}
	if first.IsZero() {
		return ""
	}
	const form = "2006-01-02 15:04:05"
	from, to := first.UTC().Format(form), last.UTC().Format(form)
	if from == to {
		return from + " UTC"
	}
	return from + " to " + to + " UTC"
}

// sharedValues returns the values of an item over all arms, each once, in their order.
func sharedValues(c compare.Comparison, item string) []string {
	var values []string
	for _, s := range c.Strata {
		for _, p := range s.Pairs {
			for _, f := range p.Fairness {
				if f.Item != item {
					continue
				}
				for _, v := range []string{f.A, f.B} {
					if !slices.Contains(values, v) {
						values = append(values, v)
					}
				}
			}
		}
	}
	return values
}
