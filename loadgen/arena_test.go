package loadgen

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/sim"
	"github.com/umascope/umascope/loadgen/summary"
)

// smallCells are sizes that take a quick engine no time.
var smallCells = []string{"--pp=128", "--tg=4", "--runs=2"}

// compared measures an arena in the given folder of runs.
func compared(t *testing.T, ctx context.Context, out string, args ...string) (code int, dir rundir.Folder, stdout, stderr string) {
	t.Helper()
	printed, complained := &lockedBuffer{}, &lockedBuffer{}
	code = Run(ctx, slices.Concat([]string{"arena", "--out", out, "--web.listen-address=127.0.0.1:0"}, uncontended, args), printed, complained)
	return code, rundir.Folder(filepath.Join(out, "a1")), printed.String(), complained.String()
}

// arenaOf measures a new arena of small cells.
func arenaOf(t *testing.T, args ...string) (code int, dir rundir.Folder, stdout, stderr string) {
	t.Helper()
	return compared(t, t.Context(), t.TempDir(), slices.Concat([]string{"--run-id=a1"}, smallCells, args)...)
}

// phaseCounts counts the records of each phase of a run, in the order of their first request.
func phaseCounts(t *testing.T, run string) (names []string, counts map[string]int) {
	t.Helper()
	counts = map[string]int{}
	for _, r := range records(t, run) {
		if counts[r.Phase]++; counts[r.Phase] == 1 {
			names = append(names, r.Phase)
		}
	}
	return names, counts
}

func TestAnArenaLeavesARunForEveryCell(t *testing.T) {
	t.Parallel()
	files := t.TempDir()
	code, dir, stdout, stderr := arenaOf(t, "--url", engine(t, 2*time.Millisecond), "--depth=0,512", "--concurrency=1,3", "--label=arm=native", "--exact",
		"--export=llama-benchy="+filepath.Join(files, "a.json")+",csv="+filepath.Join(files, "a.csv")+",md="+filepath.Join(files, "a.md"))
	if code != exitDone {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	result := facts(t, dir)
	if result.Kind != rundir.KindArena || result.State != campaign.Complete || slotStatuses(result) != "finished finished finished finished" {
		t.Errorf("%+v", result)
	}
	for i, m := range result.Slots {
		run, row := dir.Path(m.Last()), slotTable(t, dir)[i]
		expectFiles(t, run, rundir.ScheduleFile, rundir.RequestsFile, rundir.PhasesFile, rundir.SummaryFile, rundir.ReportFile)
		manifest := read[rundir.Manifest](t, filepath.Join(run, rundir.ManifestFile))
		for name, want := range map[string]string{"arm": "native", "arena": "a1", "depth": []string{"0", "0", "512", "512"}[i], "concurrency": []string{"1", "3", "1", "3"}[i], "pp": "128", "tg": "4"} {
			if manifest.Labels[name] != want || name != "arm" && row["label_"+name] != want {
				t.Errorf("%s: label %s is %q, want %q", m.Last(), name, manifest.Labels[name], want)
			}
		}
		if manifest.Server.LatencyProbeSeconds == nil || manifest.Server.LatencyProbeMode != "api" {
			t.Errorf("%s: latency %+v", m.Last(), manifest.Server)
		}
		names, counts := phaseCounts(t, run)
		want := []string{"batch_1", "batch_2"}
		if i > 1 {
			want = []string{"context_1", "batch_1", "context_2", "batch_2"}
		}
		if i == 0 {
			want = append([]string{"warmup"}, want...)
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: phases %v, want %v", m.Last(), names, want)
		}
		for name, n := range counts {
			if n != []int{1, 3}[i%2] {
				t.Errorf("%s: %d requests in %s", m.Last(), n, name)
			}
		}
	}
	for _, want := range []string{"as llama-benchy", "measured", "\ntg4 @ d512 (c3) ", "\nctx_pp @ d512 (c1) ", "arena folder: "} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in %s", want, stdout)
		}
	}
	expectFiles(t, string(dir), rundir.ReportFile, rundir.HTMLFile)
	expectFiles(t, files, "a.json", "a.csv", "a.md")
	imported := t.TempDir()
	succeeded(t, "import", "--format=llama-benchy", "--out", imported, filepath.Join(files, "a.json"))
	if runs, err := os.ReadDir(imported); err != nil || len(runs) != 6 { // of a depth, that of the context too
		t.Errorf("%d runs are imported again: %v", len(runs), err)
	}
}

