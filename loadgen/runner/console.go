package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ProgressFormat is how the progress of runs is shown.
type ProgressFormat string

// Formats of progress.
const (
	ProgressAuto  ProgressFormat = "auto"  // a line that is redrawn on a terminal, lines elsewhere
	ProgressLines ProgressFormat = "lines" // a line every lineInterval
	ProgressJSON  ProgressFormat = "json"  // a Progress every jsonInterval
	ProgressNone  ProgressFormat = "none"
)

// Intervals of progress.
const (
	redrawInterval = 500 * time.Millisecond
	jsonInterval   = time.Second
	lineInterval   = 10 * time.Second
)

// Console writes messages and the progress of runs to the same output. On a terminal one line of progress stays below
// the messages and is redrawn.
type Console struct {
	out      io.Writer
	format   ProgressFormat
	terminal bool

	mutex sync.Mutex
	line  string
}

// NewConsole writes to out, which may be a terminal.
func NewConsole(out io.Writer, format ProgressFormat) *Console {
	return &Console{out: out, format: format, terminal: format == ProgressAuto && isTerminal(out) && os.Getenv("TERM") != "dumb"}
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
	if c.line != "" || line != "" {
		c.line = line
		fmt.Fprint(c.out, eraseLine+line)
	}
}

// interval returns the time between two lines; 0 if there are none.
func (c *Console) interval() time.Duration {
	switch {
	case c.format == ProgressNone:
		return 0
	case c.format == ProgressJSON:
		return jsonInterval
	case c.terminal:
		return redrawInterval
	}
	return lineInterval
}

// watch shows the progress of the run until the returned function is called, with the state in which the run ended.
func (r *run) watch() (end func(state string)) {
	stop, done := make(chan struct{}), make(chan struct{})
	w := watcher{run: r, lines: r.env.Console.format == ProgressJSON || r.env.Log.Enabled(context.Background(), slog.LevelInfo)}
	go func() {
		defer close(done)
		tick := time.NewTicker(redrawInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				w.look()
			case <-stop:
				return
			}
		}
	}()
	var once sync.Once
	return func(state string) {
		once.Do(func() {
			close(stop)
			<-done
			w.end(state)
		})
	}
}

// watcher shows the progress of a run at intervals. It is used by one goroutine at a time.
type watcher struct {
	run   *run
	lines bool
	shown time.Time
	of    *phaseMeter
}

// look takes the state of the run and shows it.
func (w *watcher) look() {
	now := w.run.journal.clock()
	p := w.progress(now)
	w.run.env.Page.update(p)
	c := w.run.env.Console
	phase := w.run.journal.meter.phase.Load()
	if phase != w.of {
		w.of = phase
		if c.format != ProgressJSON {
			w.shown = time.Now() // the lines of a phase begin anew
			c.show("")
		}
	}
	interval := c.interval()
	if !w.lines || interval == 0 || time.Since(w.shown) < interval {
		return
	}
	w.shown = time.Now()
	if c.format == ProgressJSON {
		c.writeJSON(p)
	} else if phase != nil && phase.loaded {
		c.show(phase.line(now))
	}
}

// end shows the last state of the run.
func (w *watcher) end(state string) {
	c, p := w.run.env.Console, w.progress(w.run.journal.clock())
	p.State = state
	w.run.env.Page.update(p)
	if c.format == ProgressJSON {
		c.writeJSON(p)
		return
	}
	c.show("")
}

// progress returns the state of the run.
func (w *watcher) progress(now int64) Progress {
	p := w.run.journal.meter.progress(now)
	p.Machines, p.Series = w.run.capture.machines(), w.run.env.Series
	return p
}

// writeJSON writes the state of a run as a line.
func (c *Console) writeJSON(p Progress) {
	line, err := json.Marshal(p)
	if err != nil { // a figure that is not finite
		line = fmt.Appendf(nil, `{"schema":%q,"error":%q}`, ProgressSchema, err)
	}
	_, _ = c.Write(append(line, '\n')) // a closed terminal does not affect the run
}
