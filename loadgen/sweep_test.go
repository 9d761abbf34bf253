package loadgen

import (
	"bytes"
	"context"
	"encoding/csv"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/sweep"
)

// swept runs a sweep with a folder of its own.
func swept(t *testing.T, ctx context.Context, args ...string) (code int, dir rundir.Folder, stdout, stderr string) {
	t.Helper()
	out := t.TempDir()
	printed, complained := &lockedBuffer{}, &lockedBuffer{}
	args = slices.Concat([]string{"sweep", "--out", out, "--run-id", "s1", "--web.listen-address", "127.0.0.1:0", "--engine=vllm", "--output-tokens=4"}, uncontended, args)
	code = Run(ctx, args, printed, complained)
	return code, rundir.Folder(filepath.Join(out, "s1")), printed.String(), complained.String()
}

// sweptWhole is swept for a sweep that has to end with exit code 0.
func sweptWhole(t *testing.T, args ...string) (dir rundir.Folder, stdout, stderr string) {
	t.Helper()
	code, dir, stdout, stderr := swept(t, t.Context(), args...)
	if code != exitDone {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	return dir, stdout, stderr
}

// shedding is an engine that refuses requests for answers above so many at once.
func shedding(t *testing.T, most int32) string {
	t.Helper()
	var inFlight atomic.Int32
	return inFront(t, engine(t, 5*time.Millisecond), func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if strings.HasSuffix(r.URL.Path, "/completions") {
			defer inFlight.Add(-1)
			if inFlight.Add(1) > most {
				http.Error(w, "busy", http.StatusServiceUnavailable)
				return
			}
		}
		pass.ServeHTTP(w, r)
	})
}

// facts reads campaign.json, which must keep its schema.
func facts(t *testing.T, dir rundir.Folder) campaign.Facts {
	t.Helper()
	path := dir.Path(rundir.CampaignFile)
	for _, value := range documents(t, path) {
		if err := validators(t)[rundir.CampaignFile].Validate(value); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	return read[campaign.Facts](t, path)
}

// slotStatuses returns the statuses of the slots in order.
func slotStatuses(f campaign.Facts) string {
	var all []string
	for _, s := range f.Slots {
		all = append(all, string(s.Status))
	}
	return strings.Join(all, " ")
}

// slotTable reads campaign.csv as a map for each slot with a run.
func slotTable(t *testing.T, dir rundir.Folder) []map[string]string {
	t.Helper()
	text, err := os.ReadFile(dir.Path(campaign.TableFile))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var named []map[string]string
	for _, row := range rows[1:] {
		cells := map[string]string{}
		for i, cell := range row {
			cells[rows[0][i]] = cell
		}
		if cells["run"] != "" {
			named = append(named, cells)
		}
	}
	return named
}

func TestASweepLeavesARunForEveryPointAndATable(t *testing.T) {
	dir, stdout, _ := sweptWhole(t, "--url", engine(t, 0), "--over=concurrency=1,4", "--requests=12", "--warmup=2", "--label=arm=native", "--csv")
	if result := facts(t, dir); result.Kind != rundir.KindSweep || result.State != campaign.Complete || slotStatuses(result) != "finished finished" {
		t.Errorf("%+v", result)
	}
	if planned, err := plan.Read(dir.Path(campaign.PlanFile)); err != nil || planned.Values["over"] != "concurrency=1,4" || planned.Flags["requests"] != "12" || planned.Scenarios[1].Run["concurrency"] != "4" {
		t.Errorf("%+v (%v)", planned, err)
	}
	for i, row := range slotTable(t, dir) {
		run := []string{"s1-01-concurrency-1", "s1-02-concurrency-4"}[i]
		if row["run"] != run || row["status"] != "finished" || row["requests_ok"] != "12" || row["requests_per_second"] == "" || row["ttft_p50_seconds"] == "" {
			t.Errorf("row %v", row)
		}
		expectFiles(t, filepath.Join(string(dir), run), rundir.ScheduleFile, rundir.RequestsFile, rundir.PhasesFile, rundir.SummaryFile, rundir.ReportFile, rundir.HTMLFile, rundir.SummaryCSVFile)
		manifest := read[rundir.Manifest](t, filepath.Join(string(dir), run, rundir.ManifestFile))
		want := map[string]string{"arm": "native", "sweep": "s1", "concurrency": row["label_concurrency"], "host": manifest.Labels["host"]}
		for name, value := range want {
			if manifest.Labels[name] != value {
				t.Errorf("label %s is %q, want %q", name, manifest.Labels[name], value)
			}
		}
		if manifest.Flags["concurrency"] != row["label_concurrency"] || manifest.Flags["requests"] != "12" || manifest.Flags["seed"] == "0" {
			t.Errorf("flags %v", manifest.Flags)
		}
	}
	if text, err := os.ReadFile(dir.Path(rundir.HTMLFile)); err != nil || !bytes.Contains(text, []byte(`href="s1-02-concurrency-4/report.html"`)) {
		t.Errorf("the page does not lead to its runs (%v)", err)
	}
	for _, name := range []string{rundir.ReportFile, rundir.HTMLFile} {
		if text, err := os.ReadFile(dir.Path(name)); err != nil || !bytes.Contains(text, []byte("simulated")) {
			t.Errorf("%s: %v, says that the engine is simulated: %t", name, err, bytes.Contains(text, []byte("simulated")))
		}
	}
	_, tables, _ := strings.Cut(stdout, "\n\n") // below the answer
	for line := range strings.Lines(tables) {
		if wide := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); wide > 80 && !strings.HasPrefix(line, "sweep folder: ") {
			t.Errorf("%d columns in %q", wide, line)
		}
	}
	if strings.Count(tables, "12 ok") != 2 || strings.Count(tables, "TTFT p50") != 1 {
		t.Errorf("tables %s", tables)
	}
	if !strings.Contains(stdout, "sweep folder: ") || strings.Contains(stdout, "run folder: ") {
		t.Errorf("printed %s", stdout)
	}
}

