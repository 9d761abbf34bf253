package runner

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/traffic"
	"github.com/umascope/umascope/loadgen/workload"
)

func meterOf(p workload.Phase, planned int, started, ended, failed int64) *phaseMeter {
	m := newPhaseMeter(p, planned, 0)
	m.started.Store(started)
	m.ended.Store(ended)
	m.byStatus[slices.Index(openai.Statuses(), openai.StatusTimeout)].Store(failed)
	return m
}

// phaseOf is a closed loop with that limit.
func phaseOf(limit traffic.Limit) workload.Phase {
	return workload.Phase{Name: "measure", Process: traffic.ArrivalProcess{Arrival: traffic.Closed}, Limit: limit}
}

func TestTheProgressLineSaysWhatIsDoneAndWhatIsLeft(t *testing.T) {
	const now = int64(20 * time.Second)
	for _, c := range []struct {
		meter *phaseMeter
		want  string
	}{
		{meterOf(phaseOf(traffic.Limit{Requests: 64}), 64, 12, 10, 1),
			"measure: 10/64 requests, 0.50/s, 2 in flight, 1 failed, 1m48s left"},
		{meterOf(phaseOf(traffic.Limit{Duration: time.Minute}), 0, 12, 10, 0),
			"measure: 10 requests, 0.50/s, 2 in flight, 0 failed, 40s left"},
		{meterOf(phaseOf(traffic.Limit{Duration: time.Minute, Requests: 12}), 12, 12, 10, 0),
			"measure: 10/12 requests, 0.50/s, 2 in flight, 0 failed, 4s left"},
		{meterOf(phaseOf(traffic.Limit{Requests: 64}), 64, 1, 0, 0),
			"measure: 0/64 requests, 0.00/s, 1 in flight, 0 failed, unknown time left"},
		{meterOf(phaseOf(traffic.Limit{Duration: 10 * time.Second}), 0, 12, 10, 0),
			"measure: 10 requests, 0.50/s, 2 in flight, 0 failed, waiting for those in flight"},
	} {
		if got := c.meter.line(now); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// watched is a run of the virtual clock that is watched on a console.
func watched(t *testing.T, format ProgressFormat) (r *run, out *bytes.Buffer, end func(string)) {
	out = &bytes.Buffer{}
	console := NewConsole(out, format)
	r = newRun("r1", Keep{}, Environment{Console: console, Log: slog.New(slog.NewTextHandler(console, nil)), Page: &LivePage{}, Series: &Series{Kind: "campaign", Name: "c", Number: 2, Of: 3}})
	r.capture = &Capture{}
	start := time.Now()
	r.journal.clock = func() int64 { return int64(time.Since(start)) }
	r.journal.meter.facts.Store(&liveFacts{Run: "r1", Arm: "native", Streaming: true, Planned: true, Phases: []string{rundir.PhaseReady, rundir.PhaseMeasure}})
	return r, out, r.watch()
}

func TestOffATerminalTheProgressIsAPlainLineEveryTenSeconds(t *testing.T) {
	for _, format := range []ProgressFormat{ProgressAuto, ProgressLines} {
		synctest.Test(t, func(t *testing.T) {
			r, out, end := watched(t, format)
			time.Sleep(12 * time.Second) // without load there is no line
			r.journal.meter.load(phaseOf(traffic.Limit{Requests: 64}), 64, r.journal.clock())
			time.Sleep(35 * time.Second)
			end(rundir.StateComplete)
			if lines := strings.Count(out.String(), "\n"); lines != 3 || strings.Contains(out.String(), "\x1b") {
				t.Errorf("%d lines in 35 s: %q", lines, out.String())
			}
		})
	}
}

func TestNoProgressIsShownIfNoneIsWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, out, end := watched(t, ProgressNone)
		r.journal.meter.load(phaseOf(traffic.Limit{Requests: 64}), 64, r.journal.clock())
		time.Sleep(time.Minute)
		end(rundir.StateComplete)
		if out.Len() != 0 {
			t.Errorf("%q", out.String())
		}
	})
}

