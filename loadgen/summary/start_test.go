package summary

import (
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary/testrun"

	"github.com/umascope/umascope/loadgen/telemetry"
)

func TestTheLedgerAtStartIsNotThatOfTheCooldown(t *testing.T) {
	for name, c := range map[string]struct {
		phases []telemetry.Phase
		start  bool
	}{
		"an engine that is started":    {[]telemetry.Phase{{Name: "cooldown"}, {Name: "start", AtNS: 2e9}, {Name: "load", AtNS: 3e9}, {Name: "ready", AtNS: 4e9}, {Name: "measure", AtNS: 5e9}}, true},
		"one that was there before it": {[]telemetry.Phase{{Name: "cooldown"}, {Name: "ready", AtNS: 2e9}, {Name: "measure", AtNS: 5e9}}, false},
	} {
		in := input(t)
		in.Phases = []rundir.Span{{Name: "measure", StartNS: 5e9, EndNS: 15e9}}
		// What nothing explains grows by 1 GiB a second, so that a moment can be told from another.
		page := testrun.Page{Mode: "live", Rest: func(seconds float64) float64 { return seconds * testrun.GiB }}
		in.Telemetry = testrun.Sampled(t, map[string]testrun.Page{"spark": page}, c.phases, 15*time.Second)
		at := summarize(t, in, testrun.Steady(40)...).Memory.LedgerAt
		if (at.Start != nil) != c.start || at.Ready == nil {
			t.Errorf("%s: start %v, ready %v", name, at.Start, at.Ready)
		}
		if c.start && (at.Start["unattributed"] != 2*testrun.GiB || at.Ready["unattributed"] != 5*testrun.GiB) {
			t.Errorf("%s: %v at the start, %v when it was ready", name, at.Start["unattributed"], at.Ready["unattributed"])
		}
	}
}