// promptsOf are the hashes of what a run asked, in the measured phase.
func promptsOf(t *testing.T, dir rundir.Folder, run string) []string {
	t.Helper()
	var hashes []string
	for _, r := range records(t, filepath.Join(string(dir), run)) {
		if r.Phase == rundir.PhaseMeasure {
			hashes = append(hashes, r.PromptSHA256)
		}
	}
	slices.Sort(hashes)
	return hashes
}

func TestEveryPointAsksSomethingElseUnlessToldOtherwise(t *testing.T) {
	address := engine(t, 0)
	for _, same := range []bool{false, true} {
		args := []string{"--url", address, "--over=concurrency=1,2", "--requests=6", "--warmup=0", "--seed=7"}
		if same {
			args = append(args, "--same-prompts")
		}
		dir, _, _ := sweptWhole(t, args...)
		first, second := promptsOf(t, dir, "s1-01-concurrency-1"), promptsOf(t, dir, "s1-02-concurrency-2")
		shared := slices.ContainsFunc(first, func(hash string) bool { return slices.Contains(second, hash) })
		if len(first) != 6 || shared != same || same && !slices.Equal(first, second) {
			t.Errorf("--same-prompts %t: shared %t, %d requests", same, shared, len(first))
		}
	}
}

func TestAShapeSetsItsRequests(t *testing.T) {
	code, _, _, stderr := swept(t, t.Context(), "--url", engine(t, 0), "--over=shape=T1,T4", "--requests=8", "--warmup=1", "--pause=0s")
	if code != exitUsage || !strings.Contains(stderr, "--output-tokens") {
		t.Errorf("a length beside that of the shape: exit %d: %s", code, stderr)
	}
	out := t.TempDir()
	var printed, complained bytes.Buffer
	args := []string{"sweep", "--out", out, "--run-id=s1", "--web.listen-address=127.0.0.1:0", "--engine=vllm", "--url", engine(t, 0), "--over=shape=T1,T4", "--requests=8", "--warmup=1", "--pause=0s"}
	if code := Run(t.Context(), slices.Concat(args, uncontended), &printed, &complained); code != exitDone {
		t.Fatalf("exit %d: %s", code, complained.String())
	}
	dir := rundir.Folder(filepath.Join(out, "s1"))
	flags := read[rundir.Manifest](t, filepath.Join(string(dir), "s1-02-shape-T4", rundir.ManifestFile)).Flags
	for name, want := range map[string]string{"concurrency": "4", "input-tokens": "512", "output-tokens": "128", "ignore-eos": "true", "requests": "8", "warmup": "1"} {
		if flags[name] != want {
			t.Errorf("--%s is %q, want %q", name, flags[name], want)
		}
	}
	if row := slotTable(t, dir)[1]; row["label_shape"] != "T4" || row["output_tokens_mean"] != "128" {
		t.Errorf("row %v", row)
	}
}

