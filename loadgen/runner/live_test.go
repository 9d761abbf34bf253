package runner

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/workload"
)

const ms = int64(time.Millisecond)

// shownRun is a live page after one request that ended ok and one that did not: intended at 0,
// eligible at 5 ms, sent at 6 ms, payloads at 106, 166 and 206 ms.
func shownRun(t *testing.T) *liveRun {
	t.Helper()
	l := newLiveRun(liveFacts{
		Run: "r1", Hosts: []string{"spark1"}, Arm: "native", Scenario: "standard", Version: "v1", Revision: "r", GoVersion: "go",
		Phases:    []string{rundir.PhaseReady, rundir.PhaseWarmup, rundir.PhaseMeasure, rundir.PhaseStop},
		Streaming: true, Simulated: true, Good: func(openai.Record) bool { return true },
	})
	l.enter(rundir.PhaseMeasure)
	watch := l.observe(rundir.PhaseMeasure)
	watch.Started()
	watch.Started()
	watch.Started()
	for range 3 {
		watch.Payload()
	}
	watch.Ended(workload.Job{}, openai.Result{Record: openai.Record{
		Status: openai.StatusOK, IntendedNS: 0, EligibleNS: new(5 * ms), DispatchNS: new(6 * ms),
		FirstTokenNS: new(106 * ms), ArrivalsNS: []int64{106 * ms, 60 * ms, 40 * ms}, ReadIDs: []int{1, 2, 3},
		TokensIn: new(10), TokensOut: new(6), ArrivalTokens: []int{1, 3, 2},
	}})
	watch.Ended(workload.Job{}, openai.Result{Record: openai.Record{Status: openai.StatusTimeout, EligibleNS: new(int64(1)), DispatchNS: new(int64(2))}})
	return l
}

func gathered(t *testing.T, l *liveRun) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := l.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*dto.MetricFamily{}
	for _, f := range families {
		byName[f.GetName()] = f
	}
	return byName
}

func TestLiveHistogramsHaveTheDefinedValuesInClassicAndNativeBuckets(t *testing.T) {
	families := gathered(t, shownRun(t))
	for _, c := range []struct {
		m   metric.Histogram
		n   uint64
		sum float64
	}{
		{metric.LoadTimeToFirstTokenSeconds, 1, .100},
		{metric.LoadScheduledTimeToFirstTokenSeconds, 1, .106},
		{metric.LoadTimePerOutputTokenSeconds, 1, .020},
		{metric.LoadChunkGapSeconds, 2, .100},
		{metric.LoadRequestDurationSeconds, 1, .200},
		{metric.LoadScheduledRequestDurationSeconds, 1, .206},
		{metric.LoadQueueDelaySeconds, 1, .005},
		{metric.LoadClientLagSeconds, 1, .001},
	} {
		name := c.m.Def().Name
		h := families[name].GetMetric()[0].GetHistogram()
		if h.GetSampleCount() != c.n || h.GetSampleSum() < c.sum-1e-9 || h.GetSampleSum() > c.sum+1e-9 {
			t.Errorf("%s: %d values, sum %g; want %d and %g", name, h.GetSampleCount(), h.GetSampleSum(), c.n, c.sum)
		}
		if len(h.GetBucket()) != len(c.m.Buckets()) || h.GetSchema() != 5 || len(h.GetPositiveSpan()) == 0 {
			t.Errorf("%s: %d classic buckets, schema %d, %d native spans", name, len(h.GetBucket()), h.GetSchema(), len(h.GetPositiveSpan()))
		}
	}
}

func TestWithoutStreamingThereIsNoLiveFirstTokenOrTimePerToken(t *testing.T) {
	l := newLiveRun(liveFacts{Run: "r1", Phases: []string{rundir.PhaseMeasure}})
	l.observe(rundir.PhaseMeasure).Ended(workload.Job{}, openai.Result{Record: openai.Record{
		Status: openai.StatusOK, DispatchNS: new(int64(0)), FirstTokenNS: new(106 * ms), ArrivalsNS: []int64{106 * ms}, ReadIDs: []int{1}, TokensOut: new(6),
	}})
	families := gathered(t, l)
	for _, m := range []metric.Histogram{metric.LoadTimeToFirstTokenSeconds, metric.LoadScheduledTimeToFirstTokenSeconds} {
		if of := families[m.Def().Name]; of != nil {
			t.Errorf("%v: the whole answer passes for a first token", of)
		}
	}
	if of := families[metric.LoadRequestDurationSeconds.Def().Name].GetMetric(); len(of) != 1 || of[0].GetHistogram().GetSampleCount() != 1 {
		t.Errorf("durations: %v", of)
	}
}

