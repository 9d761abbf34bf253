package loadgen

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// recorded runs the verb record with a folder of its own, without the long stretches around it.
func recorded(t *testing.T, p Program, ctx context.Context, args ...string) (code int, dir, stdout, stderr string) {
	t.Helper()
	out := t.TempDir()
	var printed, complained bytes.Buffer
	p.Stdout, p.Stderr = &printed, &complained
	flags := []string{"record", "--out", out, "--run-id", "r1", "--web.listen-address", "127.0.0.1:0"}
	for _, around := range []string{"--before=", "--after="} {
		if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, around) }) {
			flags = append(flags, around+"0s")
		}
	}
	args = append(flags, args...)
	code = p.Run(ctx, args)
	return code, filepath.Join(out, "r1"), printed.String(), complained.String()
}

// script writes a program for the shell.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "benchmark")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// benchmark prints a real log of trtllm-bench with pauses where it works: 0.3 s of loading, of which
// the KV cache is the last thing, of warm-up and of measuring.
func benchmark(t *testing.T) string {
	t.Helper()
	log, err := filepath.Abs("enginelog/testdata/trtllm-bench-constructed.log")
	if err != nil {
		t.Fatal(err)
	}
	return script(t, fmt.Sprintf(`
log() { sed -n "/$1/,/$2/p" %q; }
log 'TensorRT-LLM version: 1' 'Setting PyTorch memory'
sleep 0.3
log 'Setting up for warmup' 'Stopping LLM backend'
sleep 0.3
log 'Warmup done' 'Starting benchmark\.\.\.' | tail -n 3
sleep 0.3
sed -n '/count=3000/,$p' %q
sleep 0.1
`, log, log))
}

// spark serves the page of a live exporter on a machine with one pool, whose free memory falls as an
// engine loads. Each look finds that more was read back from swap.
func spark(t *testing.T, swapped float64) string {
	t.Helper()
	r := prometheus.NewRegistry()
	newGauge(r, metric.ExporterBuildInfo).WithLabelValues("v1", "abc", "go1").Set(1)
	newGauge(r, metric.ExporterMode).WithLabelValues(metric.ModeLive).Set(1)
	newGauge(r, metric.HostInfo).WithLabelValues("Spark", "NVIDIA", "6.14", "aarch64", "integrated").Set(1)
	newGauge(r, metric.MemoryPoolBytes).WithLabelValues().Set(119.7 * (1 << 30))
	free := newGauge(r, metric.MemoryCUDAFreeBytes).WithLabelValues()
	newGauge(r, metric.MemoryAvailableBytes).WithLabelValues().Set(100 << 30)
	lines := newGauge(r, metric.MemoryLedgerBytes)
	lines.WithLabelValues(ledger.Free).Set(90 << 30)
	swap := newCounter(r, metric.VmstatSwappedInBytesTotal).WithLabelValues()
	page := promhttp.HandlerFor(r, promhttp.HandlerOpts{})
	var mutex sync.Mutex
	looks := 0.0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		mutex.Lock()
		looks++
		free.Set(max(20, 90-10*looks) * (1 << 30))
		swap.Add(swapped)
		mutex.Unlock()
		page.ServeHTTP(w, request)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/metrics"
}

func value(s summary.Summary, name spec.Quantity, statistic string) float64 {
	for _, v := range s.Tool.Values {
		if v.Name == name && v.Statistic == statistic {
			return v.Value
		}
	}
	return math.NaN()
}

