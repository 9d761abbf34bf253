package arm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

const (
	// killTimeout is how long what was killed may take to be gone: a driver may hold a process.
	killTimeout = 10 * time.Second
	// leastPatience is what a command that stops a process gets even when there is no time.
	leastPatience = 5 * time.Second
	// goneEvery is the pause between two looks.
	goneEvery = 50 * time.Millisecond
)

// patience is how long a process may take to end.
func patience(s plan.Stop) time.Duration { return cmp.Or(s.Timeout, stopTimeout) }

// inOwnGroup makes the end of a command that of all that it started.
func inOwnGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return unix.Kill(-c.Process.Pid, unix.SIGKILL) }
}

// stop ends a process: by its command or a signal, and by force when its time is up or the context is
// done. Nothing of it is left, or the error says what.
func (k *keeper) stop(ctx context.Context, one Started, spec plan.Process) error {
	ending := &ending{keeper: k, one: one, spec: spec, place: k.placeOfStarted(one), until: time.Now().Add(patience(spec.Stop))}
	ending.family = newFamily(one.Leader, mark(k.state.Token, one.Name))
	if k.state.BootID != k.boot() {
		if one.Host == "" {
			return nil // the machine was started anew since
		}
		ending.family.leader = Identity{} // what has the number now is another's
	}
	_, _ = ending.family.members() // to have seen them before any of them ends; here says what goes wrong
	ending.command(ctx)
	if !ending.place.away() {
		return errors.Join(ending.here(ctx), ending.containers(ctx))
	}
	found, err := ending.there(ctx)
	err = errors.Join(err, ending.here(ctx))
	if !found && err == nil { // it may have been about to start; its client is gone now
		ending.asked = false
		_, err = ending.there(ctx)
	}
	return errors.Join(err, ending.containers(ctx))
}

// boot is that of the machine now; empty is none that a state has.
func (k *keeper) boot() string {
	id, _ := bootID()
	return id
}

// ending is a process that is being ended.
type ending struct {
	keeper *keeper
	one    Started
	spec   plan.Process
	place  place
	family family
	until  time.Time
	asked  bool // by its command or its shell, so that no signal is needed
}

// left is how long it may still take.
func (e *ending) left(ctx context.Context) time.Duration {
	if ctx.Err() != nil {
		return 0
	}
	return max(0, time.Until(e.until))
}

// command runs the command that stops the process. That it fails is no failure by itself: what counts is what is left.
func (e *ending) command(ctx context.Context) {
	if len(e.spec.Stop.Argv) == 0 {
		return
	}
	least := max(e.left(ctx), leastPatience)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), least)
	defer cancel()
	_, err := inside(ctx, e.spec, e.place, e.spec.Stop.Argv)
	e.asked = err == nil
	if err != nil {
		e.keeper.log.Warn("the command that stops a process failed", "process", e.one.Name, "error", err)
	}
}

// there ends what runs in a container or on another machine, and says whether something did.
func (e *ending) there(ctx context.Context) (found bool, err error) {
	gently, signal := e.left(ctx), signalOf(e.spec.Stop)
	if e.asked {
		signal = ""
	}
	ctx = context.WithoutCancel(ctx)
	end, err := e.place.endThere(ctx, e.keeper.state.Token, e.one.Name, signal, gently)
	if err != nil {
		if running, runErr := e.place.running(ctx); e.place.container != "" && runErr == nil && !running {
			return true, nil // with its container everything in it has ended
		}
		return false, fmt.Errorf("%s cannot be asked, so it may still run there: %w", e.place, err)
	}
	e.asked = true // the client ends with it
	if end.killed {
		e.sayKilled()
	}
	if len(end.left) > 0 {
		return true, fmt.Errorf("process %s lives on in %s though it was killed", join(end.left), e.place)
	}
	return end.found, nil
}

// here ends what runs on this machine.
func (e *ending) here(ctx context.Context) error {
	members, err := e.family.members()
	if err != nil || len(members) == 0 {
		return err
	}
	if !e.asked {
		err = e.gently(ctx, members)
	}
	wait := e.left(ctx)
	if e.asked && e.place.away() {
		wait = min(wait, time.Second) // for the client of what has ended
	}
	if gone, waitErr := e.gone(ctx, wait); gone || waitErr != nil {
		return waitErr
	}
	if !e.place.away() {
		e.sayKilled()
	}
	return errors.Join(err, e.force())
}

