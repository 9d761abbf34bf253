package demo

import (
	"context"
	"time"
)

// perform runs the programme from a turn on until ctx ends. The first cycle of an empty folder has no pauses, so that
// the first comparison comes early.
func (s *simulation) perform(ctx context.Context, first int) {
	for number := first; ctx.Err() == nil; {
		s.awaitQuiet(ctx)
		t, began := turnOf(number), time.Now()
		switch s.take(ctx, t) {
		case verdictInterrupted:
			return
		case verdictFailed: // the turn is repeated: without it one arm would have more runs
			s.rest(ctx, began.Add(s.pace.every))
			continue
		}
		s.keepHouse(ctx, t)
		s.eventIfDue(ctx)
		if number++; first > 0 || number >= cycle {
			s.rest(ctx, began.Add(s.pace.every))
		}
	}
}

// awaitQuiet returns when no run is on: the engine stays for a user's run as long as that lasts.
func (s *simulation) awaitQuiet(ctx context.Context) {
	for s.machine.stage.inference.visits.quiet() < s.pace.quiet && pause(ctx, s.pace.quiet/10) == nil {
	}
}

// take makes the run of a turn and prints its result.
func (s *simulation) take(ctx context.Context, t turn) string {
	if err := s.machine.stage.begin(ctx, t.arm, engineOptions{seed: s.options.seed + uint64(t.number)}); err != nil {
		if ctx.Err() != nil {
			return verdictInterrupted
		}
		s.inTrouble(err.Error())
		return verdictFailed
	}
	r := s.measure(ctx, t)
	about := []any{"verdict", r.verdict, "arm", t.arm.name, "scenario", t.scenario, turnLabel, t.number}
	if r.folder != "" {
		about = append(about, "folder", r.folder)
	}
	if r.why != "" {
		about = append(about, "why", r.why)
	}
	if r.verdict == verdictFailed {
		s.log.Error("run", about...)
		s.inTrouble(r.why)
		return r.verdict
	}
	s.log.Info("run", about...)
	s.trouble.Store(nil)
	return r.verdict
}

// inTrouble makes the health page fail.
func (s *simulation) inTrouble(why string) { s.trouble.Store(&why) }

// keepHouse compares the arms when it is due, and removes old runs and comparisons.
func (s *simulation) keepHouse(ctx context.Context, t turn) {
	if t.compares() && ctx.Err() == nil {
		if err := s.compare(ctx); err != nil {
			s.log.Warn("the arms could not be compared", "why", err)
		} else {
			s.log.Info("the arms were compared over all runs that are kept")
		}
	}
	if err := s.tidy(ctx); err != nil {
		s.log.Warn("old runs could not be removed", "why", err)
	}
}

// eventIfDue plays the next event. The first one comes after the first run, so that alerts are seen to work.
func (s *simulation) eventIfDue(ctx context.Context) {
	if time.Now().Before(s.nextEvent) || ctx.Err() != nil {
		return
	}
	s.awaitQuiet(ctx)
	s.nextEvent = time.Now().Add(s.pace.eventsEvery)
	all := events()
	e := all[s.events%len(all)]
	s.events++
	s.log.Info("event begins", "what", e.name, "alert", e.alert)
	err := s.whileChatting(ctx, func() error { return e.play(ctx, s.machine.stage) })
	if err != nil && ctx.Err() == nil {
		s.log.Warn("event", "what", e.name, "why", err)
		return
	}
	s.log.Info("event ends", "what", e.name)
}

// rest waits for a time while users send the engine requests.
func (s *simulation) rest(ctx context.Context, until time.Time) {
	_ = s.whileChatting(ctx, func() error { return pause(ctx, time.Until(until)) }) // the caller checks ctx
}

// whileChatting calls a function while users send the engine requests.
func (s *simulation) whileChatting(ctx context.Context, what func() error) error {
	chat, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		chatting(chat, s.machine.engineURL())
	}()
	err := what()
	stop()
	<-done
	return err
}
