// Package arm starts the processes and files of one way to serve, checks that they are ready and stay alive, and
// removes all of them afterwards, even after a crash of this program.
//
// Each process has a session of its own and writes its log itself, so it does not depend on this program. The file
// arm.json in the folder of the arm records each process before it is started. After a crash, processes are recognised
// by their start times, the boot ID of the machine and a mark in their environment, and never by a number alone.
package arm

import (
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

// Running is an arm that is up and watched.
type Running struct {
	keeper    *keeper
	guard     *guard
	processes []*process // in the order of their start

	ctx    context.Context
	lose   context.CancelCauseFunc
	watch  sync.WaitGroup // goroutines that probe whether processes are alive
	asking context.CancelFunc
}

// keeper starts and stops arms. Tests use one without root.
type keeper struct {
	dir  string
	root bool // this process is root and needs no sudo
	log  *slog.Logger
	lock *os.File
	// role is the role of the lock's holder; empty means the owner of the arm.
	role string
	// guardian and cgroups are as in Options.
	guardian []string
	cgroups  *Cgroups

	mutex sync.Mutex // guards the fields below, which are read when a process ends
	state *State     // nil if no arm was ever started here
}

func newKeeper(dir string, log *slog.Logger) *keeper {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &keeper{dir: dir, root: os.Geteuid() == 0, log: log}
}

// Options are the means that a program has to start arms.
type Options struct {
	// Guardian is the command line of a program that calls Guard with its standard input: a process in a session of its
	// own that stops the arm when this process is killed. The folder of the arm is appended to it, to be visible in
	// lists of processes. If empty, none is started.
	Guardian []string
	// Cgroups is where arms get cgroups of their own; nil makes their processes process groups only.
	Cgroups *Cgroups
	Log     *slog.Logger
}

// Up writes the files of an arm of a checked plan, starts its processes one after the other and returns when the last one is ready. The
// placeholders in spec are filled in. The state of this start is in dir, which belongs to the arm and is made if
// needed. If Up fails or panics, it stops everything that it started.
//
// If the context ends during Up, that is a failure too. If it ends later, it only ends Running.Context; the caller
// must still call Down or Leave.
func Up(ctx context.Context, spec plan.Arm, dir string, o Options) (*Running, error) {
	k := newKeeper(dir, o.Log)
	k.guardian, k.cgroups = o.Guardian, o.Cgroups
	return k.up(ctx, spec)
}

func (k *keeper) up(ctx context.Context, spec plan.Arm) (*Running, error) {
	for _, p := range spec.Processes {
		if err := (place{host: p.Host, container: p.Container}).check(); err != nil {
			return nil, fmt.Errorf("arm %s: process %s: %w", spec.Name, p.Name, err)
		}
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
		if !up { // a panic ends here too
			_ = r.Down(context.WithoutCancel(ctx)) // its error names the processes that it could not end
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

// begin prepares the start: it checks that the arm is down and that no other server answers its probes, and writes the
// state.
func (k *keeper) begin(ctx context.Context, spec plan.Arm) error {
	if err := k.vacant(ctx, spec); err != nil {
		return err
	}
	if err := silent(ctx, spec); err != nil {
		return err
	}
	if k.state != nil {
		if err := errors.Join(k.removeFiles(), k.removeCgroupOfArm()); err != nil {
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

// ErrUp is the error of a start when the last start of the arm was not ended.
var ErrUp = errors.New("is up already")

// vacant returns an error unless the last start of the arm was ended.
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

// start writes the files, locks the clocks, makes the cgroup and starts the processes.
func (r *Running) start(spec plan.Arm) error {
	if err := r.keeper.writeFiles(spec.Files); err != nil {
		return err
	}
	if err := r.keeper.lockClocks(r.ctx, spec.Clocks); err != nil {
		return err
	}
	if err := r.keeper.makeCgroup(spec.Name); err != nil {
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

// hear marks the arm as lost when a process ends.
func (r *Running) hear(p *process) {
	<-p.client.Ended()
	what := p.client.Exit().String()
	if p.place.away() {
		what = fmt.Sprintf("%s, or the %s that it ran by", what, filepath.Base(p.place.shell()[0]))
	}
	r.lose(r.failure(p.started.Name, what))
}

// Context is done when a process is lost, or when the context of Up is done. context.Cause is then a *Failure that
// names the process and how it ended, or the cause of that context.
func (r *Running) Context() context.Context { return r.ctx }

// State returns what was started, for a manifest: hashes of files and names of options, no values.
func (r *Running) State() State { return r.keeper.seen() }

// Down ends the processes in reverse order and removes the files that were written. It always ends all of them: a done
// context only shortens the time that they get. It is not an error if the arm is down already.
func (r *Running) Down(ctx context.Context) error {
	r.unwatch()
	defer r.guard.dismiss()   // last: until then the guardian ends what Down does not reach
	if r.keeper.lock == nil { // ended or left before; another process may hold the arm now
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

// Leave stops watching the arm and keeps it up. The function Down ends it later, from its folder.
func (r *Running) Leave() {
	r.unwatch()
	r.keeper.close()
	r.guard.dismiss()
}

// errGone is the cause of the context of an arm that is no longer watched.
var errGone = errors.New("the arm is not watched any more")

func (r *Running) unwatch() {
	r.lose(errGone) // a process that ends from now on does not count as lost
	if r.asking != nil {
		r.asking()
	}
	r.watch.Wait()
}

// Down ends the processes that the state in the folder of an arm lists, from this or another invocation, as
// Running.Down does. If spec lacks a process, its stop command is unknown and it gets a signal instead: the state has
// no commands, since they may contain keys.
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
	errs = append(errs, k.removeFiles(), k.hideSecrets(specs), k.resetClocks(ctx), k.removeCgroupOfArm())
	if errors.Join(errs...) == nil {
		now := time.Now()
		errs = append(errs, k.note(func(s *State) { s.DownAt = &now }))
	}
	return errors.Join(errs...)
}

// Failure is the error of an arm that did not start, or that lost a process.
type Failure struct {
	Arm, Process string
	// What describes what happened.
	What string
	// Logs are the ends of the logs of all processes that were started.
	Logs []Tail
}

func (f *Failure) Error() string { return fmt.Sprintf("arm %s: %s %s", f.Arm, f.Process, f.What) }

// Write prints the ends of the logs, made safe for a terminal.
func (f *Failure) Write(w io.Writer) error { return WriteTails(w, f.Logs) }

// failure returns a Failure of this arm, with the ends of its logs.
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
