package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/subprocess"
)

// errNotStarted is the reason why there is no run: the command could not be started.
var errNotStarted = errors.New("the command could not be started")

// mostPrinted is the most output of the command that is kept of each stream, in bytes.
const mostPrinted = 256 << 20

// commandLog reads the output of a command line by line, as soon as a line ends: lines mark the begin of phases and
// contain figures.
type commandLog struct {
	journal  *journal
	messages *slog.Logger

	mutex   sync.Mutex // guards the fields below: both streams are read at once
	reading *enginelog.Reading
	borders []rundir.Border
	failed  error // error of recording a phase; the command goes on and the run fails at its end
}

// begin begins a phase.
func (c *commandLog) begin(phase string) { c.note(c.journal.begin(phase)) }

// note keeps the error of a phase that could not be recorded.
func (c *commandLog) note(err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.failed = errors.Join(c.failed, err)
}

// read reads a line of a stream.
func (c *commandLog) read(stream string, l enginelog.Line) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	phase, words := c.reading.Line(stream, l)
	if phase == "" {
		return
	}
	c.failed = errors.Join(c.failed, c.journal.begin(phase))
	c.borders = append(c.borders, rundir.Border{Phase: phase, From: l.From(stream), Text: words})
	c.messages.Debug("phase", "phase", phase, "line", l.From(stream))
}

// runCommand runs the command to its end and adds its exit to the manifest. The exit is the zero value if the command
// never ran.
func (r *recording) runCommand(ctx context.Context) (subprocess.Exit, error) {
	stdout, err := r.openLog(r.folder, rundir.StdoutFile, mostPrinted)
	if err != nil {
		return subprocess.Exit{}, err
	}
	stderr, err := r.openLog(r.folder, rundir.StderrFile, mostPrinted)
	if err != nil {
		return subprocess.Exit{}, errors.Join(err, r.closeLog("stdout", stdout))
	}
	fromStdout := enginelog.NewLines(func(l enginelog.Line) { r.log.read("stdout", l) })
	fromStderr := enginelog.NewLines(func(l enginelog.Line) { r.log.read("stderr", l) })
	r.log.begin(cmp.Or(r.load.Tool.First, spec.PhaseMeasure))
	secrets := openai.NewRedactor(r.capture.secrets())
	keptStdout, keptStderr := &redactedLog{to: stdout, secrets: secrets}, &redactedLog{to: stderr, secrets: secrets}
	c, err := subprocess.Start(subprocess.Options{
		Args:   r.load.Argv,
		Stdout: subprocess.NewOutput(r.env.Stdout, keptStdout, fromStdout),
		Stderr: subprocess.NewOutput(r.env.Stderr, keptStderr, fromStderr),
	})
	if err != nil {
		return subprocess.Exit{}, errors.Join(fmt.Errorf("%w: %w", errNotStarted, err), r.closeLog("stdout", stdout), r.closeLog("stderr", stderr))
	}
	err = r.await(ctx, c)
	fromStdout.Flush()
	fromStderr.Flush()
	err = errors.Join(err, keptStdout.Close(), keptStderr.Close())
	exit := c.Exit()
	r.manifest.Command.ExitCode, r.manifest.Command.Signal = &exit.Code, exit.Signal
	return exit, errors.Join(err, r.closeLog("stdout", stdout), r.closeLog("stderr", stderr))
}

// await waits for the end of the command. It passes on the first interrupt. A second interrupt, or the end of the
// grace period, kills the command.
func (r *recording) await(ctx context.Context, c *subprocess.Command) error {
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

// closeLog completes the log of a stream.
func (r *recording) closeLog(stream string, l *rundir.Log) error {
	cut, err := l.Close()
	if cut {
		r.manifest.Command.Cut = append(r.manifest.Command.Cut, stream)
	}
	if err != nil {
		err = fmt.Errorf("logs: %s: %w", stream, err)
	}
	return err
}
