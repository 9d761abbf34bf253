package runner

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/loadgen/traffic"
	"github.com/umascope/umascope/loadgen/workload"
)

func tallyOf(p workload.Phase, planned int, started, ended, failed int64) *tally {
	t := &tally{phase: p, planned: planned}
	t.started.Store(started)
	t.ended.Store(ended)
	t.failed.Store(failed)
	return t
}

// phaseOf is a closed loop with that limit.
func phaseOf(limit traffic.Limit) workload.Phase {
	return workload.Phase{Name: "measure", Process: traffic.ArrivalProcess{Arrival: traffic.Closed}, Limit: limit}
}

func TestTheProgressLineSaysWhatIsDoneAndWhatIsLeft(t *testing.T) {
	const now = int64(20 * time.Second)
	for _, c := range []struct {
		tally *tally
		want  string
	}{
		{tallyOf(phaseOf(traffic.Limit{Requests: 64}), 64, 12, 10, 1),
			"measure: 10/64 requests, 0.50/s, 2 in flight, 1 failed, 1m48s left"},
		{tallyOf(phaseOf(traffic.Limit{Duration: time.Minute}), 0, 12, 10, 0),
			"measure: 10 requests, 0.50/s, 2 in flight, 0 failed, 40s left"},
		{tallyOf(phaseOf(traffic.Limit{Duration: time.Minute, Requests: 12}), 12, 12, 10, 0),
			"measure: 10/12 requests, 0.50/s, 2 in flight, 0 failed, 4s left"},
		{tallyOf(phaseOf(traffic.Limit{Requests: 64}), 64, 1, 0, 0),
			"measure: 0/64 requests, 0.00/s, 1 in flight, 0 failed, unknown time left"},
		{tallyOf(phaseOf(traffic.Limit{Duration: 10 * time.Second}), 0, 12, 10, 0),
			"measure: 10 requests, 0.50/s, 2 in flight, 0 failed, waiting for those in flight"},
	} {
		if got := c.tally.line(now); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestOffATerminalTheProgressIsAPlainLineEveryTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		c := NewConsole(&out)
		ctx, cancel := context.WithTimeout(t.Context(), 35*time.Second)
		defer cancel()
		c.Follow(ctx, tallyOf(phaseOf(traffic.Limit{Requests: 64}), 64, 1, 0, 0), func() int64 { return 1 })
		if lines := strings.Count(out.String(), "\n"); lines != 3 || strings.Contains(out.String(), "\x1b") {
			t.Errorf("%d lines in 35 s: %q", lines, out.String())
		}
	})
}

func TestOnATerminalMessagesStandAboveTheLine(t *testing.T) {
	var out bytes.Buffer
	c := &Console{out: &out, terminal: true}
	c.show("half")
	if _, err := c.Write([]byte("a message\n")); err != nil {
		t.Fatal(err)
	}
	c.show("done")
	c.show("")
	want := eraseLine + "half" + eraseLine + "a message\n" + "half" + eraseLine + "done" + eraseLine
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
