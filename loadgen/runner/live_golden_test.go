package runner

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/workload"
)

var update = flag.Bool("update", false, "write the golden page anew")

// goldenRun is a run of a simulated engine that measures: after a warm-up of 4 requests it has sent 24, one
// every half a second, of which one was refused, one took too long and two are under way.
func goldenRun() *liveRun {
	l := newLiveRun(liveFacts{
		Run: "20261105T120000-native-0001", Hosts: []string{"spark-1"}, Arm: metric.ArmNative, Scenario: "standard",
		Version: "v1.2.3", Revision: "abc", GoVersion: "go1.26", Streaming: true, Simulated: true,
		Phases: []string{rundir.PhaseReady, rundir.PhaseWarmup, rundir.PhaseMeasure, rundir.PhaseStop},
		Good:   func(r openai.Record) bool { return *r.FirstTokenNS-*r.DispatchNS <= 250*ms },
	})
	for phase, requests := range map[string]int{rundir.PhaseWarmup: 4, rundir.PhaseMeasure: 24} {
		l.enter(phase)
		watch := l.observe(phase)
		for i := range requests {
			watch.Started()
			if i < 22 {
				send(watch, int64(i))
			}
		}
	}
	l.enter(rundir.PhaseMeasure)
	return l
}

// send lets a request end as the one of its number does. Its answer comes in chunks of one token, but for
// every fourth, which has two.
func send(watch workload.Observer, i int64) {
	intended := i * 500 * ms
	r := openai.Record{Status: openai.StatusOK, IntendedNS: intended, EligibleNS: new(intended + i%4*3*ms), TokensIn: new(int(900 + 10*i)), TokensOut: new(0)}
	r.DispatchNS = new(*r.EligibleNS + ms/20)
	switch i {
	case 9:
		r.Status = openai.StatusHTTP
	case 17:
		r.Status = openai.StatusTimeout
	}
	if r.Status == openai.StatusOK {
		r.FirstTokenNS = new(*r.DispatchNS + (120+i%7*25)*ms)
		r.ArrivalsNS = []int64{*r.FirstTokenNS}
		for chunk := range 31 + i%3 {
			r.ArrivalsNS = append(r.ArrivalsNS, (17+(chunk+i)%4)*ms)
		}
	}
	for chunk := range r.ArrivalsNS {
		r.ReadIDs, r.ArrivalTokens = append(r.ReadIDs, chunk+1), append(r.ArrivalTokens, 1+(chunk+1)%4/3)
		*r.TokensOut += r.ArrivalTokens[chunk]
		watch.Payload()
	}
	watch.Ended(workload.Job{}, openai.Result{Record: r})
}

func goldenPage(t *testing.T) string {
	t.Helper()
	answer := httptest.NewRecorder()
	goldenRun().handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("%d: %s", answer.Code, answer.Body)
	}
	return answer.Body.String()
}

func TestTheGoldenPageOfARunThatGoesOn(t *testing.T) {
	page := goldenPage(t)
	path := filepath.Join("testdata", "live.prom")
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != page {
		t.Errorf("the page is not %s (%v): go test ./loadgen/runner -update, and read what changed\n%s", path, err, page)
	}
}

// TestTheGoldenPageHasASampleOfEverySeriesOfALoad, so that panels and alerts can be held against it.
func TestTheGoldenPageHasASampleOfEverySeriesOfALoad(t *testing.T) {
	page := "\n" + goldenPage(t)
	subjects := metric.Subjects()
	at := slices.IndexFunc(subjects, func(s metric.Subject) bool { return s.Title == "Load" })
	if at < 0 {
		t.Fatal("there are no series of a load")
	}
	for _, definer := range subjects[at].Defs {
		name := definer.Def().Name
		if definer.Def().Kind == metric.KindHistogram {
			name += "_count"
		}
		if !strings.Contains(page, "\n"+name+"{") {
			t.Errorf("no %s", name)
		}
	}
	const run = `run="20261105T120000-native-0001"`
	for _, there := range []string{
		`uma_load_requests_total{phase="measure",` + run + `,status="ok"} 20`,
		`uma_load_requests_total{phase="measure",` + run + `,status="timeout"} 1`,
		`uma_load_requests_in_flight{phase="measure",` + run + `} 2`,
		`uma_load_good_requests_total{phase="measure",` + run + `} 17`, // requests 6, 13 and 20 took 270 ms to their first token
		`uma_load_time_to_first_token_seconds_count{phase="measure",` + run + `} 20`,
		`uma_run_phase{host="spark-1",phase="warmup",` + run + `} 0`,
		`uma_run_phase{host="spark-1",phase="measure",` + run + `} 1`,
		`uma_run_simulated{host="spark-1",` + run + `} 1`,
		`uma_run_active{arm="native",host="spark-1",` + run + `,scenario="standard"} 1`,
	} {
		if !strings.Contains(page, "\n"+there+"\n") {
			t.Errorf("no %s", there)
		}
	}
}