// TestTheProgressOfAnArenaHasItsCellsTheirRatesAndItsEnd, from the second cell on.
func TestTheProgressOfAnArenaHasItsCellsTheirRatesAndItsEnd(t *testing.T) {
	t.Parallel()
	code, _, _, stderr := compared(t, t.Context(), t.TempDir(), "--url", engine(t, 2*time.Millisecond), "--pp=128", "--tg=32", "--runs=2", "--exact", "--concurrency=1,2,3", "--progress=json", "--log.level=error")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	seen := map[int]runner.Series{}
	for line := range strings.Lines(stderr) {
		var p runner.Progress
		if json.Unmarshal([]byte(line), &p) == nil && p.Series != nil {
			seen[p.Series.Number] = *p.Series
		}
	}
	for number := 1; number <= 3; number++ {
		s, shown := seen[number]
		if !shown || s.Kind != rundir.KindArena || s.Of != 3 || (s.EndsAt != nil) != (number > 1) || len(s.Runs) != number-1 {
			t.Errorf("cell %d: %+v", number, s)
		}
		for _, r := range s.Runs {
			if alone := strings.HasSuffix(r.Name, "(c1)"); r.PP == nil || alone && r.TG == nil {
				t.Errorf("cell %d: %+v", number, r)
			}
		}
	}
}

// TestAnArenaShowsWhatTheMachineUsed in its table, beside the figures of each cell.
func TestAnArenaShowsWhatTheMachineUsed(t *testing.T) {
	t.Parallel()
	began := time.Now()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "%s{mode=\"live\"} 1\n%s{uuid=\"GPU-1\"} %g\n%s 1e9\n%s 3221225472\n", metric.ExporterMode.Def().Name,
			metric.GPUEnergyJoulesTotal.Def().Name, 50*time.Since(began).Seconds(), metric.MemoryCUDAFreeBytes.Def().Name, metric.MemoryAvailableBytes.Def().Name)
	}))
	t.Cleanup(page.Close)
	code, dir, stdout, stderr := arenaOf(t, "--url", engine(t, 5*time.Millisecond), "--depth=512", "--concurrency=2", "--telemetry=spark="+page.URL+"/metrics", "--validity=telemetry_lost=off")
	if code != exitDone {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	var lines [][]string
	for line := range strings.Lines(stdout) {
		if strings.Contains(line, "GiB") || strings.Contains(line, "GPU W ") {
			lines = append(lines, strings.Fields(line))
		}
	}
	if len(lines) < 3 || strings.Join(lines[0], " ") != "cell GPU W tokens/J memory left" || strings.Join(lines[1][:3], " ") != "ctx @ d512" || strings.Join(lines[2][:4], " ") != "pp128 tg4 @ d512" {
		t.Fatalf("%s", stdout)
	}
	for _, line := range lines[1:3] {
		n := len(line)
		if watts, err := strconv.ParseFloat(line[n-4], 64); err != nil || !(watts > 0) || strings.Join(line[n-2:], " ") != "3 GiB" {
			t.Errorf("%v, want watts and 3 GiB", line)
		}
	}
	text, err := os.ReadFile(dir.Path(rundir.ReportFile))
	if err != nil || !strings.Contains(string(text), "| TTFT | GPU W | tokens/J | memory left | flags |") {
		t.Errorf("%v: %s", err, text)
	}
}