func TestARecordedBenchmarkHasItsPhasesItsFiguresAndTheMachinesMemory(t *testing.T) {
	code, dir, stdout, stderr := recorded(t, Program{}, t.Context(), "--extract=trtllm", "--telemetry=spark1="+spark(t, 0), "--telemetry-interval=100ms", "--before=200ms", "--after=200ms",
		"--label=host=spark1", "--label=arm=native", "--capture=note=echo hi", "--xlsx", "--csv", "--validity=telemetry_lost=off", "--", benchmark(t), "--model", "m", "--api-key=hunter2", "-n", "-5", "throughput")
	if code != exitDone {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	s := summaryOf(t, dir)
	if !s.Valid || s.Latency != nil || s.Scenario != "record" || s.Labels["arm"] != "native" || s.Tool == nil || s.Tool.Program != "benchmark" || *s.Tool.ExitCode != 0 {
		t.Fatalf("%+v", s)
	}
	if got := value(s, spec.OutputTokensPerSecond, ""); got != 11076.77 {
		t.Errorf("%v output tokens per second, and %+v", got, s.Tool.Values)
	}
	if e := s.Memory.EngineReported; e == nil || math.Abs(*e.Peak-113.65*(1<<30)) > 1 || math.Abs(*e.KV-5.95*(1<<30)) > 1 || *e.KVTokens != 86720 || e.Source != "the log of benchmark" {
		t.Errorf("%+v", e)
	}
	if s.KV == nil || *s.KV.CapacityTokens != 86720 || s.Memory.OccupiedWithoutKV == nil || s.Memory.LedgerAt.Start == nil || s.Memory.LedgerAt.Ready == nil || s.Memory.UnavailablePeak == nil {
		t.Errorf("%+v, memory %+v", s.KV, s.Memory)
	}
	for _, warning := range s.Warnings {
		if !strings.Contains(warning, "switched off by --validity") {
			t.Errorf("warns: %s", warning)
		}
	}
	// A busy computer reads a line late, so that only the timers of the run itself and the whole command have a least length.
	least := map[string]float64{"before": .19, "load": 0, "warmup": 0, "measure": 0, "stop": 0, "after": .19}
	for name, seconds := range least {
		if p, there := s.Phases[name]; !there || p.End-p.Start <= seconds || p.Measured != (name == "measure") {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if command := s.Phases["stop"].End - s.Phases["load"].Start; command < .8 {
		t.Errorf("the command took %v s", command)
	}
	expectCommand(t, dir)
	for _, text := range []string{"output tokens per second", "11077 /s", "run folder: "} {
		if !strings.Contains(stdout, text) {
			t.Errorf("no %q in %s", text, stdout)
		}
	}
}

// expectCommand checks what the folder holds of the command itself.
func expectCommand(t *testing.T, dir string) {
	t.Helper()
	m := manifestOf(t, dir)
	c := m.Command
	if m.State != rundir.StateComplete || c == nil || *c.ExitCode != 0 || c.Extractor != "trtllm" || c.Arguments != 6 || !slices.Equal(c.Options, []string{"--model", "--api-key", "-n"}) || len(m.Captures) != 2 || m.Telemetry == nil {
		t.Errorf("manifest %+v, command %+v", m, c)
	}
	if len(c.Borders) != 3 || c.Borders[1].Phase != "measure" || !strings.Contains(c.Borders[1].Text, "Warmup done.") || !strings.HasPrefix(c.Borders[1].From, "stdout:") {
		t.Errorf("borders %+v", c.Borders)
	}
	kept, err := os.ReadFile(filepath.Join(dir, rundir.StdoutFile))
	if err != nil || !bytes.Contains(kept, []byte("\x1b[32m[TensorRT-LLM]")) || !bytes.Contains(kept, []byte("\rBenchmarking: 100%")) {
		t.Errorf("kept %q (%v)", kept, err)
	}
	text(t, dir, rundir.StderrFile) // empty
	expectFiles(t, dir, rundir.ReportFile, rundir.HTMLFile, rundir.WorkbookFile, rundir.SummaryCSVFile, rundir.TelemetryFile, rundir.PhasesFile)
	everything(t, dir, func(name, text string) {
		if strings.Contains(text, "hunter2") {
			t.Errorf("%s holds an argument of the command", name)
		}
	})
}

func TestTheFilesOfARecordedRunKeepTheirSchemas(t *testing.T) {
	t.Parallel()
	_, dir, _, _ := recorded(t, Program{}, t.Context(), "--extract=trtllm", "--telemetry=spark1="+spark(t, 0), "--telemetry-interval=100ms", "--", benchmark(t))
	schemas := validators(t)
	for _, file := range []string{rundir.SummaryFile, rundir.ManifestFile, rundir.PhasesFile} {
		for _, value := range documents(t, filepath.Join(dir, file)) {
			if err := schemas[file].Validate(value); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

func TestARecordedRunIsInvalidByTheMachinesRules(t *testing.T) {
	code, dir, _, stderr := recorded(t, Program{}, t.Context(), "--telemetry=spark1="+spark(t, 65<<20), "--telemetry-interval=100ms", "--label=host=spark1", "--validity=telemetry_lost=off",
		"--", script(t, "sleep 0.5"))
	s := summaryOf(t, dir)
	if code != exitInvalid || len(s.InvalidReasons) != 1 || s.InvalidReasons[0].Code != summary.CodeSwapIn || !strings.Contains(stderr, "swap_in") {
		t.Errorf("exit %d: %s%+v", code, stderr, s.InvalidReasons)
	}
}

func TestTheExitCodeOfTheCommandIsThatOfTheRun(t *testing.T) {
	code, dir, stdout, stderr := recorded(t, Program{}, t.Context(), "--", script(t, "echo out; echo trouble >&2; exit 7"))
	if code != 7 || !strings.Contains(stdout, "out\n") || !strings.Contains(stderr, "trouble\n") || !strings.Contains(stderr, "uma-load: benchmark ended with exit code 7\n") {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	s := summaryOf(t, dir)
	if s.Valid || s.InvalidReasons[0].Code != summary.CodeIncomplete || *s.Tool.ExitCode != 7 {
		t.Errorf("%+v", s)
	}
	if m := manifestOf(t, dir); m.State != rundir.StateFailed || *m.Command.ExitCode != 7 {
		t.Errorf("%+v", m.Command)
	}
}

func TestACommandThatIsNotUnderstoodIsMeasuredAsAWhole(t *testing.T) {
	code, dir, stdout, stderr := recorded(t, Program{}, t.Context(), "--", script(t, "printf '\\377\\000\\033[31mbinary'; exit 0"))
	if code != exitDone {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	s := summaryOf(t, dir)
	if !s.Phases["measure"].Measured || len(s.Tool.Values) != 0 || len(s.Warnings) != 0 || s.Memory != nil {
		t.Errorf("%+v", s)
	}
	if kept, err := os.ReadFile(filepath.Join(dir, rundir.StdoutFile)); err != nil || string(kept) != "\xff\x00\x1b[31mbinary" || !strings.HasPrefix(stdout, string(kept)) {
		t.Errorf("%q, shown %q (%v)", kept, stdout, err)
	}
}

func TestALogWithoutABenchmarkIsAWarning(t *testing.T) {
	code, dir, _, stderr := recorded(t, Program{}, t.Context(), "--extract=vllm", "--", script(t, "echo 'GPU KV cache size: 100 tokens'"))
	s := summaryOf(t, dir)
	if code != exitDone || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "does not show when the benchmark began") || !s.Phases["load"].Measured || value(s, spec.KVTokens, "") != 100 {
		t.Errorf("exit %d: %s%+v", code, stderr, s)
	}
}

// cutAfter is a program whose context is done once the file is there, and which is cut when the second is.
func cutAfter(t *testing.T, first, second string) (Program, context.Context) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	cut := make(chan struct{})
	go func() {
		for _, next := range []struct {
			file string
			then func()
		}{{first, stop}, {second, func() { close(cut) }}} {
			for t.Context().Err() == nil {
				if _, err := os.Stat(next.file); err == nil {
					next.then()
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
		}
	}()
	return Program{Cut: cut}, ctx
}

func TestAnInterruptIsHandedOnAndTheFolderIsComplete(t *testing.T) {
	// As main does. A shell never sees a signal that is ignored where it is started, as where these tests
	// run under test2json.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	ready := filepath.Join(t.TempDir(), "ready")
	p, ctx := cutAfter(t, ready, ready+".never")
	code, dir, stdout, stderr := recorded(t, p, ctx, "--", script(t, "trap 'echo heard; exit 0' INT\ntouch "+ready+"\nwhile :; do sleep 0.05; done"))
	if code != exitFailed || !strings.Contains(stdout, "heard\n") || !strings.Contains(stderr, "interrupted before its plan ended") {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	s, m := summaryOf(t, dir), manifestOf(t, dir)
	if s.Valid || m.State != rundir.StateInterrupted || *m.Command.ExitCode != 0 || s.Phases["after"].Start == 0 {
		t.Errorf("%+v %+v", s, m.Command)
	}
}

func TestACommandThatIgnoresAnInterruptIsKilledByTheSecondOrAfterTheGrace(t *testing.T) {
	for name, second := range map[string]bool{"second": true, "grace": false} {
		t.Run(name, func(t *testing.T) {
			ready := filepath.Join(t.TempDir(), "ready")
			then, args := ready+".never", []string{"--grace=50ms"}
			if second {
				then, args = ready, []string{"--grace=1h"}
			}
			p, ctx := cutAfter(t, ready, then)
			code, dir, _, stderr := recorded(t, p, ctx, append(args, "--", script(t, "trap '' INT\ntouch "+ready+"\nsleep 60"))...)
			m := manifestOf(t, dir)
			if code != 137 || m.Command.Signal != "SIGKILL" || !strings.Contains(stderr, "benchmark ended by SIGKILL") {
				t.Errorf("exit %d: %s %+v", code, stderr, m.Command)
			}
		})
	}
}

func TestARunThatIsInterruptedBeforeTheCommandStartsNone(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	touched := filepath.Join(t.TempDir(), "ran")
	time.AfterFunc(50*time.Millisecond, stop)
	code, dir, stdout, stderr := recorded(t, Program{}, ctx, "--telemetry=spark1="+spark(t, 0), "--before=1h", "--", script(t, "touch "+touched))
	m, s := manifestOf(t, dir), summaryOf(t, dir)
	if _, err := os.Stat(touched); err == nil || code != exitFailed || m.State != rundir.StateInterrupted || m.Command.ExitCode != nil {
		t.Errorf("exit %d: %s %+v", code, stderr, m.Command)
	}
	if s.Tool.ExitCode != nil || !strings.Contains(stdout, "it never ran") {
		t.Errorf("a command that never ran is said to have ended: %s", stdout)
	}
}

func TestACommandThatCannotRunLeavesNoFolder(t *testing.T) {
	noProgram := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(noProgram, []byte("\x00\x01\x02"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"absent": {"--", "/no/such/program"}, "no program": {"--", noProgram}, "none": nil, "empty": {"--", ""},
		"a file for none": {"--result=x", "--", "true"}, "extractor": {"--extract=ollama", "--", "true"}, "exporter": {"--telemetry=a=http://127.0.0.1:1", "--", "true"},
	} {
		code, dir, _, stderr := recorded(t, Program{}, t.Context(), append([]string{"--log.level=error"}, args...)...)
		if code != exitUsage || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "uma-load: ") {
			t.Errorf("%s: exit %d: %s", name, code, stderr)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: a folder is left", name)
		}
	}
}

func TestMuchOutputIsShownAndKeptUpToABound(t *testing.T) {
	code, dir, stdout, stderr := recorded(t, Program{}, t.Context(), "--extract=trtllm", "--", script(t, "head -c 104857600 /dev/zero | tr '\\0' 'x'; echo; echo 'Request Throughput (req/sec):  2.5'"))
	if code != exitDone || len(stdout) < 100<<20 {
		t.Fatalf("exit %d, %d bytes: %s", code, len(stdout), stderr)
	}
	info, err := os.Stat(filepath.Join(dir, rundir.StdoutFile))
	if err != nil || info.Size() < 100<<20 {
		t.Errorf("%v %v", info, err)
	}
	if s := summaryOf(t, dir); value(s, spec.RequestsPerSecond, "") != 2.5 {
		t.Errorf("%+v", s.Tool)
	}
}

func TestFilesOfResultsAreThoseThatTheCommandWrote(t *testing.T) {
	results := t.TempDir()
	stale := filepath.Join(results, "old.json")
	content := text(t, "enginelog/testdata/genai-bench.json")
	overwrite(t, stale, content)
	yesterday := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(stale, yesterday, yesterday); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs("enginelog/testdata")
	if err != nil {
		t.Fatal(err)
	}
	bench := script(t, fmt.Sprintf("cat %s/genai-bench.log; mkdir %s/e; cp %s/genai-bench.json %s/e/run.json; echo '{}' >%s/e/experiment_metadata.json", here, results, here, results, results))
	code, dir, _, stderr := recorded(t, Program{}, t.Context(), "--extract=genai-bench", "--result", results, "--result", stale, "--", bench)
	s := summaryOf(t, dir)
	if code != exitDone || s.Tool.Version != "0.0.5" || value(s, spec.Requests, "") != 32 || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "the command wrote no file there") {
		t.Fatalf("exit %d: %s%+v %q", code, stderr, s.Tool, s.Warnings)
	}
	seen := map[string]bool{}
	for _, v := range s.Tool.Values {
		if key := string(v.Name) + v.Statistic; seen[key] || v.From != "run.json" {
			t.Errorf("%+v", v)
		} else {
			seen[key] = true
		}
	}
}
