package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/drive"
	"github.com/umascope/umascope/loadgen/folder"
	"github.com/umascope/umascope/loadgen/live"
	"github.com/umascope/umascope/loadgen/scene"
	"github.com/umascope/umascope/loadgen/summary"
)

// execute sends the load and writes what came of it.
func (r *run) execute(ctx context.Context) error {
	r.show()
	err := r.send(ctx)
	if r.env.Engine == nil {
		r.identity.Again(ctx)
	}
	err = errors.Join(err, r.finish(err))
	r.live.Leave()
	return err
}

// show begins the run's page. Of an engine that is not there yet it has the phases before its load.
func (r *run) show() {
	names := append(r.env.Engine.phases(), folder.PhaseReady)
	if r.work != nil {
		for _, p := range r.work.Phases {
			names = append(names, p.Name)
		}
	}
	names = append(names, folder.PhaseStop)
	facts := r.keep.facts(r.id, r.load.Scenario.Name, names)
	facts.Streaming, facts.Simulated = !r.load.NoStream, r.server.Model.Simulated()
	if objectives := r.load.SLO; len(objectives) > 0 {
		facts.Good = objectives.Good
	}
	r.live = live.New(facts)
	r.env.Page.Show(r.live)
	r.live.Enter(r.span.Name)
	if r.work == nil {
		r.env.Log.Info("run", "id", r.id, "folder", string(r.folder), "live", r.env.Page.URL())
		return
	}
	r.env.Log.Info("run", "id", r.id, "folder", string(r.folder), "model", r.server.Model.ID, "live", r.env.Page.URL())
	if r.server.Model.Simulated() {
		r.env.Log.Warn("the engine is simulated", "model", r.server.Model.ID, "owner", r.server.Model.OwnedBy)
	}
}

// send drives the phases with everything that watches them around it.
func (r *run) send(ctx context.Context) error {
	stop, halt := context.WithCancelCause(ctx)
	defer halt(nil)
	cut, cancelCut := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelCut()
	said := make(chan struct{})
	silence := context.AfterFunc(ctx, func() {
		defer close(said)
		r.env.Log.Warn("interrupted: requests in flight may end; interrupt again to cancel them", "at_most", r.load.Grace)
	})
	defer func() {
		if !silence() {
			<-said // nothing may be written once the run is over: what it writes to is the caller's again
		}
	}()
	go func() {
		select {
		case <-r.env.Cut:
			halt(nil)
			cancelCut()
		case <-cut.Done():
		}
	}()
	if r.env.Engine != nil {
		return r.loadAround(stop, cut, halt)
	}
	err := r.scene.Capture(ctx, scene.Before)
	if err == nil {
		err = r.begin(ctx)
	}
	if err == nil {
		err = r.attach(ctx, halt)
	}
	if err == nil {
		err = r.drivePhases(stop, cut)
	}
	err = errors.Join(err, r.leave(), r.end())
	r.keepEngineLog(cut)
	return errors.Join(err, r.scene.Capture(cut, scene.After))
}

// keepEngineLog keeps what the engine wrote, where it can be had.
func (r *run) keepEngineLog(ctx context.Context) {
	r.scene.KeepLog(ctx)
	r.readEngineLog(ctx)
}

// begin starts the run's clock, and to follow the sources on it.
func (r *run) begin(ctx context.Context) error {
	start := time.Now()
	r.clock = func() int64 { return int64(time.Since(start)) }
	r.manifest.StartedAt = start.UTC()
	r.meet(start)
	if err := r.folder.WriteJSON(folder.ManifestFile, r.manifest); err != nil {
		return err
	}
	return r.scene.Follow(ctx, r.clock)
}

// attach makes what sends the load, and what records it.
func (r *run) attach(ctx context.Context, halt context.CancelCauseFunc) error {
	r.loop = &drive.Loop{Clock: r.clock, Send: r.client.Do, Wait: drive.Pace(r.clock), Slots: r.work.Script.Slots, Grace: r.load.Grace, Hold: r.identity.Hold}
	r.identity.Watch(ctx, halt)
	var err error
	if r.records, err = r.openLines(r.folder.Path(folder.RequestsFile), halt); err != nil {
		return err
	}
	if r.load.KeepOutputs {
		r.outputs, err = r.openLines(r.folder.Path(folder.OutputsFile), halt)
	}
	return err
}

// drivePhases goes through the phases; ready and stop only mark the time around the load.
func (r *run) drivePhases(stop, cut context.Context) error {
	if err := r.pass(folder.PhaseReady); err != nil {
		return err
	}
	r.scene.Settle(stop)
	if err := r.leave(); err != nil {
		return err
	}
	for i, p := range r.work.Phases {
		if stop.Err() != nil {
			break
		}
		until, cancel := r.beforeStart(stop, p)
		failed, err := r.drivePhase(until, cut, p)
		cancel()
		if err != nil {
			return err
		}
		if left := len(r.work.Phases) - i - 1; failed && left > 0 && stop.Err() == nil {
			r.broken = fmt.Sprintf("all requests of %s failed, and %d more phases were not sent", p.Name, left)
			break
		}
	}
	var err error
	if cause := context.Cause(stop); errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		// Any other cause is a file that cannot be written, which says so when it is closed, or what
		// the guard saw, which is a verdict and no failure.
		err = ErrInterrupted
	}
	err = errors.Join(err, r.pass(folder.PhaseStop))
	r.scene.Settle(stop)
	return err
}