// TestBatchesOfAnArenaFindTheirContextsInTheCache reads what the engine counted: the exact lengths, and the depth.
func TestBatchesOfAnArenaFindTheirContextsInTheCache(t *testing.T) {
	t.Parallel()
	code, dir, _, stderr := arenaOf(t, "--url", engine(t, 0), "--depth=512", "--concurrency=3")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	m := facts(t, dir).Slots[0]
	ends, seen := map[string]int64{}, map[string]string{}
	for _, r := range records(t, dir.Path(m.Last())) {
		want, cached := 640, 0
		switch {
		case strings.HasPrefix(r.Phase, "context"):
			want = 513
		case strings.HasPrefix(r.Phase, "batch"):
			cached = 512 / 16 * 16 // blocks of 16 tokens, of which the template may cut the last
		}
		if *r.TokensIn != want || r.InputTokensTarget != want {
			t.Errorf("%s: %d prompt tokens, %d asked for, want %d", r.Phase, *r.TokensIn, r.InputTokensTarget, want)
		}
		if got := *r.TokensCached; got > cached || got < cached-32 {
			t.Errorf("%s: %d cached tokens, want about %d", r.Phase, got, cached)
		}
		ends[r.Phase] = max(ends[r.Phase], *r.EndNS)
		if seen[r.PromptSHA256] != "" {
			t.Errorf("%s and %s send the same prompt", seen[r.PromptSHA256], r.Phase)
		}
		seen[r.PromptSHA256] = r.Phase
	}
	before := map[string]string{"context_1": "warmup", "batch_1": "context_1", "context_2": "batch_1", "batch_2": "context_2"}
	for _, r := range records(t, dir.Path(m.Last())) {
		if *r.DispatchNS < ends[before[r.Phase]] {
			t.Errorf("a request of %s is sent before %s has ended", r.Phase, before[r.Phase])
		}
	}
	sum := read[summary.Summary](t, filepath.Join(dir.Path(m.Last()), rundir.SummaryFile))
	if sum.Requests[openai.StatusOK] != 6 {
		t.Errorf("%v requests are measured, want those of the batches", sum.Requests)
	}
}

func TestADepthThatTheServerEvictsMakesItsCellInvalid(t *testing.T) {
	t.Parallel()
	_, url := simulated(t, func(c *sim.Config) { c.KVCacheTokens, c.MaxModelTokens = 1024, 1024 })
	code, dir, _, stderr := arenaOf(t, "--url", url, "--depth=600,0", "--concurrency=3")
	result := facts(t, dir)
	if code != exitInvalid || slotStatuses(result) != "invalid finished" || !strings.Contains(result.Slots[0].Problem, string(summary.CodeDepthEvicted)) {
		t.Errorf("exit %d, %s: %v: %s", code, slotStatuses(result), result.Slots[0].Problem, stderr)
	}
	code, dir, _, stderr = arenaOf(t, "--url", url, "--depth=600", "--concurrency=3", "--no-prefix-caching")
	names, _ := phaseCounts(t, dir.Path(facts(t, dir).Slots[0].Last()))
	if code != exitDone || !slices.Equal(names, []string{"warmup", "batch_1", "batch_2"}) {
		t.Errorf("without caching: exit %d, phases %v: %s", code, names, stderr)
	}
}

func TestACellBeyondTheContextIsLeftOutAndOthersGoOn(t *testing.T) {
	t.Parallel()
	_, url := simulated(t, func(c *sim.Config) { c.MaxModelTokens = 1000 })
	code, dir, stdout, stderr := arenaOf(t, "--url", url, "--depth=900,100")
	result := facts(t, dir)
	if code != exitDone || slotStatuses(result) != "skipped finished" || !strings.Contains(result.Slots[0].Problem, "a request of 1032 tokens does not fit: the server takes 1000") {
		t.Errorf("exit %d: %+v: %s", code, result.Slots, stderr)
	}
	if !strings.Contains(stdout, "does not fit") {
		t.Errorf("printed %s", stdout)
	}
	if names, _ := phaseCounts(t, dir.Path(result.Slots[1].Last())); names[0] != "warmup" {
		t.Errorf("the first cell that is measured has no warm-up: %v", names)
	}
	code, dir, _, stderr = arenaOf(t, "--url", url, "--depth=900,950")
	if code != exitUsage || !strings.Contains(stderr, "none of 2 cells fits the server") || slotStatuses(facts(t, dir)) != "skipped skipped" {
		t.Errorf("no cell fits: exit %d: %s", code, stderr)
	}
}

