package runner

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// alignedWithin bounds the difference of the clocks of two ranks by the sum of the two largest errors. One machine has
// one clock. It is nil if a kernel reports no clock error, or if a clock is not synchronised.
func (w *SharedRun) alignedWithin() *float64 {
	if w.alike(machineOfRank) {
		return new(0.0)
	}
	worst := map[string]float64{}
	for _, p := range w.Parts {
		clock := p.Manifest.Rank.Clock
		if clock == nil || !clock.Synchronised {
			return nil
		}
		host := machineOfRank(p.Manifest)
		worst[host] = max(worst[host], clock.MaxErrorSeconds)
	}
	errors := slices.Sorted(maps.Values(worst)) // at least two
	return new(errors[len(errors)-1] + errors[len(errors)-2])
}

// machineOfRank identifies a clock: the boot of a kernel, regardless of the names of containers.
func machineOfRank(m rundir.Manifest) string { return cmp.Or(m.Client.BootID, m.Client.Hostname) }

// stepSeconds is the step from which on a clock counts as set during the run: it and the clock of the run are not read
// at the same moment.
const stepSeconds = 0.001

// warnings returns the caveats of merging, and the warnings of the ranks themselves.
func (w *SharedRun) warnings(merged telemetry.Merged, tornRecords []int) []string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	all = append(all, w.clockWarnings()...)
	if !w.alike(func(m rundir.Manifest) string { return m.Labels[labelHost] }) {
		add("the ranks do not agree on which host was measured; taken is %q, that of rank %d: give all of them --label host=NAME", w.Parts[0].Manifest.Labels[labelHost], w.Parts[0].rank())
	}
	if !w.alike(func(m rundir.Manifest) string { return m.Program.String() }) {
		add("the ranks ran different builds of uma-load")
	}
	for _, name := range merged.Elsewhere {
		add("telemetry of %s: the ranks read it at different addresses; taken is that of rank %d", name, w.Parts[merged.From[name]].rank())
	}
	for _, part := range merged.Torn {
		add("telemetry of rank %d is torn: the last second may be missing", w.Parts[part].rank())
	}
	for _, rank := range tornRecords {
		add("the last record of rank %d is torn and left out: it was killed", rank)
	}
	return append(all, w.ownWarnings()...)
}

// clockWarnings reports how far the requests of different ranks may be shifted against each other.
func (w *SharedRun) clockWarnings() []string {
	var all []string
	if within := w.alignedWithin(); within == nil {
		all = append(all, fmt.Sprintf("how far the requests of different machines are shifted against each other is not known: by their kernels' word %s not synchronised; latencies are exact", numbered(w.unsynchronised())))
	} else if *within > 0 {
		all = append(all, fmt.Sprintf("the ranks ran on several machines: their requests may be shifted against each other by up to %s, by the kernels' word on their clocks; latencies are exact", roundedSeconds(*within)))
	}
	for _, p := range w.Parts {
		if step := p.Manifest.Client.ClockStepSeconds; step > stepSeconds || step < -stepSeconds {
			all = append(all, fmt.Sprintf("the clock of rank %d moved by %s during the run: its requests may be shifted by that much", p.rank(), roundedSeconds(step)))
		}
	}
	return all
}

func (w *SharedRun) unsynchronised() []int {
	var ranks []int
	for _, p := range w.Parts {
		if clock := p.Manifest.Rank.Clock; clock == nil || !clock.Synchronised {
			ranks = append(ranks, p.rank())
		}
	}
	return ranks
}

func roundedSeconds(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Microsecond)
}

// ownWarnings returns the warnings of the ranks, each under the numbers of its ranks, or once if all have it.
func (w *SharedRun) ownWarnings() []string {
	by := map[string][]int{}
	for _, text := range w.union(func(m rundir.Manifest) []string { return m.Judging.Warnings }) {
		for _, p := range w.Parts {
			if slices.Contains(p.Manifest.Judging.Warnings, text) {
				by[text] = append(by[text], p.rank())
			}
		}
	}
	var all []string
	for _, text := range w.union(func(m rundir.Manifest) []string { return m.Judging.Warnings }) {
		switch ranks := by[text]; {
		case len(ranks) == len(w.Parts):
			all = append(all, text)
		case len(ranks) == 1:
			all = append(all, fmt.Sprintf("rank %d: %s", ranks[0], text))
		default:
			all = append(all, fmt.Sprintf("ranks %s: %s", commaSeparated(ranks), text))
		}
	}
	return all
}
