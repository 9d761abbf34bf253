package collector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/umascope/umascope/exporter/metric"
)

// scripted is a collector that does what the test says.
func scripted(name string, does Collect) Spec {
	return Spec{
		Name:    name,
		Metrics: []metric.Definer{metric.MemoryLedgerBytes},
		Open:    func(Host, Options) Collect { return does },
	}
}

// quick emits one series that carries its name.
func quick(name string) Spec {
	return scripted(name, func(_ context.Context, _ *Sample, b *Batch) error {
		b.Gauge(metric.MemoryLedgerBytes, 1, name)
		return nil
	})
}

// stuck ignores its context until released, then emits one series.
func stuck(name string, release <-chan struct{}, runs *atomic.Int32) Spec {
	return scripted(name, func(_ context.Context, _ *Sample, b *Batch) error {
		runs.Add(1)
		<-release
		b.Gauge(metric.MemoryLedgerBytes, 1, name)
		return nil
	})
}

func newTestRunner(log *lockedBuffer, specs ...Spec) *Runner {
	settings := RunnerSettings{Timeout: 8 * time.Second}
	if log != nil {
		settings.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return NewRunner(Host{Mode: Live}, Options{}, specs, settings)
}

func mustScrape(t *testing.T, r *Runner, ctx context.Context, names ...string) *Scrape {
	t.Helper()
	scrape, err := r.Scrape(ctx, names...)
	if err != nil {
		t.Fatal(err)
	}
	return scrape
}

// gather renders a scrape as series text to value, through the client library, which checks types,
// labels and duplicates.
func gather(t *testing.T, scrape *Scrape) map[string]float64 {
	t.Helper()
	found, err := prometheus.Gatherers{scrape}.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]float64{}
	for _, family := range found {
		for _, m := range family.GetMetric() {
			series[family.GetName()+labelText(m)] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return series
}

func labelText(m *dto.Metric) string {
	var pairs []string
	for _, pair := range m.GetLabel() {
		pairs = append(pairs, fmt.Sprintf("%s=%q", pair.GetName(), pair.GetValue()))
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

func wantState(t *testing.T, scrape *Scrape, collector string, want State) Outcome {
	t.Helper()
	for _, outcome := range scrape.Outcomes {
		if outcome.Spec.Name == collector {
			if outcome.State != want {
				t.Errorf("%s is %s (%v), want %s", collector, outcome.State, outcome.Err, want)
			}
			return outcome
		}
	}
	t.Fatalf("no outcome of %s", collector)
	return Outcome{}
}

func TestEveryOutcomeIsOnThePage(t *testing.T) {
	scrape := mustScrape(t, newTestRunner(nil,
		quick("good"),
		scripted("missing", func(context.Context, *Sample, *Batch) error { return fmt.Errorf("no SSD: %w", ErrAbsent) }),
		scripted("broken", func(_ context.Context, _ *Sample, b *Batch) error {
			b.Gauge(metric.MemoryLedgerBytes, 2, "before the error")
			return errors.New("bad file")
		}),
		scripted("wrong", func(_ context.Context, _ *Sample, b *Batch) error {
			b.Gauge(metric.MemoryLedgerBytes, 3, "beside the refusal")
			b.Gauge(metric.MemoryPoolBytes, 1)
			return ErrAbsent
		}),
	), t.Context())
	series := gather(t, scrape)
	for name, want := range map[string]float64{
		`uma_collector_state{collector="good",state="ok"}`:             1,
		`uma_collector_state{collector="good",state="failed"}`:         0,
		`uma_collector_state{collector="missing",state="absent"}`:      1,
		`uma_collector_state{collector="broken",state="failed"}`:       1,
		`uma_collector_state{collector="wrong",state="failed"}`:        1,
		`uma_memory_ledger_bytes{line="good"}`:                         1,
		`uma_memory_ledger_bytes{line="before the error"}`:             2,
		`uma_memory_ledger_bytes{line="beside the refusal"}`:           3,
		`uma_exporter_mode{mode="live"}`:                               1,
		`uma_exporter_mode{mode="simulated"}`:                          0,
		`uma_exporter_build_info{goversion="",revision="",version=""}`: 1,
	} {
		if got, there := series[name]; !there || got != want {
			t.Errorf("%s is %v (there: %v), want %v", name, got, there, want)
		}
	}
	for _, collector := range []string{"good", "missing", "broken", "wrong"} {
		if _, there := series[`uma_collector_duration_seconds{collector="`+collector+`"}`]; !there {
			t.Errorf("no duration of %s", collector)
		}
		_, there := series[`uma_collector_last_success_timestamp_seconds{collector="`+collector+`"}`]
		if there != (collector == "good") {
			t.Errorf("last success of %s there: %v", collector, there)
		}
	}
}

// TestTimesOnThePageAreThoseOfTheHostsClock: a simulated machine's is not the wall clock's, and what is subtracted from
// the time of a sample must be on its axis.
func TestTimesOnThePageAreThoseOfTheHostsClock(t *testing.T) {
	now := time.Date(2001, time.February, 3, 4, 5, 6, 0, time.UTC)
	r := NewRunner(Host{Mode: Simulated, Now: func() time.Time { return now }}, Options{}, []Spec{quick("mem")}, RunnerSettings{})
	name := metric.CollectorLastSuccessTimestampSeconds.Def().Name
	for series, value := range gather(t, mustScrape(t, r, t.Context())) {
		if strings.HasPrefix(series, name) && value == float64(now.Unix()) {
			return
		}
	}
	t.Errorf("%s is not that of the host's clock", name)
}

func TestPanicCostsItsCollectorOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		runner := newTestRunner(&log, quick("good"),
			scripted("wild", func(_ context.Context, _ *Sample, b *Batch) error {
				b.Gauge(metric.MemoryLedgerBytes, 1, "torn")
				panic("index out of range")
			}))
		for range 3 {
			scrape := mustScrape(t, runner, t.Context())
			wantState(t, scrape, "good", OK)
			if outcome := wantState(t, scrape, "wild", Failed); outcome.Err.Error() != "panic: index out of range" {
				t.Errorf("says %q", outcome.Err)
			}
			if _, there := gather(t, scrape)[`uma_memory_ledger_bytes{line="torn"}`]; there {
				t.Error("the batch of a collector that panicked was served")
			}
		}
		synctest.Wait()
		if got := strings.Count(log.String(), "collector=wild"); got != 1 || !strings.Contains(log.String(), "runner_test.go") {
			t.Errorf("logged %d times, want once with its stack:\n%s", got, log.String())
		}
	})
}

func TestTwoHundredScrapesShareOneCollection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		runner := newTestRunner(nil, quick("fast"), scripted("slow", func(_ context.Context, _ *Sample, b *Batch) error {
			runs.Add(1)
			time.Sleep(time.Second)
			b.Gauge(metric.MemoryLedgerBytes, 1, "slow")
			return nil
		}))
		var group sync.WaitGroup
		for i := range 200 {
			group.Go(func() {
				// They arrive over half a second, when fast has long ended: it is not run again.
				time.Sleep(time.Duration(i) * 2500 * time.Microsecond)
				scrape := mustScrape(t, runner, t.Context())
				wantState(t, scrape, "slow", OK)
				wantState(t, scrape, "fast", OK)
			})
		}
		group.Wait()
		if got := runs.Load(); got != 1 {
			t.Errorf("%d collections", got)
		}
		mustScrape(t, runner, t.Context())
		if got := runs.Load(); got != 2 {
			t.Errorf("a scrape after the collection ended joined it")
		}
	})
}