// pass begins a phase without load, unless it is the one that lasts, and notes the one before it.
func (r *run) pass(phase string) error {
	if r.span.Name == phase {
		return nil
	}
	err := r.leave()
	r.enter(phase)
	r.span = folder.Span{Name: phase, StartNS: r.clock()}
	return err
}

// leave notes the phase without load that lasts, if there is one.
func (r *run) leave() error {
	if r.span.Name == "" {
		return nil
	}
	span := r.span
	span.EndNS = r.clock()
	r.span = folder.Span{}
	return r.scene.Passed(span)
}

// hold waits around the load of phases whose counters are evidence: the border's sample must be there
// before the first request, and what the engine still writes after the last answer belongs to the phase.
func (r *run) hold(stop context.Context) {
	if r.work.Script.Held() {
		r.scene.Settle(stop)
	}
}

func (r *run) enter(phase string) {
	r.live.Enter(phase)
	r.scene.Enter(phase)
}

// drivePhase prepares and drives one phase of load, and reports whether all of its requests failed.
func (r *run) drivePhase(stop, cut context.Context, p drive.Phase) (failed bool, err error) {
	preparing, cancel := context.WithCancel(cut)
	defer cancel()
	q := r.work.Prepare(preparing, p, r.schedule)
	q.Await(stop)
	planned := r.work.Requests(p)
	if p, err = r.share(stop, p); err != nil {
		cancel()
		return false, errors.Join(err, q.Rest())
	}
	r.enter(p.Name)
	r.hold(stop)
	progress := live.NewTally(p, planned, r.clock())
	hide := r.follow(progress)
	var watch *drive.Watch
	if r.work.Counts(p.Name) {
		watch = drive.StartWatch(r.clock, shortest(usualStall, r.keep.Limits))
	}
	var ended outcomes
	driven := r.loop.Drive(stop, cut, p, q.Lanes(), r.observer(p, progress, &ended))
	if watch != nil {
		r.health = r.health.And(watch.End())
	}
	hide()
	cancel()
	r.hold(stop)
	return r.keep.Limits.Judges(summary.CodePhaseFailed) && ended.allFailed(), errors.Join(q.Rest(), r.scene.Passed(folder.Span(driven)))
}

// outcomes counts how the requests of a phase ended. Those that were cancelled are in neither.
type outcomes struct{ ok, failed atomic.Int64 }

func (o *outcomes) add(status chat.Status) {
	switch status {
	case chat.StatusOK:
		o.ok.Add(1)
	case chat.StatusCancelled:
	default:
		o.failed.Add(1)
	}
}

func (o *outcomes) allFailed() bool { return o.ok.Load() == 0 && o.failed.Load() > 0 }

// usualStall and usualWait are the shortest stalls of the client and waits of bytes in its sockets that are
// recorded, unless validity has a lower limit.
const (
	usualStall = 10 * time.Millisecond
	usualWait  = time.Millisecond
)

// shortest is the usual value, or the limit of client_stall if that is lower.
func shortest(usual time.Duration, limits summary.Limits) time.Duration {
	if own, given := limits[summary.CodeClientStall]; given && !own.Off {
		return min(usual, time.Duration(own.Value*float64(time.Second)))
	}
	return usual
}

// follow shows the progress of a phase until the returned function is called.
func (r *run) follow(progress *live.Tally) (hide func()) {
	shown, cancel := context.WithCancel(context.Background())
	if !r.env.Log.Enabled(shown, slog.LevelInfo) {
		return cancel
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.env.Console.Follow(shown, progress, r.clock)
	}()
	return func() {
		cancel()
		<-done
	}
}

// observer tells everybody who wants to know of a request.
func (r *run) observer(p drive.Phase, progress *live.Tally, ended *outcomes) drive.Observer {
	shown, counted := r.live.Observe(p.Name), progress.Observe()
	telling := live.Verbosity{Requests: r.load.Verbose, Content: r.load.SeeOutputs}
	return drive.Observer{
		Started: func() { shown.Started(); counted.Started() },
		Payload: shown.Payload,
		Failed: func(j drive.Job, result chat.Result) {
			result.Record.Index, result.Record.InputTokensTarget = j.Index, j.InputTokensTarget
			r.identity.Saw(result)
		},
		Ended: func(j drive.Job, result chat.Result) {
			if result.Record.Status == chat.StatusOK {
				r.identity.Saw(result)
			}
			ended.add(result.Record.Status)
			result.Record.Run, result.Record.Rank = r.id, r.number()
			r.records.Add(result.Record)
			if r.outputs != nil {
				r.outputs.Add(folder.OutputLine{Run: r.id, Phase: p.Name, Index: result.Record.Index, Output: result.Output})
			}
			if r.work.Counts(p.Name) {
				r.answers.add(result, j.MaxTokens, r.work.Sampling.IgnoreEOS)
			}
			shown.Ended(j, result)
			counted.Ended(j, result)
			telling.Tell(r.env.Console, j, result)
		},
	}
}

// end closes what records. Every part is closed, whatever the others say.
func (r *run) end() error {
	var errs []error
	for _, file := range []*folder.Lines{r.records, r.outputs} {
		if file != nil {
			errs = append(errs, file.Close())
		}
	}
	return errors.Join(append(errs, r.scene.Leave())...)
}
