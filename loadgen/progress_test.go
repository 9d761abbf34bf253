package loadgen

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runner"
)

// progressOf returns the objects that --progress json printed, which keep their schema.
func progressOf(t *testing.T, output string) (all []runner.Progress) {
	t.Helper()
	schema := validators(t)[progressOutput]
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if err := schema.Validate(value); err != nil {
			t.Error(err)
		}
		var p runner.Progress
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, p)
	}
	return all
}

func TestARunReportsItsProgressInJSON(t *testing.T) {
	t.Parallel()
	page, _ := exporter(t)
	stderr := &lockedBuffer{}
	args := append([]string{"run", "--url", engine(t, time.Millisecond), "--telemetry", "spark1=" + page, "--out", t.TempDir(), "--run-id=r1", "--web.listen-address=127.0.0.1:0",
		"--requests=4", "--warmup=0", "--output-tokens=4", "--label=arm=native", "--progress=json", "--log.level=error", "--validity=telemetry_lost=off"}, uncontended...)
	if code := Run(t.Context(), args, &lockedBuffer{}, stderr); code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	all := progressOf(t, stderr.String())
	if len(all) == 0 {
		t.Fatalf("no object in %q", stderr.String())
	}
	last := all[len(all)-1]
	if last.Schema != runner.ProgressSchema || last.State != rundir.StateComplete || last.Run != "r1" || last.Arm != "native" || last.Model == "" || !last.Simulated || last.Series != nil {
		t.Errorf("%+v", last)
	}
	if len(last.Machines) != 1 || last.Machines[0].Host != "spark1" || last.Machines[0].Mode != "constructed" || *last.Machines[0].GPUWatts != 33 {
		t.Errorf("machines: %+v", last.Machines)
	}
}

func TestASweepReportsThePointAndTheResultsSoFar(t *testing.T) {
	t.Parallel()
	stderr := &lockedBuffer{}
	args := append([]string{"sweep", "--over=concurrency=1,2", "--url", engine(t, 0), "--out", t.TempDir(), "--run-id=s1", "--web.listen-address=127.0.0.1:0", "--pause=0s",
		"--requests=4", "--warmup=0", "--output-tokens=4", "--progress=json", "--log.level=error"}, uncontended...)
	if code := Run(t.Context(), args, &lockedBuffer{}, stderr); code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	all := progressOf(t, stderr.String())
	if len(all) < 2 {
		t.Fatalf("%q", stderr.String())
	}
	want := runner.Series{Kind: "sweep", Name: "s1", Number: 2, Of: 2, Point: "concurrency 2", Results: "1 finished"}
	if last := all[len(all)-1]; last.Series == nil || last.Series.Name != want.Name || last.Series.Number != want.Number || last.Series.Of != want.Of || last.Series.Point != want.Point || last.Series.Results != want.Results {
		t.Errorf("%+v, want %+v", last.Series, want)
	}
	if runs := all[len(all)-1].Series.Runs; len(runs) != 1 || runs[0].Name != "concurrency 1" || runs[0].Status != "finished" || runs[0].OutputTokensPerSecond == nil {
		t.Errorf("%+v", runs)
	}
	if first := all[0]; first.Series.Number != 1 || first.Series.Results != "0 finished" {
		t.Errorf("%+v", first.Series)
	}
}

// TestACampaignReportsTheSlotAndTheVerdictsSoFar makes two rounds of two arms, so that the last run has runs of both to
// compare.
func TestACampaignReportsTheSlotAndTheVerdictsSoFar(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "plan.yaml")
	overwrite(t, path, fmt.Sprintf(`schema: umascope.plan/1
name: c
models: [{name: m}]
arms: [{name: a}, {name: b}]
scenarios: [{name: s, run: {requests: 4, warmup: 0, output-tokens: 4, engine: vllm}}]
flags: {url: %q, validity: [client_lag=off, client_stall=off, stream_buffered=off]}
iterations: 2
gates: {off: [cooldown, gpu_celsius, cpu_ratio, mem_free_within]}
`, engine(t, time.Millisecond)))
	code, _, stderr := invokeVerb(t, "campaign", "run", path, "--out", dir, "--web.listen-address=127.0.0.1:0", "--progress=json")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	all := progressOf(t, stderr)
	if len(all) < 4 {
		t.Fatalf("%q", stderr)
	}
	first, last := all[0].Series, all[len(all)-1].Series
	if first == nil || first.Kind != "campaign" || first.Number != 1 || first.Of != 4 || first.Results != "0 finished" || len(first.Runs) != 0 || first.EndsAt != nil || len(first.Verdicts) != 0 {
		t.Errorf("first: %+v", first)
	}
	if last == nil || last.Number != 4 || last.Results != "3 finished" || last.EndsAt == nil || len(last.Runs) != 3 || last.Runs[0].Name != "1 a" || last.Runs[0].Status != "finished" || last.Runs[0].OutputTokensPerSecond == nil || len(last.Verdicts) != 1 || !strings.Contains(last.Verdicts[0], "b against a") {
		t.Errorf("last: %+v", last)
	}
}

// TestThePageOfARunIsItsReportInTheEnd reads the page while the run's metrics stay.
func TestThePageOfARunIsItsReportInTheEnd(t *testing.T) {
	t.Parallel()
	stderr := &lockedBuffer{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	args := append([]string{"run", "--url", engine(t, 0), "--out", t.TempDir(), "--run-id=r1", "--web.listen-address=127.0.0.1:0", "--web.linger=1h", "--requests=2", "--warmup=0", "--output-tokens=4"}, uncontended...)
	go func() { ended <- Run(ctx, args, &lockedBuffer{}, stderr) }()
	await(t, func() bool { return strings.Contains(stderr.String(), "live metrics stay") })
	address := regexp.MustCompile(`live=(http://\S+/)metrics`).FindStringSubmatch(stderr.String())
	if address == nil {
		t.Fatal(stderr.String())
	}
	if page := fetched(t, address[1]); !strings.Contains(page, "<title>r1</title>") || !strings.Contains(page, "<h2") {
		t.Errorf("%.300s", page)
	}
	if page := fetched(t, address[1]+"metrics"); !strings.Contains(page, `run="r1"`) {
		t.Errorf("metrics: %.300s", page)
	}
	cancel()
	if code := <-ended; code != exitDone {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
}
