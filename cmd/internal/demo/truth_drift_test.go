package demo

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	hostsim "github.com/umascope/umascope/exporter/sim"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

// How a machine drifts: somebody's process takes more and more memory, and the room gets warmer
// from run to run.
const (
	leakPerSecond = 500 << 20
	mostLeaked    = 24 * gib
	warmerByRun   = 3.0
)

// leaking has a process take more and more memory.
func (s *specimen) leaking(ctx context.Context) error {
	process, err := s.host.Start(hostsim.Program{Comm: "leaky", Cgroup: "/system.slice/leaky.service"})
	if err != nil {
		return err
	}
	began := s.host.Now()
	s.running.Go(func() {
		defer process.Stop()
		for s.wait(ctx, time.Second) == nil {
			leaked := int64(s.host.Now().Sub(began).Seconds() * leakPerSecond)
			process.Demand(hostsim.Demand{AnonBytes: min(leaked, mostLeaked)})
		}
	})
	return nil
}

// The arms of a drifting machine are equal, so that their names mean nothing: the same runs are a campaign in blocks by
// one label, and one in turns by another.
const (
	byHalf = "half"
	byTurn = "turn"
)

// inHalves are the comparisons of equal arms over the same runs.
type inHalves map[string]compare.Comparison

// driftingRuns makes the runs of one machine.
func (s *specimen) driftingRuns(ctx context.Context) (inHalves, error) {
	if err := s.leaking(ctx); err != nil {
		return nil, err
	}
	for i := range 2 * iterations {
		if err := s.host.SetAmbient(usualRoom + warmerByRun*float64(i)); err != nil {
			return nil, err
		}
		half, turn := "a", "a"
		if i >= iterations {
			half = "b"
		}
		if i%4 == 1 || i%4 == 2 {
			turn = "b"
		}
		a := nativeArm()
		a.dropsCaches = true
		labels := []string{"campaign=truth", fmt.Sprintf("pair=%d", i/2), byHalf + "=" + half, byTurn + "=" + turn}
		if _, _, err := s.measured(ctx, a, labels, grownLoad()...); err != nil {
			return nil, err
		}
	}
	out := inHalves{}
	for _, by := range []string{byHalf, byTurn} {
		c, err := s.compared(ctx, by, "a")
		if err != nil {
			return nil, err
		}
		out[by] = c
	}
	return out, nil
}

// drifting: every run starts with the same more memory taken than the one before. In blocks of four the halves differ by
// four such steps and spread by 1.3 of them: 4.4 standard errors, which t with 6 degrees of freedom calls a difference.
// Its verdict has to be confounded, whatever the figure. In turns each pair has the step the other way round than the
// one before it, and what is found is chance: in 5 of 100 of the figure that decides, and in 5 of 100 of any other
// (Holm).
func drifting(t *testing.T, seeds []uint64) {
	var mutex sync.Mutex
	var made []inHalves
	eachSeed(t, seeds, func(ctx context.Context, s *specimen) error {
		out, err := s.driftingRuns(ctx)
		if err != nil {
			return err
		}
		mutex.Lock()
		defer mutex.Unlock()
		made = append(made, out)
		return nil
	})
	memory := func(by string, so func(compare.Metrics) bool) int {
		n := 0
		for _, one := range made {
			if m, err := row(one[by], figure.MemoryOccupiedWithoutKV); err != nil {
				t.Error(err)
			} else if so(m) {
				n++
			}
		}
		return n
	}
	comparisons := func(by string, so func(compare.Comparison) bool) int {
		n := 0
		for _, one := range made {
			if so(one[by]) {
				n++
			}
		}
		return n
	}
	n := len(made)
	often(t, "in blocks, a difference of memory that time may have made", memory(byHalf, func(m compare.Metrics) bool { return m.Verdict == compare.Confounded }), n, 0.90)
	never(t, "in blocks, a finding without reserve, of any figure", comparisons(byHalf, anyPlain), n)
	always(t, "in blocks, a warning of them", comparisons(byHalf, func(c compare.Comparison) bool { return warned(c, compare.CodeBlockedOrder) }), n)

	seldom(t, "in turns, more or less memory without reserve", memory(byTurn, plain), n, 0.05)
	often(t, "in turns, equivalent or inconclusive", memory(byTurn, func(m compare.Metrics) bool {
		return m.Verdict == compare.Equivalent || m.Verdict == compare.Inconclusive
	}), n, 0.95)
	seldom(t, "in turns, a finding without reserve, of any figure", comparisons(byTurn, anyPlain), n, 0.10)
	never(t, "in turns, a warning of blocks", comparisons(byTurn, func(c compare.Comparison) bool { return warned(c, compare.CodeBlockedOrder) }), n)
}