func (e *ending) sayKilled() {
	e.keeper.log.Warn("process did not end by itself: killed", "process", e.one.Name, "after", (patience(e.spec.Stop) - time.Until(e.until)).Round(time.Millisecond), "of", signalOf(e.spec.Stop))
}

// gently sends the signal. The group gets it at once, since a process would take a second one for haste.
func (e *ending) gently(ctx context.Context, members []member) error {
	s := unix.SignalNum(signalOf(e.spec.Stop))
	if e.place.root {
		return e.gentlyAsRoot(ctx, s, members)
	}
	var errs []error
	if slices.ContainsFunc(members, func(m member) bool { return m.grouped }) {
		errs = append(errs, ignoreGone(unix.Kill(-e.one.Leader.PID, s)))
	}
	for _, m := range members {
		if !m.grouped {
			errs = append(errs, m.signal(s))
		}
	}
	return errors.Join(errs...)
}

// gentlyAsRoot sends the signal to sudo, which passes it on to what it runs, and then to what has
// outlived that.
func (e *ending) gentlyAsRoot(ctx context.Context, s unix.Signal, members []member) error {
	if slices.ContainsFunc(members, func(m member) bool { return m.Identity == e.one.Leader }) {
		if err := sudoKill(ctx, s, []int{e.one.Leader.PID}); err != nil {
			return err
		}
		for !e.one.Leader.ended() && e.left(ctx) > 0 {
			time.Sleep(goneEvery)
		}
		if !e.one.Leader.ended() {
			return nil // its time is up
		}
	}
	rest, err := e.family.members()
	if err != nil || len(rest) == 0 {
		return err
	}
	return sudoKill(ctx, s, pids(rest))
}

// gone waits until nothing is left.
func (e *ending) gone(ctx context.Context, wait time.Duration) (bool, error) {
	until := time.Now().Add(wait)
	for {
		members, err := e.family.members()
		if err != nil || len(members) == 0 {
			return err == nil, err
		}
		if !time.Now().Before(until) {
			return false, nil
		}
		select {
		case <-ctx.Done():
			until = time.Now()
		case <-time.After(min(goneEvery, time.Until(until))):
		}
	}
}

// force kills until nothing is left: what is killed may have started something just before.
func (e *ending) force() error {
	var errs []error
	for until := time.Now().Add(killTimeout); ; time.Sleep(goneEvery) {
		members, err := e.family.members()
		if err != nil || len(members) == 0 {
			return err
		}
		if time.Now().After(until) {
			return errors.Join(append(errs, fmt.Errorf("process %s lives on %v after SIGKILL, in state %s", join(pids(members)), killTimeout, members[0].state))...)
		}
		errs = e.kill(members)
	}
}

func (e *ending) kill(members []member) []error {
	if e.place.root {
		return []error{sudoKill(context.Background(), unix.SIGKILL, pids(members))}
	}
	var errs []error
	for _, m := range members {
		errs = append(errs, m.signal(unix.SIGKILL))
	}
	return errs
}

// sudoKill signals processes of root. kill fails when one has ended meanwhile, which the next look tells.
func sudoKill(ctx context.Context, s unix.Signal, pids []int) error {
	args := []string{"sudo", "-n", "kill", "-s", strings.TrimPrefix(unix.SignalName(s), "SIG"), "--"}
	for _, pid := range pids {
		args = append(args, strconv.Itoa(pid))
	}
	if _, err := ask(context.WithoutCancel(ctx), question{args: args}); err != nil {
		return fmt.Errorf("sudo -n kill: %w", err)
	}
	return nil
}

func ignoreGone(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

func pids(members []member) []int {
	all := make([]int, len(members))
	for i, m := range members {
		all[i] = m.PID
	}
	slices.Sort(all)
	return all
}

func join(pids []int) string {
	words := make([]string, len(pids))
	for i, pid := range pids {
		words[i] = strconv.Itoa(pid)
	}
	return strings.Join(words, ", ")
}
