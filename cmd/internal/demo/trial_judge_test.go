package demo

import (
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/summary"
)

// TestATrialCountsOnlyForWhatItIsFor: a valid run in which nothing came back from the drive shows nothing of the drive, and a
// run that is invalid for something else has not caught wrong answers.
func TestATrialCountsOnlyForWhatItIsFor(t *testing.T) {
	mismatch, lost := summary.Reason{Code: summary.CodeOutputMismatch}, summary.Reason{Code: summary.CodeTelemetryLost}
	for name, c := range map[string]struct {
		wrongKV bool
		exit    int
		reasons []summary.Reason
		grade   evidence.Grade
		want    string // of the complaint; empty if it counts
	}{
		"came back":                      {exit: exitDone, grade: evidence.Proven},
		"nothing is seen of the drive":   {exit: exitDone, grade: evidence.Consistent, want: "consistent"},
		"nothing came back":              {exit: exitDone, grade: evidence.Contradicted, want: "contradicted"},
		"not told":                       {exit: exitDone, want: "not told"},
		"the sound engine is invalid":    {exit: exitInvalid, reasons: []summary.Reason{lost}, grade: evidence.Proven, want: "exit code 3"},
		"caught":                         {wrongKV: true, exit: exitInvalid, reasons: []summary.Reason{mismatch}},
		"caught, and telemetry was lost": {wrongKV: true, exit: exitInvalid, reasons: []summary.Reason{lost, mismatch}},
		"invalid for something else":     {wrongKV: true, exit: exitInvalid, reasons: []summary.Reason{lost}, want: "telemetry_lost"},
		"not noticed":                    {wrongKV: true, exit: exitDone, grade: evidence.Proven, want: "not noticed"},
		"noticed, and called valid":      {wrongKV: true, exit: exitDone, reasons: []summary.Reason{mismatch}, want: "exit code 0"},
	} {
		trial := shownTrial{wrong: c.wrongKV, wanted: exitDone}
		if c.wrongKV {
			trial.wanted = exitInvalid
		}
		var r summary.Run
		r.Summary.InvalidReasons, r.Summary.Signals.SSDRehydrate.Grade = c.reasons, c.grade
		err := trial.judge(r, c.exit)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