func TestScrapesOfDifferentCollectorsShareThoseThatRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		release := make(chan struct{})
		runner := newTestRunner(nil, quick("fast"), stuck("slow", release, &runs))
		var group sync.WaitGroup
		group.Go(func() { wantState(t, mustScrape(t, runner, t.Context()), "slow", OK) })
		synctest.Wait()
		group.Go(func() { wantState(t, mustScrape(t, runner, t.Context(), "slow"), "slow", OK) })
		synctest.Wait()
		if got := runs.Load(); got != 1 {
			t.Errorf("the collector runs %d times at once", got)
		}
		close(release)
		group.Wait()
	})
}

func TestPageIsServedWithoutTheCollectorThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		var runs atomic.Int32
		release := make(chan struct{})
		runner := newTestRunner(&log, quick("good"), stuck("hung", release, &runs))
		for i := range 5 {
			began := time.Now()
			scrape := mustScrape(t, runner, t.Context())
			wantState(t, scrape, "good", OK)
			wantState(t, scrape, "hung", Failed)
			if _, there := gather(t, scrape)[`uma_memory_ledger_bytes{line="good"}`]; !there {
				t.Error("what was ready is not on the page")
			}
			want := time.Duration(0)
			if i == 0 {
				want = 8 * time.Second // the deadline; later scrapes do not wait for it again
			}
			if took := time.Since(began); took != want {
				t.Errorf("scrape %d took %v, want %v", i, took, want)
			}
		}
		if got := runs.Load(); got != 1 {
			t.Errorf("started %d times while it hung", got)
		}
		close(release)
		synctest.Wait()
		scrape := mustScrape(t, runner, t.Context())
		wantState(t, scrape, "hung", OK)
		if got := runs.Load(); got != 2 {
			t.Errorf("%d runs: it must be started again once it has ended, and what it read late thrown away", got)
		}
		synctest.Wait()
		if got := strings.Count(log.String(), "collector=hung"); got != 2 {
			t.Errorf("%d log lines, want one for the hang and one for the recovery:\n%s", got, log.String())
		}
	})
}

