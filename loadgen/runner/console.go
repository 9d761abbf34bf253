package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/render"
)

// ProgressFormat is how the progress of runs is shown.
type ProgressFormat string

// Formats of progress.
const (
	ProgressAuto  ProgressFormat = "auto"  // a screen on a terminal, lines elsewhere
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

// Console writes messages and the progress of runs to the same output. On a terminal the progress stays below the
// messages as a screen that is redrawn.
type Console struct {
	out    io.Writer
	format ProgressFormat
	mutex  sync.Mutex
	screen *screen // nil if out is no terminal, or another format is wanted
	// held are messages that the next redraw shows, and written is true if one was written since the last.
	held    []byte
	written bool
}

// NewConsole writes to out, which may be a terminal.
func NewConsole(out io.Writer, format ProgressFormat) *Console {
	c := &Console{out: out, format: format}
	if file, is := out.(*os.File); is && format == ProgressAuto && terminal.Is(file) && os.Getenv("TERM") != "dumb" {
		c.screen = &screen{size: func() (int, int) { return terminal.Size(file) }, colours: os.Getenv("NO_COLOR") == ""}
	}
	return c
}

// Write writes a message above the screen. Between two redraws this happens once; further messages wait for the next, so
// that there are two redraws an interval at most. The last line of a message that does not end waits for its end.
func (c *Console) Write(message []byte) (int, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.screen == nil || len(c.screen.shown) == 0 {
		return c.out.Write(message)
	}
	c.held = append(c.held, message...)
	if c.written {
		return len(message), nil
	}
	c.written = true
	shown := c.screen.shown
	return len(message), c.redraw(func(columns int) [][]render.Span {
		if columns != c.screen.columns {
			return nil // until they are drawn for the new width
		}
		return shown
	})
}

// draw replaces the screen; no lines remove it. It does nothing where there is no screen.
func (c *Console) draw(of func(columns int) [][]render.Span) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.written = false; c.screen != nil {
		_ = c.redraw(of) // a closed terminal does not affect the run
	}
}

// redraw writes the messages that wait, and the screen below them. The caller holds the mutex.
func (c *Console) redraw(of func(columns int) [][]render.Span) error {
	whole := bytes.LastIndexByte(c.held, '\n') + 1
	messages := string(c.held[:whole])
	c.held = c.held[:copy(c.held, c.held[whole:])]
	text := c.screen.replace(messages, of)
	if len(c.screen.shown) == 0 {
		text, c.held = text+string(c.held), nil
	}
	_, err := io.WriteString(c.out, text)
	return err
}

// interval returns the time between two lines; 0 if there are none.
func (c *Console) interval() time.Duration {
	switch {
	case c.format == ProgressNone:
		return 0
	case c.format == ProgressJSON:
		return jsonInterval
	case c.screen != nil:
		return redrawInterval
	}
	return lineInterval
}

// watch shows the progress of the run until the returned function is called, with the state in which the run ended.
func (r *run) watch() (end func(state string)) {
	stop, done := make(chan struct{}), make(chan struct{})
	w := watcher{run: r, lines: r.env.Console.format == ProgressJSON || r.env.showsProgress()}
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

// showsProgress reports whether people are shown the progress of runs.
func (e Environment) showsProgress() bool { return e.Log.Enabled(context.Background(), slog.LevelInfo) }

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
	if phase != w.of && c.interval() == lineInterval {
		w.shown = time.Now() // the lines of a phase begin anew
	}
	w.of = phase
	interval := c.interval()
	if !w.lines || interval == 0 || time.Since(w.shown) < interval {
		return
	}
	w.shown = time.Now()
	switch {
	case c.format == ProgressJSON:
		c.writeJSON(p)
	case c.screen != nil:
		c.draw(p.Draw)
	case phase != nil && phase.loaded:
		fmt.Fprintln(c, phase.line(now))
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
	c.draw(nothing)
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
