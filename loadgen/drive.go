package loadgen

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// execute sends the load and writes the results. The first error of the run itself wins over
// what its figures say.
func (r *run) execute(ctx context.Context) error {
	names := []string{phaseReady}
	for _, p := range r.work.phases {
		names = append(names, p.name)
	}
	names = append(names, phaseStop)
	r.live = newLive(r.id, r.server.model, r.settings, names)
	stopServing := serve(r.listener, r.live.handler())
	defer stopServing()
	r.log.Info("run", "id", r.id, "folder", string(r.folder), "model", r.server.model.ID, "live", "http://"+r.listener.Addr().String()+"/metrics")
	if r.server.model.simulated() {
		r.log.Warn("the engine is simulated", "model", r.server.model.ID, "owner", r.server.model.OwnedBy)
	}

	err := r.load(ctx)
	r.identity.again(ctx)
	result, reportErr := r.finish(err)
	r.live.leave()
	if err = errors.Join(err, reportErr); err != nil {
		return err
	}
	r.linger(ctx)
	return result
}

// linger keeps the last values scrapeable.
func (r *run) linger(ctx context.Context) {
	if r.settings.web.linger == 0 {
		return
	}
	r.log.Info("live metrics stay", "for", r.settings.web.linger)
	select {
	case <-time.After(r.settings.web.linger):
	case <-ctx.Done():
	case <-r.program.Cut:
	}
}

// load drives the phases with everything that watches them around it.
func (r *run) load(ctx context.Context) error {
	stop, halt := context.WithCancelCause(ctx)
	defer halt(nil)
	cut, cancelCut := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelCut()
	silence := context.AfterFunc(ctx, func() {
		r.log.Warn("interrupted: requests in flight may end; interrupt again to cancel them", "at_most", r.settings.grace)
	})
	defer silence()
	go func() {
		select {
		case <-r.program.Cut:
			halt(nil)
			cancelCut()
		case <-cut.Done():
		}
	}()
	err := r.capture(ctx, beforeLoad)
	if err == nil {
		err = r.begin(ctx, halt)
	}
	if err == nil {
		err = r.drivePhases(stop, cut)
	}
	err = errors.Join(err, r.end())
	r.keepLog(cut)
	return errors.Join(err, r.capture(cut, afterLoad))
}

// begin starts the run's clock and what records against it.
func (r *run) begin(ctx context.Context, halt context.CancelCauseFunc) error {
	start := time.Now()
	r.clock = func() int64 { return int64(time.Since(start)) }
	r.loop = &loop{clock: r.clock, send: r.client.Do, wait: pace(r.clock), slots: r.work.script.slots, grace: r.settings.grace}
	r.identity.watch(ctx, halt)
	r.manifest.StartedAt = start.UTC()
	if err := r.folder.writeJSON(fileManifest, r.manifest); err != nil {
		return err
	}
	var err error
	if r.records, err = r.openLines(r.folder.path(fileRequests), halt); err != nil {
		return err
	}
	if r.settings.saveOutputs {
		if r.outputs, err = r.openLines(r.folder.path(fileOutputs), halt); err != nil {
			return err
		}
	}
	if len(r.sources) == 0 {
		return nil
	}
	if r.snapshots, err = newSnapshots(r.folder); err != nil {
		return err
	}
	r.sampler, err = telemetry.Start(context.WithoutCancel(ctx), telemetry.Options{
		Sources: r.sources, Interval: r.settings.telemetryInterval,
		File: r.folder.path(fileTelemetry), Clock: r.clock, Page: r.snapshots.add,
	})
	return err
}

// drivePhases goes through the phases; ready and stop only mark the time around the load.
func (r *run) drivePhases(stop, cut context.Context) error {
	r.enter(phaseReady)
	ready := r.clock()
	r.settle(stop)
	if err := r.passed(span{phaseReady, ready, r.clock()}); err != nil {
		return err
	}
	for _, p := range r.work.phases {
		if stop.Err() != nil {
			break
		}
		if err := r.drivePhase(stop, cut, p); err != nil {
			return err
		}
	}
	var err error
	if cause := context.Cause(stop); errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		// Any other cause is a file that cannot be written, which says so when it is closed, or what
		// the guard saw, which is a verdict and no failure.
		err = errInterrupted
	}
	r.enter(phaseStop)
	end := r.clock()
	r.settle(stop)
	return errors.Join(err, r.passed(span{phaseStop, end, r.clock()}))
}

