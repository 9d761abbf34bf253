package view

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/umascope/umascope/cmd/internal/memnet"
)

// appendAt keeps a sample of a series at a time of day.
func appendAt(t *testing.T, d *database, at time.Time, value float64) error {
	t.Helper()
	samples := d.storage.Appender(t.Context())
	if _, err := samples.Append(0, labels.FromStrings(model.MetricNameLabel, "clock"), at.UnixMilli(), value); err != nil {
		_ = samples.Rollback()
		return err
	}
	return samples.Commit()
}

// A clock that jumps forward and back costs the samples in between. The samples from before stay, also over a restart, and the
// log says how long none is kept.
func TestAClockThatIsSetBackLosesNothingThatIsKeptAndIsNamed(t *testing.T) {
	for name, jump := range map[string]time.Duration{"a step of NTP": 2 * time.Minute, "a suspended machine": 30 * time.Minute, "a clock that was wrong": 6 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			dir, now := t.TempDir(), time.Now()
			d := open(t, dir, &memnet.Network{}, nil)
			for i := range 5 {
				if err := appendAt(t, d, now.Add(time.Duration(i-10)*time.Second), float64(i)); err != nil {
					t.Fatal(err)
				}
			}
			if err := appendAt(t, d, now.Add(jump), 9); err != nil { // forward: a gap
				t.Fatal(err)
			}
			if err := appendAt(t, d, now, 6); err == nil { // and back
				t.Error("a sample before the newest is kept: the README says that it is not")
			}
			if err := d.close(); err != nil {
				t.Fatal(err)
			}
			var log lines
			again := openLogged(t, dir, &log)
			t.Cleanup(func() { again.close() })
			for end := time.Now().Add(time.Minute); !strings.Contains(log.String(), "the clock is behind the newest sample"); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("nothing is logged: %s", log.String())
				}
			}
			if text := log.String(); !strings.Contains(text, now.Add(jump).UTC().Format(time.RFC3339)) || !strings.Contains(text, dir) {
				t.Errorf("log: %s", text)
			}
			got := ask(t, again, "query", url.Values{"query": {"count_over_time(clock[1h])"}, "time": {fmt.Sprint(now.Unix())}})
			if !strings.Contains(got, `"5"`) {
				t.Errorf("samples from before the jump: %s", got)
			}
		})
	}
}

func TestAClockThatGoesForwardLogsNothing(t *testing.T) {
	dir := t.TempDir()
	var log lines
	d := openLogged(t, dir, &log)
	for _, at := range []time.Duration{-30 * 24 * time.Hour, -time.Hour, 0} {
		if err := appendAt(t, d, time.Now().Add(at), 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	again := openLogged(t, dir, &log)
	if err := again.close(); err != nil {
		t.Fatal(err)
	}
	if text := log.String(); strings.Contains(text, "clock") {
		t.Errorf("log: %s", text)
	}
}
