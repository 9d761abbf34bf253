package loadgen

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/drive"
	"github.com/umascope/umascope/loadgen/folder"
	"github.com/umascope/umascope/loadgen/option"
	"github.com/umascope/umascope/loadgen/rank"
)

// sharing is how a load is shared with other processes, and when its measured part begins.
type sharing struct {
	given   rank.Given
	startAt time.Time // zero is at once
}

func sharingFlags(set option.Set, s *sharing) {
	option.Flag(set, "rank", "Number of this process among those that share the load, from 0. What the load is, --requests, --rate, --concurrency and --clients, is said of all of them together. If not given it comes from the launcher: "+strings.Join(rank.Variables(), ", ")+".", "", &s.given.Rank, optionalFrom(0))
	option.Flag(set, "world", "How many processes share the load; uma-load merge makes one run of theirs.", "", &s.given.World, optionalFrom(1))
	option.Flag(set, "start-at", "When the measured load begins: RFC 3339, such as 2026-11-21T15:04:05Z, or Unix time in seconds. All ranks need the same; the warm-up comes before it, and a rank that is not ready by then measures nothing.", "", &s.startAt, rank.ParseStart)
}

// optionalFrom accepts whole numbers from least on.
func optionalFrom(least int) func(string) (*int, error) {
	return func(s string) (*int, error) {
		n, err := option.AtLeast(least)(s)
		return &n, err
	}
}

// place finds the process's place among those that share the load.
func (s sharing) place() (rank.Place, error) {
	place, err := rank.Find(s.given, os.LookupEnv)
	switch {
	case err != nil:
		return place, err
	case !s.startAt.IsZero():
		if err := rank.CheckStart(s.startAt, time.Now()); err != nil {
			return place, fmt.Errorf("--start-at: %w", err)
		}
	case !place.Alone():
		return place, fmt.Errorf("--start-at: this is %s, and all ranks have to begin at one moment; --rank 0 --world 1 makes it a run of its own", place)
	}
	return place, nil
}

// refuse is for runs that follow each other: ranks do not wait for one another.
func (s sharing) refuse() error {
	if !s.startAt.IsZero() {
		return errors.New("--start-at: it is of one run, and a sweep makes several")
	}
	place, err := rank.Find(s.given, os.LookupEnv)
	if err == nil && !place.Alone() {
		err = fmt.Errorf("--world: this is %s, and ranks do not wait for one another between the runs of a sweep; --rank 0 --world 1 makes it one of its own", place)
	}
	return err
}

// wholeID names the run that this process has a share of: its own, if it has it all.
func (s *settings) wholeID() string {
	switch {
	case s.runID != "":
		return s.runID
	case s.Place.Alone():
		return folder.NewID(time.Now(), s.label("arm"))
	}
	return folder.SharedID(s.sharing.startAt, s.label("arm"), s.Scenario.Name, strconv.FormatUint(s.Seed, 10))
}

// rankFacts are what the manifest says of the share; nil of a run that has no others and no start.
func (r *run) rankFacts() *folder.Share {
	s := r.settings
	if s.Place.Alone() && s.sharing.startAt.IsZero() {
		return nil
	}
	facts := &folder.Share{Place: s.Place, Of: r.whole, StartAt: s.sharing.startAt}
	clock, err := rank.ReadClock()
	if err != nil {
		r.log.Warn("how far this machine's clock may be off is not known", "why", printable(err.Error()))
		return facts
	}
	facts.Clock = &clock
	if !s.Place.Alone() && !clock.Synchronised {
		r.log.Warn("by the kernel's word nothing keeps this machine's clock: --start-at may be another moment here than on the other ranks")
	}
	return facts
}

// partWarnings say that the figures are not those of the load. They are of this process's summary alone.
func (s *settings) partWarnings() []string {
	if s.Place.Alone() {
		return nil
	}
	return []string{fmt.Sprintf("this is rank %d of %d: counts and throughput are of its share of the load; uma-load merge makes the whole of all ranks' folders", s.Place.Rank, s.Place.World)}
}

// number is the rank for records; nil of a process that has the whole load.
func (r *run) number() *int {
	if r.settings.Place.Alone() {
		return nil
	}
	return &r.settings.Place.Rank
}

// meet takes the moment at which the measured load begins over to the run's clock, once: whoever sets
// the machine's clock afterwards does not move it.
func (r *run) meet(started time.Time) {
	if at := r.settings.sharing.startAt; !at.IsZero() {
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
	r.log.Info("waiting for --start-at", "for", time.Duration(start-r.clock()).Round(time.Millisecond))
	if err := r.loop.Wait(stop, start); err != nil {
		return p, nil // interrupted: whoever drives sees it
	}
	if !r.work.Script.Held() {
		p.StartNS = start // else a sample is waited for first
	}
	return p, nil
}