func TestASearchFindsTheConcurrencyThatAServerServes(t *testing.T) {
	t.Parallel()
	dir, stdout, _ := sweptWhole(t, "--url", shedding(t, 5), "--over=concurrency=1..64", "--search=slo", "--slo=e2e=60s", "--requests=40", "--warmup=0")
	found := facts(t, dir).Finding
	if found == nil || found.Within == nil || *found.Within != 5 || found.Beyond == nil || *found.Beyond != 6 || !strings.Contains(stdout, found.Says) {
		t.Errorf("found %+v; printed %s", found, stdout)
	}
}

func TestWhatASweepComesToIsItsExitCode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		most    int32
		args    []string
		code    int
		says    string
		measure int
	}{
		"a run is invalid":    {3, []string{"--over=concurrency=2,6", "--stop-error-rate=off"}, exitInvalid, "invalid run", 2},
		"errors stop it":      {1, []string{"--over=concurrency=4,6,8"}, exitInvalid, "invalid run", 1},
		"one keeps the SLO":   {9, []string{"--over=concurrency=1,2", "--slo=e2e=60s"}, exitDone, "", 2},
		"none keeps the SLO":  {9, []string{"--over=concurrency=1,2", "--slo=e2e=1ns"}, exitMissed, "--slo", 2},
		"a search finds none": {9, []string{"--over=concurrency=1..8", "--search=slo", "--slo=e2e=1ns"}, exitMissed, "--slo", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, dir, _, stderr := swept(t, t.Context(), append(c.args, "--url", shedding(t, c.most), "--requests=24", "--warmup=0")...)
			if code != c.code || !strings.Contains(stderr, c.says) {
				t.Errorf("exit %d, want %d: %s", code, c.code, stderr)
			}
			if rows := slotTable(t, dir); len(rows) != c.measure {
				t.Errorf("%d runs, want %d", len(rows), c.measure)
			}
		})
	}
}

func TestASearchThatAnInvalidRunEndsIsExit3(t *testing.T) {
	url := misnamed(t)
	code, dir, _, stderr := swept(t, t.Context(), "--url", url, "--over=concurrency=1..8", "--search=slo", "--slo=e2e=60s", "--requests=3", "--warmup=0")
	if rows := slotTable(t, dir); code != exitInvalid || len(rows) != 2 || rows[1]["invalid_reasons"] != "model_mismatch" || rows[1]["label_concurrency"] != "1" {
		t.Errorf("exit %d, rows %v: %s", code, rows, stderr)
	}
}

