package view

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/prometheus/rules"

	"github.com/umascope/umascope/cmd/internal/memnet"
)

// lines is a log that may be read while it is written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestAFullDiskDropsSamplesAndLosesNone: while the disk is full no sample is written, one line is logged, and afterwards samples
// are kept again; all of them are there after a restart.
func TestAFullDiskDropsSamplesAndLosesNone(t *testing.T) {
	dir, n := t.TempDir(), &memnet.Network{}
	page(t, n, "# TYPE a gauge\na 3\n")
	var full atomic.Bool
	var log lines
	d := mustOpen(t, databaseConfig{
		Dir: dir, Dial: n.Dial, Notify: func(context.Context, string, ...*rules.Alert) {}, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Room: func() error {
			if full.Load() {
				return fmt.Errorf("in a test: %w", syscall.ENOSPC)
			}
			return nil
		},
	})
	kept := func(d *database) string {
		answer := ask(t, d, "query", url.Values{"query": {"count_over_time(a[1h])"}, "time": {fmt.Sprint(time.Now().Unix() + 60)}})
		return regexp.MustCompile(`"value":\[[^,]*,"(\d+)"`).FindStringSubmatch(answer)[1]
	}
	until(t, d, "query", url.Values{"query": {"count_over_time(a[1h]) > 2"}}, `"value"`)
	full.Store(true)
	for end := time.Now().Add(time.Minute); !strings.Contains(log.String(), "the disk is full"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing is logged")
		}
	}
	before := kept(d)
	until(t, d, "query", url.Values{"query": {"vector(time()) > " + fmt.Sprint(time.Now().Unix()+1)}}, `"value"`) // some scrapes later
	if after := kept(d); after != before {
		t.Errorf("samples are written to a full disk: %s, and then %s", before, after)
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, dir) {
		t.Errorf("log: %s", text)
	}
	full.Store(false)
	until(t, d, "query", url.Values{"query": {"count_over_time(a[1h]) > " + before}}, `"value"`)
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir, &memnet.Network{}, nil)
	t.Cleanup(func() { again.close() })
	if got := ask(t, again, "query", url.Values{"query": {"count_over_time(a[1h]) > " + before}}); !strings.Contains(got, `"value"`) {
		t.Errorf("after a restart: %s", got)
	}
}
