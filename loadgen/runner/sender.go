package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/workload"
)

// sender sends the load of a plan, phase by phase, and records it.
type sender struct {
	run   *measurement
	plan  *plan
	loop  *workload.Loop
	files recordFiles
	// startNS is when the measured load begins, in nanoseconds on the clock of the run; 0 means at once.
	startNS int64
	sent    sent
}

// sent holds the facts about a load that its records do not have.
type sent struct {
	answers *answers
	health  workload.Health // of the client in the measured phases
	// broken is why the remaining phases were not sent; empty if all were.
	broken string
}

// newSender makes the sender of a run that has begun.
func newSender(m *measurement, p *plan) *sender {
	clock := m.journal.clock
	return &sender{
		run: m, plan: p, startNS: m.load.startNS(m.manifest.StartedAt), sent: sent{answers: &answers{}},
		loop: &workload.Loop{Clock: clock, Send: p.servers.send, Wait: workload.Pace(clock), Slots: p.work.Script.Slots, Grace: m.load.Grace, Hold: p.servers.hold},
	}
}

// open opens the files of records and starts the checks of failed requests. halt ends the load if a file cannot be
// written or a check fails.
func (s *sender) open(ctx context.Context, halt context.CancelCauseFunc) error {
	s.plan.servers.watch(ctx, halt)
	var err error
	if s.files.requests, err = s.run.openLines(s.run.folder.Path(rundir.RequestsFile), halt); err == nil && s.run.load.KeepOutputs {
		s.files.outputs, err = s.run.openLines(s.run.folder.Path(rundir.OutputsFile), halt)
	}
	if err == nil && s.run.load.KeepPrompts {
		s.files.prompts, err = rundir.NewPrivateLines(s.run.folder.Path(rundir.PromptsFile), halt)
	}
	return err
}

// close completes the files of records. It does nothing on a nil sender.
func (s *sender) close() error {
	if s == nil {
		return nil
	}
	return s.files.close()
}

// drive goes through the phases. The phases ready and stop send no load and only mark the time around it.
func (s *sender) drive(i interrupts) error {
	if err := s.run.journal.pass(rundir.PhaseReady); err != nil {
		return err
	}
	s.run.capture.settle(i.stop)
	if err := s.run.journal.leave(); err != nil {
		return err
	}
	phases := s.plan.work.Phases
	for n, p := range phases {
		if i.stop.Err() != nil {
			break
		}
		until, cancel := s.beforeStart(i.stop, p)
		failed, err := s.drivePhase(until, i.cut, p)
		cancel()
		if err != nil {
			return err
		}
		if left := len(phases) - n - 1; failed && left > 0 && !s.plan.work.Script.Independent() && i.stop.Err() == nil {
			s.sent.broken = fmt.Sprintf("all requests of %s failed, and %d more phases were not sent", p.Name, left)
			break
		}
	}
	var err error
	if cause := context.Cause(i.stop); errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		// Any other cause is either a file that cannot be written, whose error close returns, or a finding of the
		// guard, which is a verdict and not a failure.
		err = ErrInterrupted
	}
	err = errors.Join(err, s.run.journal.pass(rundir.PhaseStop))
	s.run.capture.settle(i.stop)
	return err
}

// drivePhase prepares and drives one phase of load, and reports whether all of its requests failed.
func (s *sender) drivePhase(stop, cut context.Context, p workload.Phase) (failed bool, err error) {
	preparing, cancel := context.WithCancel(cut)
	defer cancel()
	q := s.plan.work.Prepare(preparing, p, s.plan.schedule)
	q.Await(stop)
	planned := s.plan.work.Requests(p)
	if p, err = s.share(stop, p); err != nil {
		cancel()
		return false, errors.Join(err, q.Rest())
	}
	s.run.journal.enter(p.Name)
	s.hold(stop)
	s.run.capture.sample()
	progress := s.run.journal.meter.load(p, planned, s.run.journal.clock())
	var watch *workload.Watch
	if s.plan.work.Counts(p.Name) {
		watch = workload.StartWatch(s.run.journal.clock, shortestStall)
	}
	dispatching, end := context.WithCancel(stop)
	defer end()
	var ended outcomes
	if slots := cmp.Or(p.Slots, s.loop.Slots, 1); p.Name == rundir.PhaseWarmup && s.run.keep.Limits.Judges(summary.CodePhaseFailed) {
		// Each slot has waited for as long as a request may: the rest of the warm-up would cost as much for each request.
		ended.timedOut = func(requests int64) {
			if requests >= int64(slots) {
				end()
			}
		}
	}
	driven := s.loop.Drive(dispatching, cut, p, q.Jobs(), s.observer(p, progress, &ended))
	s.run.capture.sample()
	if watch != nil {
		s.sent.health = s.sent.health.And(watch.End())
	}
	s.run.journal.meter.enter("", s.run.journal.clock())
	cancel()
	s.hold(stop)
	return s.run.keep.Limits.Judges(summary.CodePhaseFailed) && ended.allFailed(), errors.Join(q.Rest(), s.run.journal.passed(rundir.Span(driven)))
}

