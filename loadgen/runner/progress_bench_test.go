package runner

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/traffic"
	"github.com/umascope/umascope/loadgen/workload"
)

// BenchmarkEventObserved is the cost of one event of an answer of 256, in the observers of a run: of the live metrics
// alone, and with the progress, drawn on a screen of 200 columns.
func BenchmarkEventObserved(b *testing.B) {
	const events = 256
	record := openai.Record{Status: openai.StatusOK, EligibleNS: new(ms), DispatchNS: new(ms), FirstTokenNS: new(100 * ms), ArrivalsNS: []int64{100 * ms}, TokensIn: new(100), TokensOut: new(events)}
	for i := range int64(events - 1) {
		record.ArrivalsNS = append(record.ArrivalsNS, (20+i%7)*ms)
	}
	observed := func(b *testing.B, watch workload.Observer) {
		for b.Loop() {
			watch.Started()
			for range events {
				watch.Payload()
			}
			watch.Ended(workload.Job{}, openai.Result{Record: record})
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
	}
	facts := liveFacts{Run: "r1", Hosts: []string{"spark1"}, Streaming: true, Phases: []string{rundir.PhaseMeasure}}
	b.Run("metrics", func(b *testing.B) { observed(b, newLiveRun(facts).observe(rundir.PhaseMeasure)) })
	b.Run("progress", func(b *testing.B) {
		console := &Console{out: io.Discard, format: ProgressAuto, screen: &screen{size: func() (int, int) { return 200, 50 }, colours: true}}
		r := newRun("r1", Keep{}, Environment{Console: console, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Page: &LivePage{}})
		r.capture = &Capture{}
		start := time.Now()
		r.journal.clock = func() int64 { return int64(time.Since(start)) }
		r.journal.meter.facts.Store(&facts)
		defer r.watch()(rundir.StateComplete)
		shown := newLiveRun(facts).observe(rundir.PhaseMeasure)
		counted := r.journal.meter.load(workload.Phase{Name: rundir.PhaseMeasure, Limit: traffic.Limit{Duration: time.Hour}}, 0, 0).observe()
		observed(b, workload.Observer{
			Started: func() { shown.Started(); counted.Started() },
			Payload: func() { shown.Payload(); counted.Payload() },
			Ended:   func(j workload.Job, r openai.Result) { shown.Ended(j, r); counted.Ended(j, r) },
		})
	})
}

// BenchmarkRedraw is the cost of one redraw of a screen of 200 columns, of which there are two a second.
func BenchmarkRedraw(b *testing.B) {
	screen := &screen{size: func() (int, int) { return 200, 50 }, colours: true}
	for p := goldenProgress(); b.Loop(); {
		_, _ = io.WriteString(io.Discard, screen.replace("", p.Draw))
	}
}