// TestProgressInJSONHasTheStateOfTheRunEverySecond sends a request every half a second, whose first token comes after
// 100 ms and ten more every 20 ms.
func TestProgressInJSONHasTheStateOfTheRunEverySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, out, end := watched(t, ProgressJSON)
		p := r.journal.meter.load(phaseOf(traffic.Limit{Duration: time.Minute}), 0, r.journal.clock())
		watch := p.observe()
		for i := range 40 {
			time.Sleep(500 * time.Millisecond)
			watch.Started()
			if i == 39 {
				break
			}
			record := openai.Record{Status: openai.StatusOK, DispatchNS: new(int64(0)), FirstTokenNS: new(100 * ms), ArrivalsNS: []int64{100 * ms}, TokensOut: new(11)}
			for range 10 {
				record.ArrivalsNS = append(record.ArrivalsNS, 20*ms)
			}
			if i%13 == 12 {
				record.Status = openai.StatusTimeout
			}
			for range record.ArrivalsNS {
				watch.Payload()
			}
			watch.Ended(workload.Job{}, openai.Result{Record: record})
		}
		time.Sleep(time.Millisecond)
		end(rundir.StateInterrupted)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 21 {
			t.Fatalf("%d lines in 20 s", len(lines))
		}
		var last Progress
		if err := json.Unmarshal([]byte(lines[20]), &last); err != nil {
			t.Fatal(err)
		}
		if last.State != rundir.StateInterrupted || last.Run != "r1" || last.Phase != rundir.PhaseMeasure || last.PhaseNumber != 2 || last.Phases != 2 || last.Series.Number != 2 {
			t.Errorf("%s", lines[20])
		}
		if got := last.Requests; got.Started != 40 || got.Ended != 39 || got.InFlight != 1 || got.Failed != 3 || got.FailedBy[openai.StatusTimeout] != 3 {
			t.Errorf("requests: %s", lines[20])
		}
		if left := *last.PhaseLeftSeconds; math.Abs(left-40) > .01 {
			t.Errorf("%v s left, want 40", left)
		}
		if got := last.LastRates; math.Abs(got.RequestsPerSecond-2) > .11 || math.Abs(got.StreamEventsPerSecond-22) > 1.2 {
			t.Errorf("rates of the last seconds: %+v", got)
		}
		near := func(got, want float64) bool { return math.Abs(got-want) <= .01*want }
		for name, l := range map[string]struct {
			got  *Quantiles
			want float64
			n    int64
		}{"ttft": {last.TTFT.Phase, .1, 36}, "last ttft": {last.TTFT.Last, .1, 18}, "gap": {last.ChunkGap.Phase, .02, 360}} {
			if !near(l.got.P50Seconds, l.want) || !near(l.got.P99Seconds, l.want) || l.got.Count < l.n-2 || l.got.Count > l.n+2 {
				t.Errorf("%s: %+v, want %v and %d values", name, l.got, l.want, l.n)
			}
		}
	})
}

// TestTheHistoryHasASecondAPoint holds that the history has so many points at most and that a second without a latency
// has none.
func TestTheHistoryHasASecondAPoint(t *testing.T) {
	m := &meter{}
	m.facts.Store(&liveFacts{Streaming: true})
	p := m.load(phaseOf(traffic.Limit{Requests: 100}), 100, 0)
	m.progress(0)
	watch := p.observe()
	watch.Started()
	watch.Ended(workload.Job{}, openai.Result{Record: openai.Record{Status: openai.StatusOK, DispatchNS: new(int64(0)), FirstTokenNS: new(100 * ms), ArrivalsNS: []int64{100 * ms}}})
	first := m.progress(1000 * ms).History
	if len(first) != 1 || first[0].RequestsPerSecond != 1 || math.Abs(first[0].TTFTP50Seconds-.1) > .001 || !math.IsNaN(first[0].ChunkGapP50Seconds) {
		t.Errorf("after a second: %+v", first)
	}
	if got := m.progress(1500 * ms).History; len(got) != 1 {
		t.Errorf("half a second later: %d points", len(got))
	}
	if got := m.progress(1999 * ms).History; len(got) != 2 {
		t.Errorf("a tick that is early: %d points", len(got))
	}
	for second := range int64(historySeconds + 40) {
		m.progress((second + 2) * 1000 * ms)
	}
	all := m.progress((historySeconds + 42) * 1000 * ms).History
	if len(all) != historySeconds || all[historySeconds-1].RequestsPerSecond != 0 || !math.IsNaN(all[0].TTFTP50Seconds) {
		t.Errorf("in the end: %d points, %+v", len(all), all[0])
	}
}

