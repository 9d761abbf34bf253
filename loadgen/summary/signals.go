package summary

import (
	"fmt"
	"math"
	"strings"

	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/format"
)

// FormatRange formats a range.
func FormatRange(r evidence.Range) string {
	if math.IsInf(r[1], 1) {
		return "at least " + format.Digits(r[0])
	}
	if r[0] == r[1] {
		return format.Digits(r[0])
	}
	return format.Digits(r[0]) + " to " + format.Digits(r[1])
}

// judgeOutputMatch makes a run invalid whose answers are not those of the model.
func judgeOutputMatch(e grounds, _ float64) verdict {
	signal := e.in.signals().OutputMatch
	switch signal.Grade {
	case evidence.NotObservable:
		return verdict{}
	case evidence.Contradicted:
		return verdict{true, differing(signal)}
	}
	return verdict{known: true}
}

// differing describes in figures how outputs differ.
func differing(signal evidence.Signal) string {
	var parts []string
	for _, w := range signal.Figures {
		if !w.Agrees {
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s: %s %s", strings.ReplaceAll(w.Name, "_", " "), format.Digits(w.Value), w.Unit))+", expected "+FormatRange(w.Expected))
		}
	}
	return "answers from the cache are not those that were computed: " + strings.Join(parts, "; ")
}

// resetSignals names the signals that cannot be graded because a counter was reset.
func resetSignals(s evidence.Signals) []string {
	var names []string
	for _, signal := range s.Named() {
		if signal.Reason == evidence.CountersReset {
			names = append(names, "a counter that "+signal.Name+" rests on")
		}
	}
	return names
}

// signals returns the signals of the run; in a run without any, none is observable.
func (in inputs) signals() evidence.Signals {
	if in.Evidence == nil {
		return notObservable()
	}
	return *in.Evidence
}