// TestACellThatAServerRefusesDoesNotFit: not every server reports its context.
func TestACellThatAServerRefusesDoesNotFit(t *testing.T) {
	t.Parallel()
	_, behind := simulated(t, func(c *sim.Config) { c.MaxModelTokens = 1000 })
	url := inFront(t, behind, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if r.URL.Path == "/v1/models" {
			fmt.Fprint(w, `{"data":[{"id":"simulated-8b","owned_by":"x-simulated"}]}`)
			return
		}
		pass.ServeHTTP(w, r)
	})
	code, dir, _, stderr := arenaOf(t, "--url", url, "--depth=950,100")
	if result := facts(t, dir); code != exitDone || slotStatuses(result) != "skipped finished" || result.Slots[0].Last() == "" {
		t.Errorf("exit %d: %+v: %s", code, result.Slots, stderr)
	}
}

func TestFailedRequestsDoNotLoseACell(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	url := inFront(t, engine(t, 0), func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		body, _ := io.ReadAll(r.Body)
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(string(body))), int64(len(body))
		var asked struct {
			MaxTokens int `json:"max_completion_tokens"`
		}
		_ = json.Unmarshal(body, &asked)
		if strings.HasSuffix(r.URL.Path, "/chat/completions") && asked.MaxTokens == 5 && sent.Add(1)%2 == 0 {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		pass.ServeHTTP(w, r)
	})
	code, dir, _, stderr := compared(t, t.Context(), t.TempDir(), "--run-id=a1", "--url", url, "--depth=512", "--pp=128", "--runs=3", "--tg=5", "--warmup=none")
	m := facts(t, dir).Slots[0]
	if code != exitInvalid || m.Status != campaign.Invalid || !strings.Contains(m.Problem, string(summary.CodeErrorRate)) {
		t.Fatalf("exit %d: %+v: %s", code, m, stderr)
	}
	if names, _ := phaseCounts(t, dir.Path(m.Last())); len(names) != 6 {
		t.Errorf("phases after one that failed are not sent: %v", names)
	}
}

func TestWithoutATokenizerLengthsAreNotEstimatedUnasked(t *testing.T) {
	t.Parallel()
	_, url := simulated(t, func(c *sim.Config) { c.Vendor = sim.TensorRTLLM })
	code, dir, _, stderr := arenaOf(t, "--url", url, "--depth=512")
	last := stderr[strings.LastIndex(strings.TrimSpace(stderr), "\n")+1:]
	if code != exitUsage || !strings.Contains(last, "the server's tokenizer cannot be asked (POST /tokenize answered 404") || !strings.Contains(last, "--estimate-lengths") {
		t.Errorf("exit %d: %s", code, last)
	}
	if _, err := os.Stat(string(dir)); err == nil {
		t.Error("a folder is left of an arena that measured nothing")
	}
	code, dir, _, stderr = arenaOf(t, "--url", url, "--depth=512", "--estimate-lengths", "--latency=none")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	manifest := read[rundir.Manifest](t, filepath.Join(dir.Path(facts(t, dir).Slots[0].Last()), rundir.ManifestFile))
	if !manifest.Workload.Script.Arena.Estimated || !strings.HasPrefix(manifest.Workload.InputLengths, "estimated: ") || manifest.Server.LatencyProbeSeconds != nil {
		t.Errorf("%+v, %s", manifest.Workload.Script.Arena, manifest.Workload.InputLengths)
	}
}