func TestScrapeEndsAtItsOwnDeadlineWithWhatIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runner := newTestRunner(nil, quick("good"), scripted("slow", func(context.Context, *Sample, *Batch) error {
			time.Sleep(6 * time.Second)
			return nil
		}))
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		began := time.Now()
		patient := make(chan *Scrape)
		go func() { patient <- mustScrape(t, runner, t.Context()) }()
		synctest.Wait()
		scrape := mustScrape(t, runner, ctx)
		if took := time.Since(began); took != 500*time.Millisecond {
			t.Errorf("took %v", took)
		}
		wantState(t, scrape, "good", OK)
		if outcome := wantState(t, scrape, "slow", Failed); outcome.Duration != 500*time.Millisecond || outcome.Err == nil {
			t.Errorf("late collector: %v, %v", outcome.Duration, outcome.Err)
		}
		wantState(t, <-patient, "slow", OK)
	})
}

func TestCollectorsAreAskedToEndInTimeToBeServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runner := newTestRunner(nil, scripted("careful", func(ctx context.Context, _ *Sample, b *Batch) error {
			b.Gauge(metric.MemoryLedgerBytes, 1, "before the hang")
			<-ctx.Done()
			return fmt.Errorf("driver: %w", ctx.Err())
		}))
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		began := time.Now()
		scrape := mustScrape(t, runner, ctx)
		wantState(t, scrape, "careful", Failed)
		if took := time.Since(began); took != 3750*time.Millisecond {
			t.Errorf("took %v, want the deadline less a quarter of a second", took)
		}
		if _, there := gather(t, scrape)[`uma_memory_ledger_bytes{line="before the hang"}`]; !there {
			t.Error("what was read before the deadline is not on the page")
		}
	})
}

func TestImpatientScrapeDoesNotCutOthersShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runner := newTestRunner(nil, scripted("slow", func(ctx context.Context, _ *Sample, _ *Batch) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(1500 * time.Millisecond):
				return nil
			}
		}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		impatient := make(chan *Scrape)
		go func() { impatient <- mustScrape(t, runner, ctx) }()
		synctest.Wait()
		wantState(t, mustScrape(t, runner, t.Context()), "slow", OK)
		wantState(t, <-impatient, "slow", Failed)
	})
}

func TestConditionIsLoggedOnceUntilItChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		var fails atomic.Bool
		count := 0
		runner := newTestRunner(&log, scripted("moody", func(context.Context, *Sample, *Batch) error {
			count++
			if fails.Load() {
				return fmt.Errorf("attempt %d", count)
			}
			return nil
		}))
		for _, failing := range []bool{false, false, true, true, true, false, false} {
			fails.Store(failing)
			mustScrape(t, runner, t.Context())
			synctest.Wait()
		}
		if got := strings.Count(log.String(), "collector=moody"); got != 3 {
			t.Errorf("%d lines, want ok, failed, ok:\n%s", got, log.String())
		}
	})
}

func TestUnmetNeedIsASeriesAndALogLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		spec := quick("needy")
		spec.Needs = []Need{
			{Name: "given", Met: func(Host) bool { return true }},
			{Name: "withheld", Cost: "processes are invisible", Fix: "--pid=host", Met: func(Host) bool { return false }},
		}
		runner := newTestRunner(&log, spec)
		scrape := mustScrape(t, runner, t.Context())
		mustScrape(t, runner, t.Context())
		series := gather(t, scrape)
		if series[`uma_collector_privilege{collector="needy",needs="given"}`] != 1 {
			t.Error("met need is not 1")
		}
		if got, there := series[`uma_collector_privilege{collector="needy",needs="withheld"}`]; !there || got != 0 {
			t.Error("unmet need is not 0")
		}
		synctest.Wait()
		if got := strings.Count(log.String(), "withheld"); got != 1 || !strings.Contains(log.String(), "processes are invisible") {
			t.Errorf("%d lines on it:\n%s", got, log.String())
		}
	})
}

func TestNeedIsLoggedWhenItChangesAndOnlyThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		var given atomic.Bool
		spec := quick("needy")
		spec.Needs = []Need{{Name: "access", Fix: "--pid=host", Met: func(Host) bool { return given.Load() }}}
		runner := newTestRunner(&log, spec)
		for _, now := range []bool{true, true, false, false, false, true, true} {
			given.Store(now)
			mustScrape(t, runner, t.Context())
			synctest.Wait()
		}
		lacks, changes := strings.Count(log.String(), "lacks access"), strings.Count(log.String(), "collector changed")
		if lacks != 1 || changes != 3 { // given, withheld, given again
			t.Errorf("%d lines on the lack, %d on changes:\n%s", lacks, changes, log.String())
		}
	})
}

func TestNeedIsNotLoggedAnewWhenSomethingElseChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		var fails error
		spec := scripted("moody", func(context.Context, *Sample, *Batch) error { return fails })
		spec.Needs = []Need{{Name: "access", Met: func(Host) bool { return false }}}
		runner := newTestRunner(&log, spec)
		for _, fails = range []error{nil, errors.New("down"), nil, ErrAbsent, nil} {
			mustScrape(t, runner, t.Context())
			synctest.Wait()
		}
		if lacks := strings.Count(log.String(), "lacks access"); lacks != 1 {
			t.Errorf("%d lines on the lack, which never changed:\n%s", lacks, log.String())
		}
	})
}

func TestUnknownCollectorIsRefusedWithTheList(t *testing.T) {
	_, err := newTestRunner(nil, quick("one"), quick("two")).Scrape(t.Context(), "three")
	if err == nil || !strings.Contains(err.Error(), `"three"`) || !strings.Contains(err.Error(), "one, two") {
		t.Errorf("got %v", err)
	}
}

func TestScrapeOfSomeCollectorsRunsOnlyThose(t *testing.T) {
	var runs atomic.Int32
	other := scripted("other", func(context.Context, *Sample, *Batch) error { runs.Add(1); return nil })
	scrape := mustScrape(t, newTestRunner(nil, quick("one"), other), t.Context(), "one", "one")
	if len(scrape.Outcomes) != 1 || runs.Load() != 0 {
		t.Errorf("%d outcomes, other ran %d times", len(scrape.Outcomes), runs.Load())
	}
}

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
