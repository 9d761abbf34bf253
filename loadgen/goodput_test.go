package loadgen

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/metric"
)

// lastPage runs the program and returns the folder of its run and what its live page shows at the end.
func lastPage(t *testing.T, args ...string) (dir, page string) {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	var stdout, stderr lockedBuffer
	out, ended := t.TempDir(), make(chan int, 1)
	go func() {
		ended <- Run(ctx, slices.Concat([]string{"run", "--out", out, "--run-id=r1", "--web.listen-address=127.0.0.1:0", "--web.linger=1h"}, uncontended, args), &stdout, &stderr)
	}()
	defer func() { interrupt(); <-ended }()
	await(t, func() bool { return strings.Contains(stderr.String(), "live metrics stay") })
	address := regexp.MustCompile(`live=(http://\S+)`).FindStringSubmatch(stderr.String())
	if address == nil {
		t.Fatalf("no address in %s", stderr.String())
	}
	return filepath.Join(out, "r1"), fetched(t, address[1])
}

// goodOn are the good requests of a phase by the live page.
func goodOn(t *testing.T, page, phase string) int {
	t.Helper()
	series := regexp.MustCompile(metric.LoadGoodRequestsTotal.Def().Name + `\{phase="` + phase + `",run="r1"\} (\d+)\n`).FindStringSubmatch(page)
	if series == nil {
		t.Fatalf("no good requests of %s in\n%s", phase, page)
	}
	n, err := strconv.Atoi(series[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The test needs requests of both kinds. How long they take depends on the machine, so the objective grows until some meet it.
func TestTheLivePageAndTheSummaryAgreeWhichRequestsAreGood(t *testing.T) {
	t.Parallel()
	for _, objective := range []string{"e2e=150ms", "e2e=500ms", "e2e=1500ms", "e2e=5s", "e2e=15s"} {
		dir, page := lastPage(t, "--url", engine(t, 5*time.Millisecond), "--requests=24", "--warmup=2", "--concurrency=4", "--output-tokens=2:60", "--slo="+objective)
		g := summaryOf(t, dir).SLO
		if g == nil {
			t.Fatal("no goodput")
		}
		if got := goodOn(t, page, metric.PhaseMeasure); got != g.Good {
			t.Errorf("%s: %d good on the live page, %d in the summary", objective, got, g.Good)
		}
		goodOn(t, page, metric.PhaseWarmup) // has a series of its own
		if g.Good > 0 && g.Good < g.Requests {
			return
		}
	}
	t.Error("no objective was met by some requests and missed by others")
}

func TestWithoutObjectivesTheLivePageHasNoGoodRequests(t *testing.T) {
	t.Parallel()
	_, page := lastPage(t, "--url", engine(t, time.Millisecond), "--requests=2", "--warmup=0", "--output-tokens=2")
	if strings.Contains(page, metric.LoadGoodRequestsTotal.Def().Name) {
		t.Error(page)
	}
}
