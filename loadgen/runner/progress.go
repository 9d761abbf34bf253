package runner

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/workload"
)

// Intervals of the progress line: redrawn on a terminal, a new line elsewhere.
const (
	redrawInterval = 500 * time.Millisecond
	lineInterval   = 10 * time.Second
)

// tally counts the requests of a phase for the progress line.
type tally struct {
	phase   workload.Phase
	planned int
	since   int64

	started, ended, failed atomic.Int64
}

// newTally counts a phase of so many requests (0 if the number is unknown) from a time in nanoseconds since the run's
// start.
func newTally(phase workload.Phase, planned int, since int64) *tally {
	return &tally{phase: phase, planned: planned, since: since}
}

// Observe returns the observer that counts the requests.
func (t *tally) Observe() workload.Observer {
	return workload.Observer{
		Started: func() { t.started.Add(1) },
		Payload: func() {},
		Ended: func(_ workload.Job, result openai.Result) {
			t.ended.Add(1)
			if result.Record.Status != openai.StatusOK {
				t.failed.Add(1)
			}
		},
	}
}

// line returns the progress line at a time in nanoseconds since the run's start.
func (t *tally) line(now int64) string {
	ended, started, failed := t.ended.Load(), t.started.Load(), t.failed.Load()
	elapsed := time.Duration(now - t.since)
	total := ""
	if t.planned > 0 {
		total = fmt.Sprintf("/%d", t.planned)
	}
	rate := 0.0
	if elapsed > 0 {
		rate = float64(ended) / elapsed.Seconds()
	}
	return fmt.Sprintf("%s: %d%s requests, %.2f/s, %d in flight, %d failed, %s",
		t.phase.Name, ended, total, rate, started-ended, failed, t.left(elapsed, int(ended)))
}

// left estimates the remaining time of the phase: until its duration is over, or until the remaining requests have
// ended at the rate so far, whichever is first.
func (t *tally) left(elapsed time.Duration, ended int) string {
	const unknown = time.Duration(1<<63 - 1)
	left := unknown
	if d := t.phase.Limit.Duration; d > 0 {
		if left = d - elapsed; left <= 0 {
			return "waiting for those in flight"
		}
	}
	if t.planned > 0 && ended > 0 {
		perRequest := elapsed / time.Duration(ended)
		left = min(left, perRequest*time.Duration(t.planned-ended))
	}
	if left == unknown {
		return "unknown time left"
	}
	return left.Round(time.Second).String() + " left"
}

// Console writes messages and one progress line to the same output. On a terminal the line stays below the messages
// and is redrawn; elsewhere it is a message like any other.
type Console struct {
	out      io.Writer
	terminal bool

	mutex sync.Mutex
	line  string
}

// NewConsole writes to out, which may be a terminal.
func NewConsole(out io.Writer) *Console {
	return &Console{out: out, terminal: isTerminal(out)}
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return err == nil
}

const eraseLine = "\r\x1b[K"

// Write writes a message above the progress line.
func (c *Console) Write(message []byte) (int, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.line == "" {
		return c.out.Write(message)
	}
	if _, err := io.WriteString(c.out, eraseLine); err != nil {
		return 0, err
	}
	n, err := c.out.Write(message)
	if err == nil {
		_, err = io.WriteString(c.out, c.line)
	}
	return n, err
}

// show replaces the progress line; "" removes it.
func (c *Console) show(line string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.terminal {
		if line != "" {
			fmt.Fprintln(c.out, line)
		}
		return
	}
	c.line = line
	fmt.Fprint(c.out, eraseLine+line)
}

// Follow shows the progress of a phase until the context is done.
func (c *Console) Follow(ctx context.Context, t *tally, clock openai.Clock) {
	interval := lineInterval
	if c.terminal {
		interval = redrawInterval
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.show(t.line(clock()))
		case <-ctx.Done():
			c.show("")
			return
		}
	}
}
