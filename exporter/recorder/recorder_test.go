package recorder

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/hostfs"
)

func settings(folder string, log io.Writer) Settings {
	began := time.Now()
	return Settings{
		Folder: folder, Identity: Identity{Machine: "m", Boot: "a", PID: 7}, Logger: slog.New(slog.NewTextHandler(log, nil)),
		Look: func() Start { return Start{Version: "v1"} }, Monotonic: func() time.Duration { return time.Since(began) },
		Take: func(context.Context) Sample { return Sample{Memory: &Memory{Pool: 100}} },
	}
}

func TestARecorderTakesASampleEachSecondAndRecordsItsStop(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		recorder := New(settings(folder, &log))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { recorder.Run(ctx); close(done) }()
		time.Sleep(5*time.Second + Interval/2)
		if err := os.WriteFile(filepath.Join(folder, systemStateFile), []byte("stopping\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		cancel()
		<-done
		if s := recorder.Stats(); s.Records != 7 || s.Bytes != 7*pageBytes || s.Errors != 0 || !s.Recording {
			t.Errorf("%+v", s)
		}
		if log.Len() > 0 {
			t.Errorf("log: %s", &log)
		}
	})
	found, err := Read(folder)
	if err != nil || len(found.Records) != 7 || found.Records[0].Start == nil || found.Records[6].Stop == nil || found.Records[6].Stop.System != "stopping" {
		t.Fatalf("%+v, %v", found, err)
	}
	for i, r := range found.Records[1:6] {
		if r.Sample == nil || r.MonotonicMS != int64(i+1)*1000 || r.UnixMS-found.Records[0].UnixMS != r.MonotonicMS || r.Boot != "a" || r.PID != 7 || r.Machine != "m" {
			t.Errorf("record %d: %+v", i+1, r)
		}
	}
}

func TestASampleThatHangsCostsOnlyItsSecond(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := settings(folder, &log)
		s.Take = func(ctx context.Context) Sample { <-ctx.Done(); return Sample{Missing: []string{"gpu"}} }
		recorder := New(s)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { recorder.Run(ctx); close(done) }()
		time.Sleep(10 * time.Second)
		cancel()
		<-done
		if n := recorder.Stats().Records; n < 10 { // a start, a sample each second but the first, which is cut short at the end, a stop
			t.Errorf("%d records in 10 s", n)
		}
	})
}

// lockedBuffer is a log that is read while the recorder writes it.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestADiskThatFailsIsLoggedOnceCountedAndTriedAgain(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "later")
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		recorder := New(settings(folder, &log))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { recorder.Run(ctx); close(done) }()
		time.Sleep(30 * time.Second)
		if s := recorder.Stats(); s.Recording || s.Errors < 29 || s.Records != 0 {
			t.Errorf("%+v", s)
		}
		if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "no such file") {
			t.Errorf("log: %s", log.String())
		}
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		time.Sleep(reopenAfter + 2*time.Second)
		if s := recorder.Stats(); !s.Recording || s.Records == 0 {
			t.Errorf("after the folder came: %+v", s)
		}
		cancel()
		<-done
		if lines := strings.Count(log.String(), "\n"); lines != 2 || !strings.Contains(log.String(), "records again") {
			t.Errorf("log: %s", log.String())
		}
	})
}

func TestARecorderReportsTheEndsBeforeIt(t *testing.T) {
	folder := filled(t, 3) // boot a, PID 7, no stop
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := settings(folder, &log)
		s.Identity = Identity{Boot: "b", PID: 9}
		recorder := New(s)
		if recorder.Report().Schema != "" {
			t.Error("a report before the ring is open")
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { recorder.Run(ctx); close(done) }()
		time.Sleep(3 * time.Second)
		if r := recorder.Report(); r.Boot == nil || r.Boot.End != EndNoShutdown || len(r.Here) != 0 {
			t.Errorf("%+v", r)
		}
		cancel()
		<-done
	})
}

func TestTheMachineIDItselfIsNotKept(t *testing.T) {
	dir := t.TempDir()
	id := filepath.Join(dir, "machine-id")
	if err := os.MkdirAll(filepath.Join(dir, "sys/kernel/random"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sys/kernel/random/boot_id"), []byte("3b2a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	without, err := Identify(hostfs.Dir{Path: dir}, id)
	if err != nil || without.Machine != "" || without.Boot != "3b2a" || without.PID != os.Getpid() {
		t.Errorf("without a machine id: %+v, %v", without, err)
	}
	const secret = "0123456789abcdef0123456789abcdef"
	if err := os.WriteFile(id, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	with, err := Identify(hostfs.Dir{Path: dir}, id)
	if err != nil || len(with.Machine) != 16 || strings.Contains(secret, with.Machine) {
		t.Errorf("%+v, %v", with, err)
	}
	if _, err := Identify(hostfs.Dir{Path: t.TempDir()}, id); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a boot id: %v", err)
	}
}

func TestOnlyLinesThatMatterAreKept(t *testing.T) {
	for text, want := range map[string]KernelLine{
		"3,1,5000000,-;Out of memory: Killed process 9 (vllm) total-vm:1kB": {MonotonicMS: 5000, Text: "Out of memory: Killed process 9 (vllm) total-vm:1kB", Killed: 9},
		"4,1,5000000,-;NVRM: Xid (PCI:0000:01:00): 79":                      {MonotonicMS: 5000, Text: "NVRM: Xid (PCI:0000:01:00): 79", Driver: true},
		"4,1,5000000,-;x: page allocation failure: order:4, mode":           {MonotonicMS: 5000, Text: "x: page allocation failure: order:4, mode"},
		"0,1,5000000,-;watchdog: BUG: soft lockup":                          {MonotonicMS: 5000, Text: "watchdog: BUG: soft lockup"},
		"6,1,5000000,-;usb 1-1: new device":                                 {},
		"11,1,5000000,-;systemd: failed":                                    {},
	} {
		record, err := hostfs.ParseKernelRecord(text)
		if err != nil {
			t.Fatal(err)
		}
		if line, matters := NewKernelLine(record); matters != (want.Text != "") || matters && line != want {
			t.Errorf("%s: %+v, %v", text, line, matters)
		}
	}
}