// passed notes a phase that is over, at once: a killed run must be readable too.
func (r *run) passed(s span) error {
	r.spans = append(r.spans, s)
	return r.folder.writeJSON(filePhases, phaseFile{schemaPhases, r.spans})
}

// settle waits for one telemetry interval, so that the machine is seen before and after the load.
func (r *run) settle(stop context.Context) {
	if r.sampler == nil {
		return
	}
	select {
	case <-time.After(r.settings.telemetryInterval):
	case <-stop.Done():
	}
}

// hold waits around the load of phases whose counters are evidence: the border's sample must be there
// before the first request, and what the engine still writes after the last answer belongs to the phase.
func (r *run) hold(stop context.Context) {
	if r.work.script.verify != nil {
		r.settle(stop)
	}
}

func (r *run) enter(phase string) {
	r.live.enter(phase)
	if r.sampler != nil {
		r.sampler.Mark(phase)
	}
}

// drivePhase prepares and drives one phase of load.
func (r *run) drivePhase(stop, cut context.Context, p phase) error {
	preparing, cancel := context.WithCancel(cut)
	defer cancel()
	q := r.work.prepare(preparing, p, r.schedule)
	q.await(stop)
	r.enter(p.name)
	r.hold(stop)
	progress := &tally{phase: p, planned: r.work.requests(p), since: r.clock()}
	hide := r.show(progress)
	var watch *clientWatch
	if r.work.counts(p.name) {
		watch = watchClient(r.clock, shortestStall(r.limits))
	}
	driven := r.loop.drive(stop, cut, p, q.lanes(), r.observer(p, progress))
	if watch != nil {
		r.health = together(r.health, watch.end())
	}
	hide()
	cancel()
	r.hold(stop)
	return errors.Join(q.rest(), r.passed(driven))
}

// show follows the progress of a phase until the returned function is called.
func (r *run) show(progress *tally) (hide func()) {
	shown, cancel := context.WithCancel(context.Background())
	if !r.log.Enabled(shown, slog.LevelInfo) {
		return cancel
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.console.follow(shown, progress, r.clock)
	}()
	return func() {
		cancel()
		<-done
	}
}

// observer tells everybody who wants to know of a request.
func (r *run) observer(p phase, progress *tally) observer {
	live, counted := r.live.observe(p.name), progress.observe()
	return observer{
		started: func() { live.started(); counted.started() },
		payload: live.payload,
		ended: func(j job, result chat.Result) {
			r.identity.guard.saw(result)
			result.Record.Run = r.id
			r.records.Add(result.Record)
			if r.outputs != nil {
				r.outputs.Add(output{r.id, p.name, result.Record.Index, result.Output})
			}
			if r.work.counts(p.name) {
				r.answers.add(result, j.maxTokens, r.work.sampling.IgnoreEOS)
			}
			live.ended(j, result)
			counted.ended(j, result)
		},
	}
}

// output is one line of outputs.jsonl.
type output struct {
	Run    string `json:"run"`
	Phase  string `json:"phase"`
	Index  int    `json:"index"`
	Output string `json:"output"`
}

// end closes what records. Every part is closed, whatever the others say.
func (r *run) end() error {
	var errs []error
	for _, file := range []*lineFile{r.records, r.outputs} {
		if file != nil {
			errs = append(errs, file.Close())
		}
	}
	if r.sampler != nil {
		stats, err := r.sampler.Stop()
		r.manifest.Telemetry = &stats
		errs = append(errs, err, r.snapshots.close())
	}
	return errors.Join(errs...)
}

// requests is how many requests a phase has, 0 when only time ends it.
func (w *workload) requests(p phase) int {
	if !p.process.Open() || p.limit.Duration == 0 && p.process.Trace == nil {
		return w.script.measured(p.limit.Requests)
	}
	count := 0
	for range p.process.Offsets(p.limit, w.seed, w.stream(p)) {
		count++
	}
	return w.script.measured(count)
}