func TestLiveCountersStartAtZeroForEveryStatus(t *testing.T) {
	families := gathered(t, shownRun(t))
	counts := map[string]float64{}
	for _, m := range families[metric.LoadRequestsTotal.Def().Name].GetMetric() {
		for _, label := range m.GetLabel() {
			if label.GetName() == string(metric.LabelStatus) {
				counts[label.GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	if len(counts) != len(openai.Statuses()) || counts["ok"] != 1 || counts["timeout"] != 1 || counts["http"] != 0 {
		t.Errorf("requests by status: %v", counts)
	}
}

func TestLiveTokensEventsAndInFlight(t *testing.T) {
	l := shownRun(t)
	if got := testutil.ToFloat64(l.tokens.WithLabelValues("r1", rundir.PhaseMeasure, metric.DirectionInput)); got != 10 {
		t.Errorf("input tokens %v", got)
	}
	if got := testutil.ToFloat64(l.tokens.WithLabelValues("r1", rundir.PhaseMeasure, metric.DirectionOutput)); got != 6 {
		t.Errorf("output tokens %v", got)
	}
	if got := testutil.ToFloat64(l.events.WithLabelValues("r1", rundir.PhaseMeasure)); got != 3 {
		t.Errorf("events %v", got)
	}
	if got := testutil.ToFloat64(l.inFlight.WithLabelValues("r1", rundir.PhaseMeasure)); got != 1 {
		t.Errorf("in flight %v", got)
	}
}

func TestARunIsActiveWhileItLastsAndAbsentAfterwards(t *testing.T) {
	l := shownRun(t)
	active, phase := metric.RunActive.Def().Name, metric.RunPhase.Def().Name
	if got := gathered(t, l)[active].GetMetric(); len(got) != 1 || got[0].GetGauge().GetValue() != 1 || len(got[0].GetLabel()) != 4 {
		t.Errorf("active: %v", got)
	}
	states := func() (sum float64, n int) {
		for _, m := range gathered(t, l)[phase].GetMetric() {
			sum += m.GetGauge().GetValue()
			n++
		}
		return sum, n
	}
	if sum, n := states(); sum != 1 || n != 4 {
		t.Errorf("%v of %d phases are on", sum, n)
	}
	l.leave()
	families := gathered(t, l)
	if families[active] != nil {
		t.Error("the run is still active")
	}
	if sum, _ := states(); sum != 0 {
		t.Error("a phase is still on")
	}
	if families[metric.LoadRequestsTotal.Def().Name] == nil {
		t.Error("the last values are gone")
	}
}

// An engine over two machines: what either does is joined to the run by the name of the machine.
func TestARunIsActiveOnEveryMachineThatItMeasures(t *testing.T) {
	l := newLiveRun(liveFacts{Run: "r1", Hosts: []string{"spark1", "spark2"}, Arm: "a", Scenario: "standard", Phases: []string{rundir.PhaseReady, rundir.PhaseMeasure}, Simulated: true})
	l.enter(rundir.PhaseMeasure)
	families := gathered(t, l)
	for _, of := range []metric.Gauge{metric.RunActive, metric.RunPhase, metric.RunSimulated} {
		on := map[string]float64{}
		for _, m := range families[of.Def().Name].GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == string(metric.LabelHost) {
					on[label.GetValue()] += m.GetGauge().GetValue()
				}
			}
		}
		if len(on) != 2 || on["spark1"] != 1 || on["spark2"] != 1 {
			t.Errorf("%s: %v", of.Def().Name, on)
		}
	}
	if l.leave(); gathered(t, l)[metric.RunActive.Def().Name] != nil {
		t.Error("the run is still active somewhere")
	}
}

func TestTheLivePageHasEveryLoadSeriesAndNoOther(t *testing.T) {
	families := gathered(t, shownRun(t))
	var subject metric.Subject
	for _, s := range metric.Subjects() {
		if s.Title == "Load" {
			subject = s
		}
	}
	if len(subject.Defs) == 0 || len(families) != len(subject.Defs) {
		t.Errorf("%d families, %d defined", len(families), len(subject.Defs))
	}
	for _, definer := range subject.Defs {
		d := definer.Def()
		f := families[d.Name]
		if f == nil || f.GetHelp() != d.HelpText() || strings.ToLower(f.GetType().String()) != string(d.Kind) {
			t.Errorf("%s: %v", d.Name, f.GetType())
		}
	}
}

func TestTheLivePagePassesTheLinter(t *testing.T) {
	server := httptest.NewServer(shownRun(t).handler())
	defer server.Close()
	response, err := http.Get(server.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	problems, err := promlint.New(response.Body).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

func TestTheLivePageIsServedInTheFormatThatCarriesNativeHistograms(t *testing.T) {
	server := httptest.NewServer(shownRun(t).handler())
	defer server.Close()
	request, err := http.NewRequest(http.MethodGet, server.URL+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, _ := io.ReadAll(response.Body); !strings.Contains(response.Header.Get("Content-Type"), "protobuf") || len(body) == 0 {
		t.Errorf("content type %s", response.Header.Get("Content-Type"))
	}
}

func TestASimulatedEngineIsLabelledOnTheLivePage(t *testing.T) {
	for simulated, want := range map[bool]float64{true: 1, false: 0} {
		got := gathered(t, newLiveRun(liveFacts{Run: "r1", Hosts: []string{"spark1"}, Simulated: simulated}))[metric.RunSimulated.Def().Name].GetMetric()
		if len(got) != 1 || got[0].GetGauge().GetValue() != want {
			t.Errorf("simulated %t: %v, want %v", simulated, got, want)
		}
	}
}

func TestRequestsEndAsTheVocabularySays(t *testing.T) {
	var statuses []string
	for _, status := range openai.Statuses() {
		statuses = append(statuses, string(status))
	}
	if known := metric.RequestStatuses(); !slices.Equal(statuses, known) {
		t.Errorf("requests end as %v, panels know %v", statuses, known)
	}
}

// record is a request that took so long to its first token.
func record(status openai.Status, firstToken int64) openai.Result {
	return openai.Result{Record: openai.Record{Status: status, DispatchNS: new(int64(0)), FirstTokenNS: new(firstToken), ArrivalsNS: []int64{firstToken}, ReadIDs: []int{1}}}
}

func TestGoodRequestsAreThoseThatKeepEveryObjective(t *testing.T) {
	fast := func(r openai.Record) bool { return r.Status == openai.StatusOK && *r.FirstTokenNS <= 100*ms }
	l := newLiveRun(liveFacts{Run: "r1", Phases: []string{rundir.PhaseWarmup, rundir.PhaseMeasure}, Good: fast})
	good := func(phase string) float64 { return testutil.ToFloat64(l.good.WithLabelValues("r1", phase)) }
	watch := l.observe(rundir.PhaseMeasure)
	if got := gathered(t, l)[metric.LoadGoodRequestsTotal.Def().Name].GetMetric(); len(got) != 1 || got[0].GetCounter().GetValue() != 0 {
		t.Errorf("before the first request: %v, want a 0 that a rate can begin from", got)
	}
	for _, result := range []openai.Result{record(openai.StatusOK, 90*ms), record(openai.StatusOK, 110*ms), record(openai.StatusTimeout, 90*ms), record(openai.StatusOK, 100*ms)} {
		watch.Started()
		watch.Ended(workload.Job{}, result)
	}
	l.observe(rundir.PhaseWarmup).Ended(workload.Job{}, record(openai.StatusOK, 90*ms))
	if measured, warm := good(rundir.PhaseMeasure), good(rundir.PhaseWarmup); measured != 2 || warm != 1 {
		t.Errorf("%v good while measuring, %v in the warm-up", measured, warm)
	}
}

func TestWithoutObjectivesNoRequestIsGood(t *testing.T) {
	l := newLiveRun(liveFacts{Run: "r1", Phases: []string{rundir.PhaseMeasure}})
	l.observe(rundir.PhaseMeasure).Ended(workload.Job{}, record(openai.StatusOK, 90*ms))
	if of := gathered(t, l)[metric.LoadGoodRequestsTotal.Def().Name]; of != nil {
		t.Errorf("%v, and nobody said what good is", of)
	}
}