func TestTheRateThatWasAchievedStandsBesideTheOneAskedFor(t *testing.T) {
	one := make(chan struct{}, 1) // a server that answers one request at a time
	serial := inFront(t, engine(t, 5*time.Millisecond), func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		one <- struct{}{}
		defer func() { <-one }()
		pass.ServeHTTP(w, r)
	})
	dir, _, _ := sweptWhole(t, "--url", serial, "--over=rate=200", "--requests=60", "--warmup=0", "--arrival=constant")
	sum := read[summary.Summary](t, filepath.Join(string(dir), "s1-01-rate-200", rundir.SummaryFile))
	b := sum.Backlog
	if b == nil || !b.Grows || b.DuePerSecond < 190 || b.DuePerSecond > 210 || b.EndedPerSecond > 100 {
		t.Errorf("backlog %+v", b)
	}
	if row := slotTable(t, dir)[0]; row["due_requests_per_second"] == "" || row["ended_requests_per_second"] == "" {
		t.Errorf("row %v", row)
	}
}

func TestAnInterruptedSweepKeepsWhatWasMeasured(t *testing.T) {
	address := engine(t, 0)
	out := t.TempDir()
	dir := rundir.Folder(filepath.Join(out, "s1"))
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	code := make(chan int)
	complained := &lockedBuffer{}
	go func() {
		code <- Run(ctx, slices.Concat([]string{"sweep", "--out", out, "--run-id=s1", "--web.listen-address=127.0.0.1:0", "--engine=vllm", "--url", address, "--over=concurrency=1,2", "--requests=4", "--warmup=0", "--pause=1h"}, uncontended), &lockedBuffer{}, complained)
	}()
	await(t, func() bool {
		text, err := os.ReadFile(dir.Path(campaign.TableFile))
		return err == nil && bytes.Contains(text, []byte("s1-02-concurrency-2"))
	})
	interrupt()
	if got := <-code; got != exitFailed {
		t.Errorf("exit %d: %s", got, complained.String())
	}
	result := facts(t, dir)
	if result.State != campaign.Stopped || slotStatuses(result) != "finished aborted" {
		t.Errorf("%+v", result)
	}
	if _, err := os.Stat(dir.Path(rundir.HTMLFile)); err != nil {
		t.Error(err)
	}
}

// TestASweepGoesOnWhereItWasInterrupted in its second run, with the flags that it began with.
func TestASweepGoesOnWhereItWasInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out := t.TempDir()
	dir := rundir.Folder(filepath.Join(out, "s1"))
	url := inFront(t, engine(t, 0), func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if _, err := os.Stat(filepath.Join(dir.Path("s1-02-concurrency-2"), rundir.RequestsFile)); err == nil {
			interrupt()
		}
		pass.ServeHTTP(w, r)
	})
	sweeping := func(ctx context.Context, args ...string) (code int, stderr string) {
		complained := &lockedBuffer{}
		args = slices.Concat([]string{"sweep", "--out", out, "--web.listen-address=127.0.0.1:0", "--url", url, "--warmup=0", "--output-tokens=4", "--header=X-Token:" + secrets["a header"]}, uncontended, args)
		return Run(ctx, args, &lockedBuffer{}, complained), complained.String()
	}
	if code, stderr := sweeping(ctx, "--run-id=s1", "--over=concurrency=1,2,4", "--requests=10", "--same-prompts"); code != exitFailed || !strings.Contains(stderr, "--resume=s1") {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	first := facts(t, dir)
	if slotStatuses(first) != "finished aborted pending" {
		t.Fatalf("%s: %+v", slotStatuses(first), first)
	}
	for want, changed := range map[string][]string{
		`--over was "concurrency=1,2,4" when s1 began, and is "concurrency=1,2" now`: {"--resume=s1", "--over=concurrency=1,2", "--requests=10", "--same-prompts"},
		`--requests was "10" when s1 began, and is "11" now`:                         {"--resume=s1", "--over=concurrency=1,2,4", "--requests=11", "--same-prompts"},
		"no folder s2": {"--resume=s2", "--over=concurrency=1,2,4", "--requests=10", "--same-prompts"},
	} {
		if code, stderr := sweeping(t.Context(), changed...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit %d: %s", changed, code, stderr)
		}
	}
	if code, stderr := sweeping(t.Context(), "--resume=s1", "--over=concurrency=1,2,4", "--requests=10", "--same-prompts", "--csv"); code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	result := facts(t, dir)
	if slotStatuses(result) != "finished finished finished" || result.Slots[0].Last() != first.Slots[0].Last() || result.Slots[1].Last() != "s1-02-concurrency-2-2" || !result.StartedAt.Equal(first.StartedAt) {
		t.Errorf("%+v", result)
	}
	expectFiles(t, dir.Path("s1-02-concurrency-2.aborted"), "manifest.aborted.json")
	if before, after := promptsOf(t, dir, "s1-01-concurrency-1"), promptsOf(t, dir, "s1-03-concurrency-4"); !slices.Equal(before, after) {
		t.Error("--same-prompts is forgotten")
	}
	expectNoSecret(t, string(dir), nil)
	if code, stderr := sweeping(t.Context(), "--resume=s1", "--over=concurrency=1,2,4", "--requests=10", "--same-prompts"); code != exitUsage || !strings.Contains(stderr, "all 3 runs") {
		t.Errorf("a complete sweep goes on: exit %d: %s", code, stderr)
	}
	if code, stdout, stderr := invokeVerb(t, "campaign", "status", string(dir)); code != exitDone || !strings.HasPrefix(stdout, "sweep s1: complete\n") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
}