func TestAnArenaGoesOnWhereItWasInterrupted(t *testing.T) {
	t.Parallel()
	out, ctx, interrupt := t.TempDir(), t.Context(), func() {}
	url := inFront(t, engine(t, 0), func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `tokens":7`) {
			interrupt()
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		pass.ServeHTTP(w, r)
	})
	flags := []string{"--url", url, "--pp=128", "--runs=1", "--concurrency=1"}
	stopped, cancel := context.WithCancel(ctx)
	defer cancel()
	interrupt = cancel
	code, dir, _, stderr := compared(t, stopped, out, append(flags, "--tg=5,7,9", "--run-id=a1")...)
	first := facts(t, dir)
	if code != exitFailed || first.State != campaign.Stopped || slotStatuses(first) != "finished aborted pending" || !strings.Contains(stderr, "--resume=a1") {
		t.Fatalf("exit %d, %s: %s", code, slotStatuses(first), stderr)
	}
	interrupt = func() {}
	for want, changed := range map[string][]string{
		`--tg was "5,7,9" when a1 began, and is "5,7" now`: append(flags, "--tg=5,7", "--resume=a1"),
		"no folder a2":                     append(flags, "--tg=5,7,9", "--resume=a2"),
		"--dry-run: an arena that goes on": append(flags, "--tg=5,7,9", "--resume=a1", "--dry-run"),
	} {
		if code, _, _, stderr := compared(t, ctx, out, changed...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit %d: %s", changed, code, stderr)
		}
	}
	code, dir, _, stderr = compared(t, ctx, out, append(flags, "--tg=5,7,9", "--resume=a1")...)
	result := facts(t, dir)
	if code != exitDone || slotStatuses(result) != "finished finished finished" || result.Slots[0].Last() != first.Slots[0].Last() || !result.StartedAt.Equal(first.StartedAt) {
		t.Fatalf("exit %d, %s: %s", code, slotStatuses(result), stderr)
	}
	if again := result.Slots[1].Last(); again == first.Slots[1].Last() {
		t.Errorf("the cell that was cut off has the run %s again", again)
	}
	expectFiles(t, dir.Path(first.Slots[1].Last()+".aborted"), "manifest.aborted.json")
	if code, _, _, stderr := compared(t, ctx, out, append(flags, "--tg=5,7,9", "--resume=a1")...); code != exitUsage || !strings.Contains(stderr, "all 3 runs") {
		t.Errorf("a complete arena goes on: exit %d: %s", code, stderr)
	}
}

func TestADryRunShowsTheCellsAndMeasuresNothing(t *testing.T) {
	t.Parallel()
	_, url := simulated(t, func(c *sim.Config) { c.MaxModelTokens, c.KVCacheTokens = 10_000, 12_000 })
	out := t.TempDir()
	code, _, stdout, stderr := compared(t, t.Context(), out, "--url", url, "--profile=spark-arena-v2", "--depth=0,4096,8192", "--dry-run", "--rates=3000,50")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{
		"pp2048 tg128 @ d4096 (c5)", "31360", "queues", "does not fit", "context 10000 tokens, KV cache 12000 tokens",
		"8 cells, 162 requests", "cells that do not fit the context of 10000 tokens and are left out: 4", "time: at least ",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in\n%s", want, stdout)
		}
	}
	for line := range strings.Lines(stdout) {
		if strings.HasPrefix(line, " ") && len(line) > 81 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	if left, err := os.ReadDir(out); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestCellsHaveTheOrderThatWasAskedFor(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "d0-c1 d0-c5 d4096-c1 d4096-c5"},
		{[]string{"--profile=spark-arena-v2", "--depth=0,4096"}, "d4096-c5 d4096-c2 d0-c1 d4096-c10 d0-c10 d0-c5 d0-c2 d4096-c1"},
		{[]string{"--profile=spark-arena-v2", "--depth=0,4096", "--order=given"}, "d0-c1 d0-c2 d0-c5 d0-c10 d4096-c1 d4096-c2 d4096-c5 d4096-c10"},
		{[]string{"--depth=8,0", "--concurrency=2,1"}, "d8-c2 d8-c1 d0-c2 d0-c1"},
	} {
		line := newCommandLine(io.Discard)
		if _, _, err := line.parse(append([]string{"arena", "--url=http://127.0.0.1:1"}, c.args...)); err != nil {
			t.Fatal(err)
		}
		p, err := line.arenaPlan.plan(1)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, cell := range p.Cells {
			got = append(got, fmt.Sprintf("d%d-c%d", cell.Depth, cell.Concurrency))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v: %v, want %s", c.args, got, c.want)
		}
	}
}

