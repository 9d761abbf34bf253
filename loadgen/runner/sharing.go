package runner

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/traffic"
	"github.com/umascope/umascope/loadgen/workload"
)

// wholeID returns the name of the run that this process has a share of; for an undivided run, its own name.
func (l Load) wholeID(k Keep) string {
	switch {
	case k.RunID != "":
		return k.RunID
	case l.Place.Alone():
		return rundir.NewID(time.Now(), k.Labels["arm"])
	}
	return rundir.SharedID(l.StartAt, k.Labels["arm"], l.Scenario.Name, strconv.FormatUint(l.Seed, 10))
}

// moment returns when the load begins, the same for all ranks: now, unless a start is given.
func (l Load) moment() time.Time {
	if l.StartAt.IsZero() {
		return time.Now()
	}
	return l.StartAt
}

// share returns the manifest's record of the share. It is nil for an undivided run without a start time.
func (l Load) share(whole string, log *slog.Logger) *rundir.Share {
	if l.Place.Alone() && l.StartAt.IsZero() {
		return nil
	}
	facts := &rundir.Share{Place: l.Place, Of: whole, StartAt: l.StartAt}
	clock, err := traffic.ReadClock()
	if err != nil {
		log.Warn("how far this machine's clock may be off is not known", "why", printable(err.Error()))
		return facts
	}
	facts.Clock = &clock
	if !l.Place.Alone() && !clock.Synchronised {
		log.Warn("by the kernel's word nothing keeps this machine's clock: --start-at may be another moment here than on the other ranks")
	}
	return facts
}

// partWarnings returns the warning that the figures cover only this process's share of the load. It is in the summary
// of this process only.
func (l Load) partWarnings() []string {
	if l.Place.Alone() {
		return nil
	}
	return []string{fmt.Sprintf("this is rank %d of %d: counts and throughput are of its share of the load; uma-load merge makes the whole of all ranks' folders", l.Place.Rank, l.Place.World)}
}

// rank returns the rank for records, or nil if this process sends the whole load.
func (l Load) rank() *int {
	if l.Place.Alone() {
		return nil
	}
	return &l.Place.Rank
}

// startNS returns when the measured load begins, in nanoseconds since the run's start; 0 means at once. A later change
// of the machine's clock does not move it.
func (l Load) startNS(started time.Time) int64 {
	if l.StartAt.IsZero() {
		return 0
	}
	return max(l.StartAt.Sub(started).Nanoseconds(), 1)
}

// beforeStart ends the warm-up when the measured load is due, even if the warm-up is not complete.
func (s *sender) beforeStart(stop context.Context, p workload.Phase) (context.Context, context.CancelFunc) {
	if s.startNS == 0 || p.Name != rundir.PhaseWarmup {
		return stop, func() {}
	}
	return context.WithTimeout(stop, time.Duration(s.startNS-s.run.journal.clock()))
}

// share returns a phase as this process drives it. For the first measured phase it waits until the start time, if
// there is one.
func (s *sender) share(stop context.Context, p workload.Phase) (workload.Phase, error) {
	p = s.plan.work.Share(p)
	if s.startNS == 0 || p.Name == rundir.PhaseWarmup {
		return p, nil
	}
	start, clock := s.startNS, s.run.journal.clock
	s.startNS = 0 // the phases after it follow at once
	if late := clock() - start; late > 0 {
		return p, fmt.Errorf("--start-at: it was over since %s when the warm-up had ended and the requests were ready: nothing was measured", time.Duration(late).Round(time.Millisecond))
	}
	s.run.env.Log.Info("waiting for the common start, --start-at", "for", time.Duration(start-clock()).Round(time.Millisecond))
	if err := s.loop.Wait(stop, start); err != nil {
		return p, nil // interrupted; the caller checks the context
	}
	if !s.plan.work.Script.Held() {
		p.StartNS = start // a held phase waits for a sample first
	}
	return p, nil
}