func TestAServerThatGoesAwayEndsTheSweepWithARowThatSaysSo(t *testing.T) {
	var asked atomic.Int32
	leaving := inFront(t, engine(t, 0), func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if r.URL.Path == "/v1/models" && asked.Add(1) > 2 {
			http.Error(w, "gone", http.StatusBadGateway)
			return
		}
		pass.ServeHTTP(w, r)
	})
	code, dir, _, stderr := swept(t, t.Context(), "--url", leaving, "--over=concurrency=1,2,4", "--requests=4", "--warmup=0")
	rows := slotTable(t, dir)
	if code != exitFailed || len(rows) < 2 {
		t.Fatalf("exit %d, %d rows: %s", code, len(rows), stderr)
	}
	if last := rows[len(rows)-1]; last["status"] != "failed" || last["problem"] == "" || rows[0]["status"] != "finished" {
		t.Errorf("rows %v", rows)
	}
	if result := facts(t, dir); result.State != campaign.Broken || result.Reason == "" {
		t.Errorf("%+v", result)
	}
}

func TestASweepThatCannotBeginLeavesNothing(t *testing.T) {
	for _, c := range []struct {
		says string
		args []string
	}{
		{"--over", []string{"--over=concurrency=0"}},
		{"--over", []string{"--over=seed=1,2"}},
		{"--concurrency: --over concurrency says it", []string{"--over=concurrency=1,2", "--concurrency=4"}},
		{"--search", []string{"--over=concurrency=1,2", "--search=saturation"}},
		{"--search slo: add --slo", []string{"--over=concurrency=1..8", "--search=slo"}},
		{"--tolerance: add --search", []string{"--over=concurrency=1,2", "--tolerance=5%"}},
		{"--tolerance", []string{"--over=concurrency=1..8", "--search=saturation", "--tolerance=0"}},
		{"--stop-error-rate", []string{"--over=concurrency=1,2", "--stop-error-rate=200%"}},
		{"--rate: a closed loop has no rate", []string{"--over=rate=1,2", "--arrival=closed"}},
		{"set.a.requests x: --set: a.requests", []string{"--over=set.a.requests=4,x", "--scenario=eviction_replay"}},
		{"--label: concurrency is given twice", []string{"--over=concurrency=1,2", "--label=concurrency=4"}},
		{"127.0.0.1:1", []string{"--over=concurrency=1,2"}}, // nothing listens there
	} {
		code, dir, _, stderr := swept(t, t.Context(), append(c.args, "--url=http://127.0.0.1:1")...)
		if code != exitUsage || !strings.Contains(stderr, c.says) {
			t.Errorf("%q: exit %d: %s", c.args, code, stderr)
		}
		if _, err := os.Stat(string(dir)); err == nil {
			t.Errorf("%q leaves a folder", c.args)
		}
	}
}