func TestAResultHasTheFiguresThatItsRunHas(t *testing.T) {
	latencies := func(p50, p99 *float64) *summary.Distribution { return &summary.Distribution{P50: p50, P99: p99} }
	full := &summary.Summary{
		Throughput: summary.Throughput{OutputTokensPerSecond: new(100.)}, InvalidReasons: []summary.Reason{{Code: summary.CodeClientLag}, {Code: summary.CodeErrorRate}},
		Latency: &summary.Latency{TTFT: &summary.Clocks{Send: latencies(new(.2), nil), Intended: latencies(new(.3), nil)}, ChunkGap: &summary.ChunkGap{Send: latencies(new(.02), new(.04))}},
	}
	for name, c := range map[string]struct {
		of   *summary.Summary
		want SeriesRun
	}{
		"of requests":                     {full, SeriesRun{Why: "client_lag, error_rate", OutputTokensPerSecond: new(100.), TTFTP50Seconds: new(.3), ChunkGapP50Seconds: new(.02), ChunkGapP99Seconds: new(.04)}},
		"of a command, without latencies": {&summary.Summary{Throughput: summary.Throughput{OutputTokensPerSecond: new(7.)}}, SeriesRun{OutputTokensPerSecond: new(7.)}},
		"failed before it had a summary":  {nil, SeriesRun{}},
	} {
		c.want.Name, c.want.Status = "1 a", "invalid"
		if got := NewSeriesRun("1 a", "invalid", c.of); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestWhatARunWaitsForIsShownUntilTheNextPhase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &meter{}
		m.enter("cooldown", 0)
		m.wait("a gate", time.Now().Add(time.Minute))
		time.Sleep(20 * time.Second)
		if p := m.progress(0); p.Waiting != "a gate" || p.WaitingSeconds == nil || *p.WaitingSeconds != 40 {
			t.Errorf("%+v", p)
		}
		m.wait("an arm", time.Time{})
		if p := m.progress(0); p.Waiting != "an arm" || p.WaitingSeconds != nil {
			t.Errorf("%+v", p)
		}
		m.enter("ready", 0)
		if p := m.progress(0); p.Waiting != "" {
			t.Errorf("in the next phase: %+v", p)
		}
	})
}

func TestRequestsOfAllEndingsAreCountedWhileTheyAreRead(t *testing.T) {
	p := newPhaseMeter(phaseOf(traffic.Limit{}), 0, 0)
	p.streaming = true
	watch := p.observe()
	var sending sync.WaitGroup
	for range 8 {
		sending.Go(func() {
			for i := range 1000 {
				watch.Started()
				watch.Payload()
				watch.Ended(workload.Job{}, openai.Result{Record: openai.Record{Status: openai.Statuses()[i%len(openai.Statuses())], DispatchNS: new(int64(0)), FirstTokenNS: new(ms), ArrivalsNS: []int64{ms, ms}}})
			}
		})
	}
	for range 100 {
		p.roll(1, counts{})
		if c := p.requests(); c.InFlight < 0 {
			t.Errorf("%d in flight", c.InFlight)
		}
	}
	sending.Wait()
	p.roll(1, counts{})
	const ok = 8 * 143 // of 1,000 requests, each seventh and the first
	if c := p.requests(); c.Ended != 8000 || c.Failed != 8000-ok || p.whole.ttft.TotalCount() != ok {
		t.Errorf("%+v, %d first tokens, want %d", c, p.whole.ttft.TotalCount(), ok)
	}
}
