package loadgen

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/promexport"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/summary"
)

// shelve writes copies of a run below a folder, each with a name and a start of its own, a minute apart.
func shelve(t testing.TB, original, out string, n int) {
	t.Helper()
	manifest, err := os.ReadFile(filepath.Join(original, rundir.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(original, rundir.SummaryFile))
	if err != nil {
		t.Fatal(err)
	}
	var m rundir.Manifest
	var s summary.Summary
	if err := json.Unmarshal(manifest, &m); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(sum, &s); err != nil {
		t.Fatal(err)
	}
	start := m.StartedAt
	for i := range n {
		m.Run = fmt.Sprintf("%s-%04d", filepath.Base(original), i)
		s.Run = m.Run
		m.StartedAt = start.Add(time.Duration(i) * time.Minute)
		f, err := rundir.New(out, m.Run)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]any{rundir.ManifestFile: m, rundir.SummaryFile: s} {
			text, err := json.Marshal(value)
			if err == nil {
				err = os.WriteFile(f.Path(name), text, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// served starts the verb serve and returns its address, what it says, and what ends it.
func served(t *testing.T, args ...string) (url string, output *lockedBuffer, end func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	output = &lockedBuffer{}
	code := make(chan int, 1)
	go func() { code <- Run(ctx, append([]string{"serve"}, args...), io.Discard, output) }()
	address := regexp.MustCompile(`url=(http://\S+)/metrics`)
	for range 1000 {
		if found := address.FindStringSubmatch(output.String()); found != nil {
			return found[1], output, func() int { cancel(); return <-code }
		}
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	t.Fatalf("exit %d: %s", <-code, output.String())
	return "", nil, nil
}

func fetched(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s (%v)", url, answer.Status, body, err)
	}
	return string(body)
}

func TestFinishedRunsAreServed(t *testing.T) {
	t.Parallel()
	code, dir, _, stderr := invoke(t, t.Context(), "--url", engine(t, time.Millisecond), "--requests=6", "--warmup=0", "--output-tokens=2", "--label=arm=native", "--label=host=spark")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	runs := filepath.Dir(dir)
	// One that goes on, and one whose summary is half written.
	going, half := filepath.Join(runs, "going"), filepath.Join(runs, "half")
	for _, path := range []string{going, half} {
		if err := os.CopyFS(path, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(going, rundir.SummaryFile)); err != nil {
		t.Fatal(err)
	}
	overwrite(t, filepath.Join(half, rundir.SummaryFile), `{"schema":`)
	url, output, end := served(t, "--runs", runs, "--web.listen-address=127.0.0.1:0")
	page := fetched(t, url+"/metrics")
	for _, part := range []string{
		`uma_run_info{arm="native",engine=`, `host="spark"`, `model="simulated-8b",run="r1",scenario="standard"} 1`, `uma_run_valid{run="r1"} 1`,
		`uma_run_simulated{host="spark",run="r1"} 1`, `uma_run_time_to_first_token_seconds_count{run="r1"} 6`,
		`uma_results_runs{state="shown"} 1`, `uma_results_runs{state="unfinished"} 1`, `uma_results_runs{state="unreadable"} 1`, "uma_load_build_info{",
	} {
		if !strings.Contains(page, part) {
			t.Errorf("%s is missing in\n%s", part, page)
		}
	}
	if index := fetched(t, url+"/"); !strings.Contains(index, "r1") || !strings.Contains(index, "half") {
		t.Errorf("page for people: %s", index)
	}
	if code, _, stderr := invokeVerb(t, "healthcheck", "--web.listen-address", strings.TrimPrefix(url, "http://")); code != exitDone {
		t.Errorf("healthcheck: exit %d: %s", code, stderr)
	}
	if code := end(); code != exitDone || !strings.Contains(output.String(), "half") {
		t.Errorf("exit %d: %s", code, output.String())
	}
}

func TestAnEmptyFolderIsServedUntilThereAreRuns(t *testing.T) {
	t.Parallel()
	url, _, end := served(t, "--runs", t.TempDir(), "--web.listen-address=127.0.0.1:0")
	if page := fetched(t, url+"/metrics"); !strings.Contains(page, `uma_results_runs{state="shown"} 0`) {
		t.Error(page)
	}
	if code := end(); code != exitDone {
		t.Errorf("exit %d", code)
	}
}

func TestServeRefusesWhatItCannotServe(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	none := filepath.Join(t.TempDir(), "none")
	for named, args := range map[string][]string{
		none:                   {"--runs", none},
		"--web.listen-address": {"--runs", t.TempDir(), "--web.listen-address", taken.Addr().String()},
		"--runs-per-cell":      {"--runs-per-cell=0"},
		"--max-runs":           {"--max-runs=many"},
	} {
		code, _, stderr := invokeVerb(t, append([]string{"serve"}, args...)...)
		if code != exitUsage || !strings.Contains(stderr, named) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit %d: %s", args, code, stderr)
		}
	}
}

func TestTheDefaultPortOfServeIsTakenOrTheServiceFails(t *testing.T) {
	t.Parallel()
	// It may be taken already: that is all that matters here.
	if taken, err := net.Listen("tcp", DefaultResultsAddress); err == nil {
		defer taken.Close()
	}
	code, _, stderr := invokeVerb(t, "serve", "--runs", t.TempDir())
	if code != exitUsage || !strings.Contains(stderr, DefaultResultsAddress+": bind: address already in use") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// BenchmarkThousandRuns reads a thousand folders of runs, and looks at them again when none changed.
func BenchmarkThousandRuns(b *testing.B) {
	out := b.TempDir()
	original := filepath.Join(b.TempDir(), "r")
	var output bytes.Buffer
	if code := Run(b.Context(), []string{
		"run", "--url", engine(b, time.Millisecond), "--requests=64", "--warmup=8", "--output-tokens=4", "--out", filepath.Dir(original), "--run-id=r",
		"--web.listen-address=127.0.0.1:0",
	}, io.Discard, &output); code != exitDone && code != exitInvalid {
		b.Fatalf("exit %d: %s", code, output.String())
	}
	shelve(b, original, out, 1000)
	line := &serveLine{runs: out, perCell: 10, most: 500}
	shown := func(s *promexport.Results) {
		if got := len(s.Look().Runs); got != 10 {
			b.Fatalf("%d runs", got)
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			shown(line.served())
		}
	})
	b.Run("again", func(b *testing.B) {
		results, now := line.served(), time.Now()
		results.Now = func() time.Time { now = now.Add(time.Minute); return now }
		shown(results)
		for b.Loop() {
			shown(results)
		}
	})
}

// TestOnlyAtATerminalADefaultAddressGivesWay: who asks a service at its address gets its answers, or none.
func TestOnlyAtATerminalADefaultAddressGivesWay(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	stated := serveLine{web: runner.ListenAddress{Explicit: true}}
	if (&serveLine{}).address(terminal).Explicit || !(&serveLine{}).address(io.Discard).Explicit || !stated.address(terminal).Explicit {
		t.Error("want the next free port for a default address at a terminal, and for nothing else")
	}
}
