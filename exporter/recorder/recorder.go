// Package recorder is a flight recorder: it keeps what a machine looked like in its last minutes on disk, and tells from
// that how a boot, or the recorder itself, ended.
//
// A Recorder takes a Sample each second and appends it to a Ring, beside a record of its start and, when it is asked to
// stop, one of that. Records carry a sequence, the boot id, the wall clock and CLOCK_MONOTONIC, the PID of the recorder and
// a hash of the machine id. Order is that of the sequence alone, since a clock may be set back.
//
// The ring is a file of 4096 slots of 16 KiB: 64 MiB, written once with zeros when it is made, so that later writes need no
// space of the disk. The record with sequence n is in slot n modulo 4096: at one a second the ring has the last 68 minutes.
// A slot has a magic number, a checksum, length, sequence and the record as JSON. It stands for itself: a slot that a power
// cut tore, or that the disk damaged, costs its own record. The part of a slot that a record fills, rounded up to pages, is
// one write, followed by fdatasync: what is lost at a power cut is the record in progress. A record is cut to fit its slot,
// so that at most 16 KiB a second are written, 960 KiB a minute; usual ones take 4 KiB.
//
// A Record is what was read and no more. Endings judges: proven where a record says so itself (an ordered shutdown, a line of the kernel
// that names the PID), likely where other records agree with nothing else, else not recorded.
package recorder

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/exporter/hostfs"
)

const (
	// Interval is the time between two samples.
	Interval = time.Second
	// reopenAfter is the time until a ring that could not be opened or written is tried again.
	reopenAfter = time.Minute
	// systemStateFile is what the unit's ExecStop= writes: the answer of systemctl is-system-running. Nothing that an
	// unprivileged service can read without D-Bus tells a shutdown from the stop of a service: utmp is written later, and
	// /run/systemd/shutdown/scheduled is for planned ones only.
	systemStateFile = "system-state"
)

// Identity is what a recorder writes into each of its records.
type Identity struct {
	Machine string // hash of the machine id, "" if there is none
	Boot    string
	PID     int
}

// Identify reads the identity of this process on this machine. The machine id is confidential (man 5 machine-id), so that a
// hash of it is kept.
func Identify(proc hostfs.Dir, machineIDFile string) (Identity, error) {
	boot, err := hostfs.ReadBootID(proc)
	if err != nil {
		return Identity{}, err
	}
	id := Identity{Boot: boot, PID: os.Getpid()}
	text, err := os.ReadFile(machineIDFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return id, nil
	case err != nil:
		return Identity{}, err
	}
	if text := strings.TrimSpace(string(text)); text != "" {
		hash := hmac.New(sha256.New, []byte(text))
		hash.Write([]byte("umascope recorder"))
		id.Machine = hex.EncodeToString(hash.Sum(nil)[:8])
	}
	return id, nil
}

// Settings of a Recorder. All are required but Logger.
type Settings struct {
	Folder   string
	Identity Identity
	// Look returns what a start is to be compared with, see Start. It is called once.
	Look func() Start
	// Take reads a sample. It must return when its context ends.
	Take func(context.Context) Sample
	// Monotonic is CLOCK_MONOTONIC.
	Monotonic func() time.Duration
	Logger    *slog.Logger
}

// Stats are the costs of a recorder, and whether it works.
type Stats struct {
	// Recording reports whether the last record was written.
	Recording              bool
	Records, Bytes, Errors uint64
	// Writing is the time spent in writes, waiting for the disk included.
	Writing time.Duration
}

// Recorder records until it is stopped. An error of the disk costs records, never more: it is logged once, counted, and the
// ring is tried again.
type Recorder struct {
	settings Settings
	ring     *Ring // nil while there is none
	opened   time.Time
	booted   time.Time
	logged   string
	start    Start

	mu     sync.Mutex
	stats  Stats
	report Report
}

// New returns a recorder.
func New(settings Settings) *Recorder {
	if settings.Logger == nil {
		settings.Logger = slog.New(slog.DiscardHandler)
	}
	return &Recorder{settings: settings, booted: time.Now().Add(-settings.Monotonic())}
}