func TestFlagsOfAnArenaAreRefusedInOneLine(t *testing.T) {
	for want, args := range map[string][]string{
		"--depth":                {"--depth=-1"},
		"pp 0 is not":            {"--pp=0"},
		"--profile":              {"--profile=none"},
		"--concurrency: no cell": {"--profile=quick", "--concurrency=2"},
		"--cool":                 {"--cool=hot"},
		"from 20C to 100C":       {"--cool=5C"},
		"--rates":                {"--rates=3000"},
		"--export: \"xml=a\"":    {"--export=xml=a"},
		"is there twice":         {"--export=md=a,csv=a"},
		"--export: /no/a.md":     {"--export=md=/no/a.md"},
		"--order":                {"--order=random"},
		"--latency":              {"--latency=ping"},
		"more than 1000 cells":   {"--depth=" + numbersTo(40), "--concurrency=" + numbersTo(40)},
		"scenario arena sends":   {"--endpoint=completions"},
		"--label: depth=7":       {"--label=depth=7"},
		"expected":               {"--deepth=1"},
		"no exporter shows":      {"--cool=60C", "--telemetry=x=http://127.0.0.1:1"},
	} {
		code, _, stderr := invokeVerb(t, append([]string{"arena", "--url=http://127.0.0.1:1", "--out=" + t.TempDir()}, args...)...)
		if code != exitUsage || strings.Count(strings.TrimSpace(stderr), "\n") > 0 || want != "expected" && !strings.Contains(stderr, want) {
			t.Errorf("%v: exit %d: %s", args, code, stderr)
		}
	}
}

func numbersTo(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint(i+1))
	}
	return strings.Join(all, ",")
}

// TestAnArenaCoolsBeforeEachCell: the GPU is cool from the start, and after the first request too hot for the second cell.
func TestAnArenaCoolsBeforeEachCell(t *testing.T) {
	t.Parallel()
	var hot atomic.Bool
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		celsius := 50
		if hot.Load() {
			celsius = 70
		}
		fmt.Fprintf(w, "uma_exporter_build_info{version=\"v1\"} 1\numa_exporter_mode{mode=\"live\"} 1\numa_gpu_temperature_celsius{uuid=\"a\"} %d\n", celsius)
	}))
	defer exporter.Close()
	out := t.TempDir()
	url := inFront(t, engine(t, 0), func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		hot.Store(hot.Load() || strings.HasSuffix(r.URL.Path, "/completions"))
		pass.ServeHTTP(w, r)
	})
	ended, complained := make(chan int), &lockedBuffer{}
	go func() {
		ended <- Run(ctx, slices.Concat([]string{"arena", "--out", out, "--run-id=a1", "--web.listen-address=127.0.0.1:0", "--url", url, "--telemetry=spark=" + exporter.URL,
			"--cool=60C", "--concurrency=1,2", "--validity=telemetry_lost=off", "--progress=lines"}, smallCells, uncontended), io.Discard, complained)
	}()
	await(t, func() bool { return strings.Contains(complained.String(), "waiting for gate gpu_celsius") })
	interrupt()
	if code := <-ended; code != exitFailed {
		t.Errorf("exit %d: %s", code, complained.String())
	}
	if result := facts(t, rundir.Folder(filepath.Join(out, "a1"))); slotStatuses(result) != "finished aborted" {
		t.Errorf("%+v", result)
	}
}
