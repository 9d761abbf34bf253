package terminal

import (
	"io"
	"log/slog"
)

// Log is what a program logs: the flags --log.level and --log.format, as programs of Prometheus spell them.
type Log struct{ level, format string }

// LogAt returns a log of a level.
func LogAt(level string) Log { return Log{level: level} }

// Flags declares the flags; fallback is the level where none is given.
func (l *Log) Flags(set FlagSet, fallback string) {
	Flag(set, "log.level", "Least severe messages to log: debug, info, warn, error.", fallback, &l.level, OneOf("debug", "info", "warn", "error"))
	Flag(set, "log.format", "Format of log messages: logfmt or json.", "logfmt", &l.format, OneOf("logfmt", "json"))
}

// Args returns the flags as they are typed.
func (l Log) Args() []string { return []string{"--log.level=" + l.level, "--log.format=" + l.format} }

// Logger returns a logger that writes the messages to w.
func (l Log) Logger(w io.Writer) *slog.Logger {
	var least slog.Level
	_ = least.UnmarshalText([]byte(l.level)) // the flag accepts only the names of slog
	options := &slog.HandlerOptions{Level: least}
	if l.format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
