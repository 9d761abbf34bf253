package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// ranks starts as many processes, as a launcher does, and waits for them. Late says whether one of them
// was not ready when the load began: the machine that runs tests is shared.
func ranks(t *testing.T, out string, world int, startAt time.Time, args ...string) (late bool) {
	t.Helper()
	output := make([]bytes.Buffer, world)
	processes := make([]*exec.Cmd, world)
	for r := range processes {
		c := command(t, append([]string{"run", "--out", out, "--web.listen-address", "127.0.0.1:0", "--start-at", fmt.Sprint(startAt.Unix())}, args...)...)
		c.Env = append(os.Environ(), fmt.Sprintf("OMPI_COMM_WORLD_RANK=%d", r), fmt.Sprintf("OMPI_COMM_WORLD_SIZE=%d", world))
		c.Stderr = &output[r]
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		processes[r] = c
	}
	for r, c := range processes {
		if err := c.Wait(); err != nil {
			if late = strings.Contains(output[r].String(), "--start-at: "); !late {
				t.Errorf("rank %d: %v: %s", r, err, output[r].String())
			}
		}
	}
	return late
}

func TestFourProcessesSendOneLoadToOneEngine(t *testing.T) {
	const world, requests = 4, 100
	server := engine(t, time.Millisecond)
	load := []string{
		"--url", server, "--arrival=poisson", "--rate=50", fmt.Sprintf("--requests=%d", requests), "--warmup=4", "--input-tokens=10:30", "--output-tokens=3",
		"--run-id=load", "--label=host=spark", "--validity=client_lag=off", "--validity=client_stall=off", "--validity=stream_buffered=off",
	}
	var out string
	var startAt time.Time
	for _, lead := range []time.Duration{2, 10, 60} {
		out, startAt = t.TempDir(), time.Now().Add(lead*time.Second).Truncate(time.Second).Add(time.Second)
		if !ranks(t, out, world, startAt, load...) {
			break
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	parts, err := filepath.Glob(filepath.Join(out, "load-rank*of4"))
	if err != nil || len(parts) != world {
		t.Fatalf("%v, %v", parts, err)
	}
	if text, err := command(t, append([]string{"merge", "--out", out}, parts...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if text, err := command(t, append([]string{"run", "--out", filepath.Join(out, "alone"), "--web.listen-address", "127.0.0.1:0", "--repeat-of", filepath.Join(out, "load")}, load...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	checkWhole(t, filepath.Join(out, "load"), filepath.Join(out, "alone", "load"), startAt)
}

// checkWhole makes sure that every request of the plan of one process was sent once, by any of them, and
// was due when that plan says.
func checkWhole(t *testing.T, merged, alone string, startAt time.Time) {
	t.Helper()
	var manifest rundir.Manifest
	parse(t, filepath.Join(merged, rundir.ManifestFile), &manifest)
	begin := startAt.Sub(manifest.StartedAt).Nanoseconds()
	plan, err := os.ReadFile(filepath.Join(alone, rundir.ScheduleFile))
	if err != nil {
		t.Fatal(err)
	}
	if whole, err := os.ReadFile(filepath.Join(merged, rundir.ScheduleFile)); err != nil || !bytes.Equal(whole, plan) {
		t.Errorf("another plan than that of one process, %v", err)
	}
	var want, got []string
	for line := range bytes.Lines(plan) {
		var l rundir.ScheduleLine
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		if l.Phase == rundir.PhaseMeasure {
			want = append(want, fmt.Sprint(l.Index, begin+*l.PlannedNS, l.PromptSHA256))
		}
	}
	by := map[int]int{}
	for r, err := range summary.Records(filepath.Join(merged, rundir.RequestsFile)) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Phase == rundir.PhaseMeasure && r.Status == openai.StatusOK {
			got = append(got, fmt.Sprint(r.Index, r.IntendedNS, r.PromptSHA256))
			by[*r.Rank]++
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) || len(got) != 100 {
		t.Errorf("%d requests, planned are %d; or they were due at other moments", len(got), len(want))
	}
	if len(by) != 4 || by[0] != 25 || by[3] != 25 {
		t.Errorf("requests by rank: %v", by)
	}
	var sum summary.Summary
	parse(t, filepath.Join(merged, rundir.SummaryFile), &sum)
	if !sum.Valid || sum.Requests[openai.StatusOK] != 100 || len(manifest.Ranks.Parts) != 4 || manifest.Ranks.Parts[2].Source != "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE" {
		t.Errorf("%+v, %+v", sum, manifest.Ranks)
	}
}

func parse(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