// hold waits before and after phases whose counters are evidence: the sample at the border must exist before the first
// request, and writes of the engine after the last answer belong to the phase.
func (s *sender) hold(stop context.Context) {
	if s.plan.work.Script.Held() {
		s.run.capture.settle(stop)
	}
}

// observer returns the observer of a phase. It records requests and passes them to the live page, the progress and the
// model's guard.
func (s *sender) observer(p workload.Phase, progress *phaseMeter, ended *outcomes) workload.Observer {
	shown, counted := s.run.journal.live.observe(p.Name), progress.observe()
	printing := verbosity{Requests: s.run.load.Verbose, Content: s.run.load.SeeOutputs}
	rank := s.run.load.rank()
	return workload.Observer{
		Started: func() { shown.Started(); counted.Started() },
		Payload: func() { shown.Payload(); counted.Payload() },
		Failed: func(j workload.Job, result openai.Result) {
			result.Record.Index, result.Record.InputTokensTarget = j.Index, j.InputTokensTarget
			s.plan.servers[j.Server].identity.Saw(result)
		},
		Ended: func(j workload.Job, result openai.Result) {
			if result.Record.Status == openai.StatusOK {
				s.plan.servers[j.Server].identity.Saw(result)
			}
			ended.add(result.Record.Status)
			result.Record.Run, result.Record.Rank, result.Record.Server = s.run.id, rank, s.plan.servers.name(j)
			s.files.add(result, p.Name)
			if s.files.prompts != nil {
				s.files.prompts.Add(exchange{s.run.id, p.Name, j.Index, j.Request.Body, result.Output, s.plan.client.Redact})
			}
			s.sent.answers.count(result.Record)
			if s.plan.work.Counts(p.Name) {
				s.sent.answers.add(result, j.Server, j.MaxTokens, s.plan.work.Sampling.IgnoreEOS)
			}
			shown.Ended(j, result)
			counted.Ended(j, result)
			printing.print(s.run.env.Console, j, result)
		},
	}
}

// recordFiles are the files with a line for each request.
type recordFiles struct {
	requests *rundir.Lines
	outputs  *rundir.Lines // nil unless outputs are kept
	prompts  *rundir.Lines // nil unless prompts are kept
}

// add adds a request that has ended.
func (f recordFiles) add(result openai.Result, phase string) {
	f.requests.Add(result.Record)
	if f.outputs != nil {
		f.outputs.Add(rundir.OutputLine{Run: result.Record.Run, Phase: phase, Index: result.Record.Index, Output: result.Output})
	}
}

// close completes the open files. It closes all of them even if one fails.
func (f recordFiles) close() error {
	var errs []error
	for _, file := range []*rundir.Lines{f.requests, f.outputs, f.prompts} {
		if file != nil {
			errs = append(errs, file.Close())
		}
	}
	return errors.Join(errs...)
}

// outcomes counts how the requests of a phase ended. It does not count cancelled requests.
type outcomes struct {
	ok, failed, late atomic.Int64
	// timedOut, if not nil, is told after each timeout how many there were, while no request has ended ok.
	timedOut func(requests int64)
}

func (o *outcomes) add(status openai.Status) {
	switch status {
	case openai.StatusOK:
		o.ok.Add(1)
	case openai.StatusCancelled:
	default:
		o.failed.Add(1)
	}
	if status == openai.StatusTimeout && o.timedOut != nil {
		if late := o.late.Add(1); o.ok.Load() == 0 {
			o.timedOut(late)
		}
	}
}

func (o *outcomes) allFailed() bool { return o.ok.Load() == 0 && o.failed.Load() > 0 }
