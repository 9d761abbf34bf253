//go:build proof

package demo

import (
	"runtime/debug"
	"sync"
	"testing"
)

// Whether the analysis finds the truth can only be seen where the truth is known: on simulated machines, whose own
// account (accounts, Truth) no program of the project reads. Machines of several seeds each serve a simulated engine;
// uma-load makes runs of it with the telemetry of the real exporter and compares them, as anybody's runs are. What it
// says is then held against what was so.
//
// The truth of the statistics alone is tested in loadgen/campaign, where machines are made up and 200 campaigns cost
// nothing.
func TestTheAnalysisFindsTheTruthOfTheSimulator(t *testing.T) {
	// Thousands of short pages and reports: collecting them less often takes a fifth of the processor time away.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	all := newSpecimens(t)
	var running sync.WaitGroup // of its own, since most of it is waiting: subtests in parallel are as many as processors
	for _, one := range []struct {
		name string
		find func(*testing.T, *specimens)
	}{
		{"what came back from the drive, and whether it was right", tiers}, // these take longest
		{"a difference and its cause are found where runs begin alike", runsBeginAlike},
		{"in blocks with caches kept everything found is one of time", blocksWithCaches},
		{"in turns with caches kept nothing is found", turnsWithCaches},
		{"a machine that drifts makes no difference of equal arms", drifting},
	} {
		running.Go(func() { t.Run(one.name, func(t *testing.T) { one.find(t, all) }) })
	}
	running.Wait()
}
