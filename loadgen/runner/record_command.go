package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/command"
	"github.com/umascope/umascope/loadgen/extract"
	"github.com/umascope/umascope/loadgen/folder"
	"github.com/umascope/umascope/loadgen/scene"
)

// errNotStarted is why there is no run: the command could not be started.
var errNotStarted = errors.New("the command could not be started")

// mostPrinted bounds what is kept of each stream of the command.
const mostPrinted = 256 << 20

// follow goes through the phases, with everything that watches them around them.
func (r *recording) follow(ctx context.Context) error {
	cut, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	go func() {
		select {
		case <-r.env.Cut:
			cancel()
		case <-cut.Done():
		}
	}()
	if r.env.Engine != nil {
		err := r.followAround(ctx, cut)
		return errors.Join(err, r.scene.Leave(), r.failed)
	}
	err := r.scene.Capture(ctx, scene.Before)
	if err == nil {
		err = r.open(ctx)
	}
	if err == nil {
		err = r.watched(ctx, metric.PhaseBefore)
		r.closeSpan()
	}
	err = errors.Join(err, r.scene.Leave(), r.failed)
	r.scene.KeepLog(cut)
	return errors.Join(err, r.scene.Capture(cut, scene.After))
}

// open starts the run's clock, and to follow the sources on it.
func (r *recording) open(ctx context.Context) error {
	start := time.Now()
	r.clock = func() int64 { return int64(time.Since(start)) }
	r.manifest.StartedAt = start.UTC()
	if err := r.folder.WriteJSON(folder.ManifestFile, r.manifest); err != nil {
		return err
	}
	return r.scene.Follow(ctx, r.clock)
}

// watched runs the command with a stretch of the machine's rest before and after it.
func (r *recording) watched(ctx context.Context, before string) error {
	r.enter(before)
	err := ErrInterrupted
	if r.rest(ctx, before, r.load.Before) {
		err = r.run(ctx)
	}
	r.enter(metric.PhaseAfter)
	if err == nil {
		r.rest(ctx, metric.PhaseAfter, r.load.After)
	}
	return err
}

// closeSpan ends the last phase.
func (r *recording) closeSpan() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.leave()
}

// rest waits, if anybody watches the machine meanwhile; not if it was interrupted. It says so: half a
// minute in which nothing happens looks like a program that hangs.
func (r *recording) rest(ctx context.Context, phase string, how time.Duration) bool {
	if len(r.scene.Sources) == 0 || how == 0 {
		return ctx.Err() == nil
	}
	r.env.Log.Info("watching the machine", "phase", phase, "for", how)
	select {
	case <-time.After(how):
		return true
	case <-ctx.Done():
		return false
	}
}

// run runs the command to its end.
func (r *recording) run(ctx context.Context) error {
	stdout, err := r.openLog(folder.StdoutFile, mostPrinted)
	if err != nil {
		return err
	}
	stderr, err := r.openLog(folder.StderrFile, mostPrinted)
	if err != nil {
		return errors.Join(err, r.closed("stdout", stdout))
	}
	fromStdout := extract.NewLines(func(l extract.Line) { r.hear("stdout", l) })
	fromStderr := extract.NewLines(func(l extract.Line) { r.hear("stderr", l) })
	first := r.load.Tool.First
	if first == "" {
		first = extract.PhaseMeasure
	}
	r.enter(first)
	c, err := command.Start(command.Options{
		Args:   r.load.Argv,
		Stdout: command.NewOutput(r.env.Stdout, stdout, fromStdout),
		Stderr: command.NewOutput(r.env.Stderr, stderr, fromStderr),
	})
	if err != nil {
		return errors.Join(fmt.Errorf("%w: %w", errNotStarted, err), r.closed("stdout", stdout), r.closed("stderr", stderr))
	}
	err = r.await(ctx, c)
	fromStdout.Flush()
	fromStderr.Flush()
	r.exit = c.Exit()
	r.manifest.Command.ExitCode, r.manifest.Command.Signal = &r.exit.Code, r.exit.Signal
	return errors.Join(err, r.closed("stdout", stdout), r.closed("stderr", stderr))
}

// await waits for the end of the command. An interrupt is handed on once; a second one, or that it
// takes too long, kills it.
func (r *recording) await(ctx context.Context, c *command.Command) error {
	select {
	case <-c.Ended():
		return nil
	case <-ctx.Done():
	}
	r.env.Log.Warn("interrupted: the command may end; interrupt again to kill it", "at_most", r.load.Grace)
	c.Interrupt()
	select {
	case <-c.Ended():
	case <-time.After(r.load.Grace):
		c.Kill()
	case <-r.env.Cut:
		c.Kill()
	}
	<-c.Ended()
	return ErrInterrupted
}

// closed completes the log of a stream.
func (r *recording) closed(stream string, l *folder.Log) error {
	cut, err := l.Close()
	if cut {
		r.manifest.Command.Cut = append(r.manifest.Command.Cut, stream)
	}
	if err != nil {
		err = fmt.Errorf("logs: %s: %w", stream, err)
	}
	return err
}
