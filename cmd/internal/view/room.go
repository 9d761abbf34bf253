package view

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/prometheus/storage"
)

// leastRoomBytes is the free space below which samples are dropped. A write-ahead log whose disk became full in the middle of a
// record loses all later records when it is opened again, and its repair needs the space of a file.
const leastRoomBytes = 4 * walSegmentBytes

// room returns an error if the disk of a folder is full, as far as samples are concerned.
func room(dir string) error {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return err
	}
	if free := int64(disk.Bavail) * disk.Bsize; free < leastRoomBytes {
		return fmt.Errorf("%d of at least %d MiB are free: %w", free>>20, leastRoomBytes>>20, syscall.ENOSPC)
	}
	return nil
}

// roomyStorage appends while there is room.
type roomyStorage struct {
	storage.Storage
	room func() error
}

// Appender implements storage.Appendable.
func (s roomyStorage) Appender(ctx context.Context) storage.Appender {
	return roomyAppender{s.Storage.Appender(ctx), s.room}
}

// AppenderV2 implements storage.AppendableV2.
func (s roomyStorage) AppenderV2(ctx context.Context) storage.AppenderV2 {
	return roomyAppenderV2{s.Storage.AppenderV2(ctx), s.room}
}

type roomyAppender struct {
	storage.Appender
	room func() error
}

// Commit implements storage.AppenderTransaction.
func (a roomyAppender) Commit() error { return commit(a.Appender, a.room) }

type roomyAppenderV2 struct {
	storage.AppenderV2
	room func() error
}

// Commit implements storage.AppenderTransaction.
func (a roomyAppenderV2) Commit() error { return commit(a.AppenderV2, a.room) }

func commit(samples storage.AppenderTransaction, room func() error) error {
	if err := room(); err != nil {
		return errors.Join(err, samples.Rollback())
	}
	return samples.Commit()
}

// fullDiskLog logs a full disk once, in place of an error of each scrape and each rule. After a minute without one, the next is
// logged again.
type fullDiskLog struct {
	slog.Handler
	dir  string
	last *lastError
}

// lastError is the time of the last error of a full disk.
type lastError struct {
	sync.Mutex
	at time.Time
}

const fullDiskEnds = time.Minute

func newFullDiskLog(log *slog.Logger, dir string) *slog.Logger {
	return slog.New(fullDiskLog{log.Handler(), dir, &lastError{}})
}

// Handle implements slog.Handler.
func (l fullDiskLog) Handle(ctx context.Context, r slog.Record) error {
	full := false
	r.Attrs(func(a slog.Attr) bool {
		err, is := a.Value.Any().(error)
		full = full || is && errors.Is(err, syscall.ENOSPC)
		return !full
	})
	if !full {
		return l.Handler.Handle(ctx, r)
	}
	l.last.Lock()
	defer l.last.Unlock()
	before := l.last.at
	l.last.at = r.Time
	if r.Time.Sub(before) < fullDiskEnds {
		return nil
	}
	line := slog.NewRecord(r.Time, slog.LevelError, "the disk is full: samples are dropped until there is room; those that are kept stay", r.PC)
	line.AddAttrs(slog.String("data", l.dir), slog.Int("least_free_mib", leastRoomBytes>>20))
	return l.Handler.Handle(ctx, line)
}

// WithAttrs implements slog.Handler.
func (l fullDiskLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return fullDiskLog{l.Handler.WithAttrs(attrs), l.dir, l.last}
}

// WithGroup implements slog.Handler.
func (l fullDiskLog) WithGroup(name string) slog.Handler {
	return fullDiskLog{l.Handler.WithGroup(name), l.dir, l.last}
}