func TestOnePageShowsTheRunsOfASweep(t *testing.T) {
	complained := &lockedBuffer{}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	ended := make(chan int)
	address, out := engine(t, 0), t.TempDir()
	go func() {
		ended <- Run(ctx, slices.Concat([]string{"sweep", "--out", out, "--run-id=s1", "--web.listen-address=127.0.0.1:0", "--web.linger=1h", "--engine=vllm", "--url", address, "--over=concurrency=1,2", "--requests=4", "--warmup=0"}, uncontended), &lockedBuffer{}, complained)
	}()
	live := regexp.MustCompile(`live=http://127[^ "]*/metrics`)
	page := ""
	await(t, func() bool {
		response, err := http.Get(strings.TrimPrefix(live.FindString(complained.String()), "live="))
		if err != nil {
			return false
		}
		defer response.Body.Close()
		var text bytes.Buffer
		_, _ = text.ReadFrom(response.Body)
		page = text.String()
		return strings.Contains(page, "s1-02-concurrency-2")
	})
	if strings.Contains(page, "s1-01-concurrency-1") {
		t.Error("the page still shows the run before")
	}
	if all := slices.Compact(live.FindAllString(complained.String(), -1)); len(all) != 1 {
		t.Errorf("addresses %q", all)
	}
	interrupt()
	<-ended
}

func TestTheHelpOfSweepHasItsFlagsAndAnExample(t *testing.T) {
	var printed bytes.Buffer
	if code := Run(t.Context(), []string{"sweep", "--help-all"}, &printed, &printed); code != exitDone {
		t.Fatalf("exit %d", code)
	}
	for _, want := range []string{"--over", "--search", "--tolerance", "--pause", "--stop-error-rate", "same-prompts", "--concurrency", "--slo", "uma-load sweep --url", "Exit codes"} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("%s is not there", want)
		}
	}
}

func TestWhatWasGivenGoesBeforeWhatAPointWouldMeasure(t *testing.T) {
	for _, c := range []struct {
		over, value string
		given       []plan.Flag
		want        []string
	}{
		{"concurrency", "4", nil, []string{"--concurrency=4", "--requests=100", "--label=concurrency=4"}},
		{"concurrency", "4", []plan.Flag{{Name: "duration", Value: "60s"}}, []string{"--duration=60s", "--concurrency=4", "--label=concurrency=4"}},
		{"concurrency", "4", []plan.Flag{{Name: "scenario", Value: "burst"}}, []string{"--scenario=burst", "--concurrency=4", "--label=concurrency=4"}},
		{"rate", "2", []plan.Flag{{Name: "requests", Value: "7"}}, []string{"--requests=7", "--rate=2", "--arrival=poisson", "--label=rate=2"}},
		{"rate", "2", []plan.Flag{{Name: "arrival", Value: "gamma"}}, []string{"--arrival=gamma", "--rate=2", "--requests=120", "--label=rate=2"}},
		{"set.a.requests", "8", []plan.Flag{{Name: "set", Value: "b.requests=4"}, {Name: "clip", Value: "false"}}, []string{"--set=b.requests=4", "--no-clip", "--set=a.requests=8", "--label=set_a_requests=8"}},
		{"shape", "T1", nil, []string{"--concurrency=1", "--input-tokens=128", "--output-tokens=32", "--ignore-eos", "--requests=100", "--warmup=10", "--label=shape=T1"}},
	} {
		over, err := sweep.ParseOver(c.over + "=" + c.value)
		if err != nil {
			t.Fatal(err)
		}
		points, err := over.Points()
		if err != nil {
			t.Fatal(err)
		}
		flags, err := sweep.PointFlags(c.given, over, points[0])
		if got := newCommandLine(&bytes.Buffer{}).arguments(flags); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s=%s with %v: %q (%v), want %q", c.over, c.value, c.given, got, err, c.want)
		}
	}
}
