package view

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// repeatAfter is the time within which a line is logged once. Prometheus reads the files of targets again at every change in their
// folder: a log in that folder would grow by its own lines without end.
const repeatAfter = time.Minute

// onceLog drops lines that were logged shortly before.
type onceLog struct {
	slog.Handler
	with   string // what WithAttrs and WithGroup have added
	logged *loggedLines
}

// loggedLines are the lines of the last minute.
type loggedLines struct {
	sync.Mutex
	at map[string]time.Time
}

func newOnceLog(next slog.Handler) slog.Handler {
	return onceLog{next, "", &loggedLines{at: map[string]time.Time{}}}
}

// Handle implements slog.Handler.
func (l onceLog) Handle(ctx context.Context, r slog.Record) error {
	var line strings.Builder
	line.WriteString(l.with + r.Level.String() + r.Message)
	r.Attrs(func(a slog.Attr) bool {
		line.WriteString(" " + a.String())
		return true
	})
	if l.logged.repeats(line.String(), r.Time) {
		return nil
	}
	return l.Handler.Handle(ctx, r)
}

func (l *loggedLines) repeats(line string, at time.Time) bool {
	l.Lock()
	defer l.Unlock()
	for one, before := range l.at {
		if at.Sub(before) >= repeatAfter {
			delete(l.at, one)
		}
	}
	_, known := l.at[line]
	if !known {
		l.at[line] = at
	}
	return known
}

// WithAttrs implements slog.Handler.
func (l onceLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := l.with
	for _, a := range attrs {
		with += a.String() + " "
	}
	return onceLog{l.Handler.WithAttrs(attrs), with, l.logged}
}

// WithGroup implements slog.Handler.
func (l onceLog) WithGroup(name string) slog.Handler {
	return onceLog{l.Handler.WithGroup(name), l.with + name + ".", l.logged}
}
