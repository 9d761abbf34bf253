// Package arm knows the processes and files of one way to serve: how they are brought up, whether they
// are ready and still alive, and how nothing of them is left behind, whatever ended us meanwhile.
//
// Processes are started in sessions of their own and write into their logs themselves, so that they do
// not depend on us. The file arm.json in the folder of the arm says what was started, before it is; what
// is found there after a crash is told by the start times of processes, the boot of the machine and a
// mark in their environment, never by a number alone.
package arm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// What a plan that says nothing gets.
const (
	readyTimeout = 10 * time.Minute
	readyEvery   = 2 * time.Second
	readyTimes   = 2
	aliveEvery   = 10 * time.Second
	aliveTimes   = 3
	stopTimeout  = 30 * time.Second
	stopSignal   = "SIGTERM"
)

// Running is an arm that is up and watched.
type Running struct {
	keeper    *keeper
	guard     *guard
	processes []*process // as they were started

	ctx    context.Context
	lose   context.CancelCauseFunc
	watch  sync.WaitGroup // those who ask whether processes are alive
	asking context.CancelFunc
}

// keeper brings arms up and down. A test has one without root.
type keeper struct {
	dir  string
	root bool // we are root, and need no sudo
	log  *slog.Logger
	lock *os.File
	// role is what we have the lock for: empty is the owner of the arm.
	role string
	// guardian is the command line of guardians; empty starts none.
	guardian []string

	mutex sync.Mutex // guards the rest: who hears of the end of a process reads it
	state *State     // nil if no arm was ever started here
}

func newKeeper(dir string, log *slog.Logger) *keeper {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &keeper{dir: dir, root: os.Geteuid() == 0, log: log}
}

// Up writes the files of an arm, starts its processes one after the other and returns when the last is
// ready. The texts of spec are filled in. What belongs to this start lies in dir, which is the arm's own
// and made if it is not there. Whatever fails, also a panic, nothing that was started runs on.
//
// When the context ends while the arm is being brought up, that is a failure too; later it ends
// Running.Context and nothing else: who has an arm must end it by Down, or leave it.
func Up(ctx context.Context, spec plan.Arm, dir string, log *slog.Logger) (*Running, error) {
	return newKeeper(dir, log).up(ctx, spec)
}

func (k *keeper) up(ctx context.Context, spec plan.Arm) (*Running, error) {
	if err := validate(spec); err != nil {
		return nil, err
	}
	if err := k.open(ctx); err != nil {
		return nil, err
	}
	if err := k.begin(ctx, spec); err != nil {
		k.close()
		return nil, err
	}
	r := &Running{keeper: k}
	r.ctx, r.lose = context.WithCancelCause(ctx)
	up := false
	defer func() {
		if !up { // a panic comes by here too
			_ = r.Down(context.WithoutCancel(ctx)) // says what it could not end
		}
	}()
	var err error
	if r.guard, err = k.startGuardian(spec); err != nil {
		return nil, err
	}
	if err := r.start(spec); err != nil {
		return nil, err
	}
	r.watchAlive()
	up = true
	return r, nil
}

// begin does what comes before the first process: the arm is down, nobody else answers for it, and
// the state says that it is coming up.
func (k *keeper) begin(ctx context.Context, spec plan.Arm) error {
	if err := k.vacant(ctx, spec); err != nil {
		return err
	}
	if err := silent(ctx, spec); err != nil {
		return err
	}
	if k.state != nil {
		if err := k.removeFiles(); err != nil {
			return err
		}
	}
	state, err := newState(spec)
	if err != nil {
		return err
	}
	k.state = state
	return k.note(func(*State) {})
}

// ErrUp is why an arm is not started whose last start was not ended.
var ErrUp = errors.New("is up already")

// vacant says whether an earlier start of the arm has been ended.
func (k *keeper) vacant(ctx context.Context, spec plan.Arm) error {
	left, err := k.leftovers(ctx, spec)
	if err != nil {
		return err
	}
	for _, one := range left {
		if one.runs() {
			return fmt.Errorf("arm %s %w: %s is left of its start at %s", spec.Name, ErrUp, one, k.state.StartedAt.Local().Format(time.DateTime))
		}
	}
	return nil
}

// start brings up the files, the clocks and the processes.
func (r *Running) start(spec plan.Arm) error {
	if err := r.keeper.writeFiles(spec.Files); err != nil {
		return err
	}
	if err := r.keeper.lockClocks(r.ctx, spec.Clocks); err != nil {
		return err
	}
	for _, one := range spec.Processes {
		begun := time.Now()
		p, err := r.keeper.start(r.ctx, one)
		if err != nil {
			return r.failure(one.Name, fmt.Sprintf("cannot be started: %v", err))
		}
		r.processes = append(r.processes, p)
		go r.hear(p)
		if err := r.await(p); err != nil {
			return err
		}
		now := time.Now()
		if err := r.keeper.note(func(s *State) { s.Processes[p.index].ReadyAt = &now }); err != nil {
			return err
		}
		r.keeper.log.Info("process is up", "arm", spec.Name, "process", one.Name, "pid", p.started.Leader.PID, "after", now.Sub(begun).Round(time.Millisecond))
	}
	return nil
}

