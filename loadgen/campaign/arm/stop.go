package arm

import (
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
	// killTimeout is how long a killed process may take to disappear: a driver may delay it.
	killTimeout = 10 * time.Second
	// leastPatience is the least time that a stop command gets, even if the context is done.
	leastPatience = 5 * time.Second
	// goneEvery is the pause between two checks.
	goneEvery = 50 * time.Millisecond
)

// inOwnGroup makes the command's cancellation end its whole process group.
func inOwnGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return unix.Kill(-c.Process.Pid, unix.SIGKILL) }
}

// stop ends a process: with its command or a signal, and by force when its time is up or the context is done. It
// returns nil if nothing is left, else an error that names what is.
func (k *keeper) stop(ctx context.Context, one Started, spec plan.Process) error {
	ending := &ending{keeper: k, one: one, spec: spec, place: k.placeOfStarted(one), until: time.Now().Add(spec.Stop.Timeout)}
	ending.family = k.state.family(one)
	if k.state.BootID != k.boot() {
		if one.Host == "" {
			return nil // the machine was restarted since
		}
		ending.family.leader, ending.family.cgroup = Identity{}, "" // of before the restart
	}
	_, _ = ending.family.members() // find the members before any of them ends; here reports the error
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

// boot returns the boot ID of the machine, or "", which no state has.
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

// left returns how much longer it may take.
func (e *ending) left(ctx context.Context) time.Duration {
	if ctx.Err() != nil {
		return 0
	}
	return max(0, time.Until(e.until))
}

// command runs the process's stop command. Its failure alone is no error; the check of what is left decides.
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

// there ends the processes in a container or on another machine, and reports whether there were any.
func (e *ending) there(ctx context.Context) (found bool, err error) {
	gently, signal := e.left(ctx), e.spec.Stop.Signal
	if e.asked {
		signal = ""
	}
	ctx = context.WithoutCancel(ctx)
	end, err := e.place.endThere(ctx, e.keeper.state.Token, e.one.Name, signal, gently)
	if err != nil {
		if running, runErr := e.place.running(ctx); e.place.container != "" && runErr == nil && !running {
			return true, nil // the end of the container ends everything in it
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

// here ends the processes on this machine.
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
		wait = min(wait, time.Second) // for the client of a process that has ended
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
	e.keeper.log.Warn("process did not end by itself: killed", "process", e.one.Name, "after", (e.spec.Stop.Timeout - time.Until(e.until)).Round(time.Millisecond), "of", e.spec.Stop.Signal)
}

// gently sends the signal. The whole group gets it at once: a process that gets it twice may stop in a hurry.
func (e *ending) gently(ctx context.Context, members []member) error {
	s := unix.SignalNum(e.spec.Stop.Signal)
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

// gentlyAsRoot sends the signal to sudo, which passes it on to its program, then to the processes that outlive it.
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

// gone waits until no process is left.
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

// force kills until no process is left: a killed process may have started another just before.
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

// kill kills the processes in the cgroup, and those that have left it.
func (e *ending) kill(members []member) []error {
	errs := []error{killCgroup(e.family.cgroup)}
	if e.place.root {
		return append(errs, sudoKill(context.Background(), unix.SIGKILL, pids(members)))
	}
	for _, m := range members {
		errs = append(errs, m.signal(unix.SIGKILL))
	}
	return errs
}

// sudoKill signals processes of root. kill fails if one of them has ended; the next check finds that.
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
