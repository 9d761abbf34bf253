package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/umascope/umascope/loadgen/drive"
	"github.com/umascope/umascope/loadgen/folder"
	"github.com/umascope/umascope/loadgen/rank"
)

// rankFacts are what the manifest says of the share; nil of a run that has no others and no start.
func (r *run) rankFacts() *folder.Share {
	s := r.load
	if s.Place.Alone() && s.StartAt.IsZero() {
		return nil
	}
	facts := &folder.Share{Place: s.Place, Of: r.whole, StartAt: s.StartAt}
	clock, err := rank.ReadClock()
	if err != nil {
		r.env.Log.Warn("how far this machine's clock may be off is not known", "why", printable(err.Error()))
		return facts
	}
	facts.Clock = &clock
	if !s.Place.Alone() && !clock.Synchronised {
		r.env.Log.Warn("by the kernel's word nothing keeps this machine's clock: --start-at may be another moment here than on the other ranks")
	}
	return facts
}

// partWarnings say that the figures are not those of the load. They are of this process's summary alone.
func (l Load) partWarnings() []string {
	if l.Place.Alone() {
		return nil
	}
	return []string{fmt.Sprintf("this is rank %d of %d: counts and throughput are of its share of the load; uma-load merge makes the whole of all ranks' folders", l.Place.Rank, l.Place.World)}
}

// number is the rank for records; nil of a process that has the whole load.
func (r *run) number() *int {
	if r.load.Place.Alone() {
		return nil
	}
	return &r.load.Place.Rank
}

// meet takes the moment at which the measured load begins over to the run's clock, once: whoever sets
// the machine's clock afterwards does not move it.
func (r *run) meet(started time.Time) {
	if at := r.load.StartAt; !at.IsZero() {
		r.startNS = max(at.Sub(started).Nanoseconds(), 1)
	}
}

// beforeStart ends the warm-up when the measured load is due, ready or not.
func (r *run) beforeStart(stop context.Context, p drive.Phase) (context.Context, context.CancelFunc) {
	if r.startNS == 0 || p.Name != folder.PhaseWarmup {
		return stop, func() {}
	}
	return context.WithTimeout(stop, time.Duration(r.startNS-r.clock()))
}

// share is a phase as this process drives it. The first measured one is waited for where it has a start.
func (r *run) share(stop context.Context, p drive.Phase) (drive.Phase, error) {
	p = r.work.Share(p)
	if r.startNS == 0 || p.Name == folder.PhaseWarmup {
		return p, nil
	}
	start := r.startNS
	r.startNS = 0 // the phases after it follow at once
	if late := r.clock() - start; late > 0 {
		return p, fmt.Errorf("--start-at: it was over since %s when the warm-up had ended and the requests were ready: nothing was measured", time.Duration(late).Round(time.Millisecond))
	}
	r.env.Log.Info("waiting for --start-at", "for", time.Duration(start-r.clock()).Round(time.Millisecond))
	if err := r.loop.Wait(stop, start); err != nil {
		return p, nil // interrupted: whoever drives sees it
	}
	if !r.work.Script.Held() {
		p.StartNS = start // else a sample is waited for first
	}
	return p, nil
}