// Stats returns the costs until now.
func (r *Recorder) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// Report returns how the boot before this one ended, and recorders before this one. It is empty until the ring is open.
func (r *Recorder) Report() Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.report
}

// Booted is when this boot began, by the wall clock when the recorder was made.
func (r *Recorder) Booted() time.Time { return r.booted }

// Run records until ctx ends, then writes the record of the stop.
func (r *Recorder) Run(ctx context.Context) {
	_ = os.Remove(filepath.Join(r.settings.Folder, systemStateFile)) // of an earlier stop
	r.start = r.settings.Look()
	r.append(Record{Start: &r.start})
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			r.append(Record{Stop: &Stop{System: systemState(r.settings.Folder)}})
			r.close()
			return
		case <-ticker.C:
			sample := r.take(ctx)
			if ctx.Err() == nil {
				r.append(Record{Sample: &sample})
			}
		}
	}
}

func (r *Recorder) take(ctx context.Context) Sample {
	limited, cancel := context.WithTimeout(ctx, Interval)
	defer cancel()
	began := r.settings.Monotonic()
	sample := r.settings.Take(limited)
	sample.TookMS = (r.settings.Monotonic() - began).Milliseconds()
	return sample
}

// systemState is what ExecStop= wrote, "" if it wrote nothing.
func systemState(folder string) string {
	text, err := os.ReadFile(filepath.Join(folder, systemStateFile))
	if err != nil {
		return ""
	}
	return clip(strings.TrimSpace(string(text)), 40)
}

// append writes one record. A ring that came late has no start record: its session begins with what comes first.
func (r *Recorder) append(record Record) {
	began := time.Now()
	bytes, err := r.write(record, began)
	r.mu.Lock()
	r.stats.Writing += time.Since(began)
	r.stats.Recording = err == nil
	if err == nil {
		r.stats.Records++
		r.stats.Bytes += uint64(bytes)
	} else {
		r.stats.Errors++
	}
	r.mu.Unlock()
	switch {
	case errors.Is(err, errWaiting):
	case err != nil && err.Error() != r.logged:
		r.settings.Logger.Error("recorder does not record", "folder", r.settings.Folder, "reason", err)
		r.logged = err.Error()
	case err == nil && r.logged != "":
		r.settings.Logger.Info("recorder records again", "folder", r.settings.Folder)
		r.logged = ""
	}
}

// errWaiting is the error between two attempts to open a ring. The log has the reason already.
var errWaiting = errors.New("the ring is opened again later")

func (r *Recorder) write(record Record, now time.Time) (int, error) {
	if r.ring == nil {
		if !r.opened.IsZero() && now.Sub(r.opened) < reopenAfter {
			return 0, errWaiting
		}
		r.opened = now
		ring, found, err := Open(r.settings.Folder, r.settings.Identity.Boot)
		if err != nil {
			return 0, err
		}
		r.ring = ring
		r.judge(found, now)
	}
	bytes, err := r.ring.Append(r.stamp(record, now))
	if err != nil {
		r.close()
	}
	return bytes, err
}

func (r *Recorder) stamp(record Record, now time.Time) Record {
	id := r.settings.Identity
	record.Machine, record.Boot, record.PID = id.Machine, id.Boot, id.PID
	record.UnixMS, record.MonotonicMS = now.UnixMilli(), r.settings.Monotonic().Milliseconds()
	return record
}

// judge makes the report of what was in the ring when it was first opened.
func (r *Recorder) judge(found Contents, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.report.Schema == "" {
		r.report, _ = Judge(found, r.stamp(Record{Start: &r.start}, now), false) // without an earlier record there is nothing to report
	}
}

func (r *Recorder) close() {
	if r.ring != nil {
		_ = r.ring.Close()
		r.ring = nil
	}
}

// Monotonic is the clock of Settings.Monotonic on the running machine.
func Monotonic() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0
	}
	return time.Duration(now.Nano())
}