// hear loses the arm when a process ends.
func (r *Running) hear(p *process) {
	<-p.client.Ended()
	what := p.client.Exit().String()
	if p.place.away() {
		what = fmt.Sprintf("%s, or the %s that it ran by", what, filepath.Base(p.place.shell()[0]))
	}
	r.lose(r.failure(p.started.Name, what))
}

// Context is done when a process is lost, or the context of Up is; context.Cause is then a *Failure
// that says which one and how, or why that context was.
func (r *Running) Context() context.Context { return r.ctx }

// State says what was started, for a manifest: hashes of files, names of options, no values.
func (r *Running) State() State { return r.keeper.seen() }

// Down ends the processes in reverse order and takes away the files that were written. It always ends
// all of them: a context that is done cuts the patience short, not the ending. An arm that is down
// already is no error.
func (r *Running) Down(ctx context.Context) error {
	r.unwatch()
	defer r.guard.dismiss()   // last: until then it ends what we do not come to
	if r.keeper.lock == nil { // ended or left before: somebody else may have it now
		if err := r.keeper.open(ctx); err != nil {
			return err
		}
	}
	defer r.keeper.close()
	var specs []plan.Process
	for _, p := range r.processes {
		specs = append(specs, p.spec)
	}
	return r.keeper.down(ctx, specsByName(specs))
}

// Leave stops watching the arm and lets it run: Down of this package ends it later, from its folder.
func (r *Running) Leave() {
	r.unwatch()
	r.keeper.close()
	r.guard.dismiss()
}

// errGone is why the context of an arm is done that nobody watches any more.
var errGone = errors.New("the arm is not watched any more")

func (r *Running) unwatch() {
	r.lose(errGone) // what ends from now on is no loss
	if r.asking != nil {
		r.asking()
	}
	r.watch.Wait()
}

// Down ends what the folder of an arm says was started, in this or another invocation, as
// Running.Down does. Without the processes of spec, those that have a command to be stopped by are
// signalled instead: the state has no commands, since they may hold keys.
func Down(ctx context.Context, spec plan.Arm, dir string, log *slog.Logger) error {
	k := newKeeper(dir, log)
	if _, err := os.Stat(k.dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err := k.open(ctx); err != nil {
		return err
	}
	defer k.close()
	return k.down(ctx, specsByName(spec.Processes))
}

func specsByName(processes []plan.Process) map[string]plan.Process {
	specs := map[string]plan.Process{}
	for _, one := range processes {
		specs[one.Name] = one
	}
	return specs
}

func (k *keeper) down(ctx context.Context, specs map[string]plan.Process) error {
	if k.state == nil || k.state.DownAt != nil {
		return nil
	}
	var errs []error
	for i, one := range slices.Backward(k.seen().Processes) {
		if one.StoppedAt != nil {
			continue
		}
		spec, known := specs[one.Name]
		if !known {
			spec = one.spec()
		}
		if err := k.stop(ctx, one, spec); err != nil {
			k.log.Error("process is not ended", "arm", k.state.Arm, "process", one.Name, "error", err)
			errs = append(errs, fmt.Errorf("%s: %w", one.Name, err))
			continue
		}
		now := time.Now()
		if err := k.note(func(s *State) { s.Processes[i].StoppedAt = &now }); err != nil {
			errs = append(errs, fmt.Errorf("%s has ended, which cannot be written down: %w", one.Name, err))
		}
	}
	errs = append(errs, k.removeFiles(), k.resetClocks(ctx))
	if errors.Join(errs...) == nil {
		now := time.Now()
		errs = append(errs, k.note(func(s *State) { s.DownAt = &now }))
	}
	return errors.Join(errs...)
}

// Failure is an arm that did not come up, or one of whose processes was lost.
type Failure struct {
	Arm, Process string
	// What happened, in words.
	What string
	// Logs are the ends of the logs of all processes that were started.
	Logs []Tail
}

func (f *Failure) Error() string { return fmt.Sprintf("arm %s: %s %s", f.Arm, f.Process, f.What) }

// Write prints the ends of the logs, as a terminal may show them.
func (f *Failure) Write(w io.Writer) error { return WriteTails(w, f.Logs) }

// failure is one of this arm, with what its logs end with.
func (r *Running) failure(process, what string) *Failure {
	state := r.keeper.seen()
	f := &Failure{Arm: state.Arm, Process: process, What: what}
	for _, one := range state.Processes {
		tail, err := one.tail(tailLines)
		if err != nil {
			tail.Lines = []string{fmt.Sprintf("[%v]", err)}
		}
		f.Logs = append(f.Logs, tail)
	}
	return f
}

// signalOf is the signal that a process is asked to end by.
func signalOf(s plan.Stop) string { return cmp.Or(s.Signal, stopSignal) }
