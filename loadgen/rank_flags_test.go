package loadgen

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// attempt is one start of all ranks of a load.
type attempt struct {
	out     string
	startAt time.Time
	codes   []int
	says    []string
}

// start runs all ranks of a load as goroutines.
func start(t *testing.T, ctx context.Context, world int, lead time.Duration, args ...string) attempt {
	t.Helper()
	a := attempt{out: t.TempDir(), startAt: time.Now().Add(lead).UTC().Truncate(time.Millisecond), codes: make([]int, world), says: make([]string, world)}
	var running sync.WaitGroup
	for r := range world {
		running.Go(func() {
			var out, errs bytes.Buffer
			own := slices.Concat([]string{
				"run", "--out", a.out, "--web.listen-address", "127.0.0.1:0", "--rank", fmt.Sprint(r), "--world", fmt.Sprint(world), "--start-at", a.startAt.Format(time.RFC3339Nano),
			}, uncontended, args)
			a.codes[r] = Run(ctx, own, &out, &errs)
			a.says[r] = errs.String()
		})
	}
	running.Wait()
	return a
}

// startInTime is start with as much lead as this machine turns out to need: it is shared, and a rank that
// is not ready in time rightly measures nothing. Every attempt has an engine of its own: one that has seen the prompts
// of a late attempt answers them from its prefix cache.
func startInTime(t *testing.T, world int, engineURL func() string, args ...string) attempt {
	t.Helper()
	for _, lead := range []time.Duration{2 * time.Second, 10 * time.Second} {
		a := start(t, t.Context(), world, lead, append(args, "--url", engineURL())...)
		if !slices.ContainsFunc(a.says, func(output string) bool { return strings.Contains(output, "--start-at: ") }) {
			return a
		}
	}
	return start(t, t.Context(), world, time.Minute, append(args, "--url", engineURL())...)
}

func (a attempt) folder(base string, r int) string {
	return filepath.Join(a.out, fmt.Sprintf("%s-rank%dof%d", base, r, len(a.codes)))
}

func (a attempt) folders(base string) []string {
	var all []string
	for r := range a.codes {
		all = append(all, a.folder(base, r))
	}
	return all
}

func TestRanksOfOneLoadMakeOneFolder(t *testing.T) {
	t.Parallel()
	newEngine := func() string { return engine(t, time.Millisecond) }
	page, _ := exporter(t)
	load := []string{
		"--arrival=poisson", "--rate=60", "--requests=60", "--warmup=6", "--input-tokens=20:40", "--output-tokens=4", "--save-outputs",
		"--telemetry", "spark=" + page, "--telemetry-interval=250ms", "--validity=telemetry_lost=off", "--label=host=spark", "--label=arm=a", "--slo=e2e=1m",
	}
	a := startInTime(t, 3, newEngine, append([]string{"--run-id=load"}, load...)...)
	for r, code := range a.codes {
		if code != exitDone {
			t.Fatalf("rank %d: exit %d: %s", r, code, a.says[r])
		}
	}
	code, stdout, stderr := invokeVerb(t, append([]string{"merge", "--out", a.out, "--csv", "--xlsx", "--conversations", "--benchstat"}, a.folders("load")...)...)
	if code != exitDone || !strings.Contains(stdout, filepath.Join(a.out, "load")) {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	merged := filepath.Join(a.out, "load")
	alone, _, _ := completed(t, append(load, "--url", newEngine(), "--csv", "--xlsx", "--conversations", "--benchstat")...)

	own := regexp.MustCompile(`"prompt_sha256":"[0-9a-f]{64}"`) // the prompts of each run are its own
	if own.ReplaceAllString(text(t, merged, rundir.ScheduleFile), "") != own.ReplaceAllString(text(t, alone, rundir.ScheduleFile), "") {
		t.Error("the schedule is not that of one process")
	}
	for _, path := range []string{merged, alone} {
		expectFiles(t, path, "manifest.json", "requests.jsonl", "outputs.jsonl", "telemetry.jsonl.gz", "phases.json", "summary.json", "report.md", "report.html", "results.xlsx", "requests.csv", "results.txt")
	}
	schemas := validators(t)
	for _, file := range []string{rundir.ManifestFile, rundir.RequestsFile, rundir.PhasesFile, rundir.SummaryFile} {
		for _, dir := range []string{merged, a.folder("load", 2)} {
			for _, value := range documents(t, filepath.Join(dir, file)) {
				if err := schemas[file].Validate(value); err != nil {
					t.Errorf("%s of %s: %v", file, dir, err)
				}
			}
		}
	}
	checkArrivals(t, a, merged, 60)
	checkMerged(t, a, merged, summaryOf(t, alone))
}

// checkArrivals makes sure that every request was sent once and was due when the plan says, from the
// moment on that all ranks were told.
func checkArrivals(t *testing.T, a attempt, merged string, requests int) {
	t.Helper()
	m := manifestOf(t, merged)
	begin := a.startAt.Sub(m.StartedAt).Nanoseconds()
	planned := map[string]int64{}
	for line := range strings.Lines(text(t, merged, rundir.ScheduleFile)) {
		var l rundir.ScheduleLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Phase == rundir.PhaseMeasure {
			planned[fmt.Sprint(l.Index, l.PromptSHA256)] = *l.PlannedNS
		}
	}
	ended := int64(0)
	for _, r := range records(t, merged) {
		if r.Phase != rundir.PhaseMeasure {
			continue
		}
		key := fmt.Sprint(r.Index, r.PromptSHA256)
		at, due := planned[key]
		if !due || r.IntendedNS != begin+at || *r.DispatchNS < r.IntendedNS || r.Status != openai.StatusOK {
			t.Errorf("request %d of rank %d was due %d after the start and is %+v", r.Index, *r.Rank, at, r)
		}
		if delete(planned, key); *r.Rank != r.Index%len(a.codes) || r.Run != "load" {
			t.Errorf("request %d is of %s, rank %d", r.Index, r.Run, *r.Rank)
		}
		ended = max(ended, *r.EndNS)
		requests--
	}
	if len(planned) != 0 || requests != 0 {
		t.Errorf("%d planned requests have no record, %d too few", len(planned), requests)
	}
	for _, s := range read[rundir.Phases](t, filepath.Join(merged, rundir.PhasesFile)).Phases {
		if s.Name == rundir.PhaseMeasure && (s.StartNS != begin || s.EndNS < ended) {
			t.Errorf("measured from %d to %d, began at %d and ended at %d", s.StartNS, s.EndNS, begin, ended)
		}
	}
}

func checkMerged(t *testing.T, a attempt, merged string, alone summary.Summary) {
	t.Helper()
	m := manifestOf(t, merged)
	if m.State != rundir.StateComplete || m.Ranks == nil || len(m.Ranks.Parts) != 3 || m.Rank != nil || m.Judging == nil || len(m.Machines) != 1 || !m.Ranks.StartAt.Equal(a.startAt) {
		t.Errorf("manifest %+v", m)
	}
	if within := m.Ranks.AlignedWithinSeconds; within == nil || *within != 0 {
		t.Errorf("on one machine aligned within %v", within)
	}
	for r, part := range m.Ranks.Parts {
		if part.Rank != r || part.Of != "load" || part.Source != "--rank and --world" || part.Flags["rank"] != fmt.Sprint(r) || part.Flags["seed"] != "" {
			t.Errorf("part %+v", part)
		}
	}
	s := summaryOf(t, merged)
	if s.Run != "load" || s.Requests[openai.StatusOK] != 60 || s.WorkloadSHA256 != alone.WorkloadSHA256 || !s.Valid || s.Labels["arm"] != "a" || s.SLO == nil || s.SLO.Good != 60 {
		t.Errorf("summary %+v", s)
	}
	if !slices.Equal(s.Checked, alone.Checked) {
		t.Errorf("checked %v, of one process %v", s.Checked, alone.Checked)
	}
	if s.Tokens.InputLengths != alone.Tokens.InputLengths || len(s.Phases) != len(alone.Phases) {
		t.Errorf("lengths %q, phases %v", s.Tokens.InputLengths, s.Phases)
	}
	if output := strings.Join(s.Warnings, "\n"); strings.Contains(output, "rank") {
		t.Errorf("warnings of a whole run: %s", output)
	}
	own := read[summary.Summary](t, filepath.Join(a.folder("load", 1), rundir.SummaryFile))
	if output := strings.Join(own.Warnings, "\n"); own.Requests[openai.StatusOK] != 20 || !strings.Contains(output, "this is rank 1 of 3") {
		t.Errorf("rank 1: %v, %s", own.Requests, output)
	}
}

func TestRanksWithoutANameFindTheSameOne(t *testing.T) {
	t.Parallel()
	a := startInTime(t, 2, func() string { return engine(t, 0) }, "--arrival=constant", "--rate=50", "--requests=4", "--warmup=0", "--input-tokens=5", "--output-tokens=2", "--label=arm=b")
	found, err := filepath.Glob(filepath.Join(a.out, a.startAt.Format("20060102T150405Z")+"-b-??????-rank?of2"))
	if err != nil || len(found) != 2 || strings.TrimSuffix(found[0], "0of2") != strings.TrimSuffix(found[1], "1of2") {
		t.Fatalf("%v, %v: %v %v", found, err, a.codes, a.says)
	}
	code, _, stderr := invokeVerb(t, append([]string{"merge", "--out", a.out}, found...)...)
	if merged := strings.TrimSuffix(found[0], "-rank0of2"); code != exitDone || len(records(t, merged)) != 4 {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if code, _, stderr := invokeVerb(t, append([]string{"merge", "--out", a.out}, found...)...); code != exitUsage || !strings.Contains(stderr, "never written twice") {
		t.Errorf("a second time: exit %d: %s", code, stderr)
	}
	checkRefusals(t, a.out, found)
}

// checkRefusals merges what does not belong together, and looks for what is left of it.
func checkRefusals(t *testing.T, out string, ranks []string) {
	t.Helper()
	hostile := filepath.Join(out, "hostile")
	if err := os.CopyFS(hostile, os.DirFS(ranks[1])); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(hostile, rundir.ManifestFile)
	m := read[rundir.Manifest](t, path)
	m.Rank.Of = "../../escaped"
	m.Seed = 9
	if err := rundir.Folder(hostile).WriteJSON(rundir.ManifestFile, m); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadDir(out)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"one rank":       {ranks[:1], "rank 1 is missing"},
		"twice":          {[]string{ranks[0], ranks[0]}, "so is"},
		"another seed":   {[]string{ranks[0], hostile}, hostile + ": its seed is 9"},
		"no folder":      {[]string{ranks[0], filepath.Join(out, "none")}, "it has no manifest.json"},
		"none":           {nil, "folder"},
		"a hostile name": {[]string{hostile, "--allow-missing"}, "--run-id"},
		"a bad name":     {append([]string{"--run-id=../x"}, ranks...), "--run-id"},
	} {
		code, _, stderr := invokeVerb(t, append([]string{"merge", "--out", out}, c.args...)...)
		if code != exitUsage || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d: %s", name, code, stderr)
		}
	}
	if after, _ := os.ReadDir(out); len(after) != len(before) {
		t.Errorf("left behind: %v", after)
	}
	// Half of the schedule: the ranks agree in words, and not in what they sent.
	if err := os.Truncate(filepath.Join(ranks[1], rundir.ScheduleFile), 0); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := invokeVerb(t, append([]string{"merge", "--out", out, "--run-id=half"}, ranks...)...); code != exitUsage || !strings.Contains(stderr, "planned by no rank") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if _, err := os.Stat(filepath.Join(out, "half")); !os.IsNotExist(err) {
		t.Errorf("half a folder: %v", err)
	}
}

func TestARankThatIsMissingOrWasKilledMakesTheWholeInvalid(t *testing.T) {
	t.Parallel()
	a := startInTime(t, 3, func() string { return engine(t, 0) }, "--run-id=x", "--concurrency=3", "--requests=9", "--warmup=0", "--input-tokens=5", "--output-tokens=2")
	m := read[rundir.Manifest](t, filepath.Join(a.folder("x", 1), rundir.ManifestFile))
	m.State, m.EndedAt, m.Judging.Client = rundir.StateRunning, nil, rundir.ClientHealth{}
	if err := rundir.Folder(a.folder("x", 1)).WriteJSON(rundir.ManifestFile, m); err != nil {
		t.Fatal(err)
	}
	requests, err := os.OpenFile(filepath.Join(a.folder("x", 1), rundir.RequestsFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = requests.WriteString(`{"run":"x","phase":"mea`)
	requests.Close()
	code, _, stderr := invokeVerb(t, "merge", "--out", a.out, "--allow-missing", a.folder("x", 1), a.folder("x", 0))
	if code != exitInvalid || !strings.Contains(stderr, "incomplete") || !strings.Contains(stderr, "of 3 ranks rank 2 is missing; rank 1: it has not ended, or was killed") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	s := read[summary.Summary](t, filepath.Join(a.out, "x", rundir.SummaryFile))
	if s.Requests[openai.StatusOK] != 6 || !slices.Contains(s.Warnings, "the last record of rank 1 is torn and left out: it was killed") || slices.Contains(s.Checked, "client") {
		t.Errorf("%+v", s)
	}
}

func TestAStartThatIsOverIsRefusedBeforeAnythingIsSent(t *testing.T) {
	out := t.TempDir()
	code, _, stderr := invokeVerb(t, "run", "--out", out, "--url", engine(t, 0), "--start-at", "2020-01-01T00:00:00Z")
	if left, _ := os.ReadDir(out); code != exitUsage || !strings.Contains(stderr, "--start-at: 2020-01-01T00:00:00Z is over since") || len(left) != 0 {
		t.Errorf("exit %d: %s, left %v", code, stderr, left)
	}
}

func TestAWarmupThatOutlastsTheStartMeasuresNothing(t *testing.T) {
	t.Parallel()
	url := engine(t, 10*time.Millisecond)
	a := start(t, t.Context(), 1, 5*time.Second, "--run-id=late", "--url", url, "--requests=4", "--warmup=1h", "--grace=0s", "--input-tokens=5", "--output-tokens=20")
	if a.codes[0] != exitFailed || !strings.Contains(a.says[0], "--start-at: it was over since") {
		t.Fatalf("exit %d: %s", a.codes[0], a.says[0])
	}
	dir := filepath.Join(a.out, "late")
	m := manifestOf(t, dir)
	if m.State != rundir.StateFailed || m.Rank == nil || !m.Rank.StartAt.Equal(a.startAt) {
		t.Errorf("manifest %+v", m)
	}
	for _, r := range records(t, dir) {
		if r.Phase != rundir.PhaseWarmup {
			t.Fatalf("measured %+v", r)
		}
	}
}

func TestAnInterruptEndsTheWaitForTheStart(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	a := start(t, ctx, 1, time.Hour, "--run-id=r", "--url", engine(t, 0), "--warmup=0")
	if a.codes[0] != exitFailed || !strings.Contains(a.says[0], "interrupted") {
		t.Errorf("exit %d: %s", a.codes[0], a.says[0])
	}
}

func TestARankThatNobodyMeantIsNamed(t *testing.T) {
	url := engine(t, 0)
	for _, c := range []struct {
		name string
		env  map[string]string
		args []string
		says string
	}{
		{"a batch script of Slurm", map[string]string{"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, []string{"run"}, "rank 0 of 4, by SLURM_PROCID and SLURM_NTASKS"},
		{"a pod", map[string]string{"JOB_COMPLETION_INDEX": "2"}, []string{"run"}, "JOB_COMPLETION_INDEX says that this is rank 2"},
		{"a rank of nothing", nil, []string{"run", "--rank=1"}, "--world"},
		{"a rank without a start", nil, []string{"run", "--rank=1", "--world=2"}, "--start-at"},
		{"no number", nil, []string{"run", "--rank=x"}, "--rank"},
		{"no moment", nil, []string{"run", "--start-at=soon"}, "--start-at"},
		{"phases that wait", nil, []string{"run", "--rank=1", "--world=2", "--scenario=reuse_verify", "--start-at", fmt.Sprint(time.Now().Unix() + 3600)}, "--world: the phases of --scenario reuse_verify"},
		{"a sweep of ranks", nil, []string{"sweep", "--over=concurrency=1,2", "--rank=0", "--world=2"}, "--world: this is rank 0 of 2"},
		{"a sweep with a start", nil, []string{"sweep", "--over=concurrency=1,2", "--start-at", fmt.Sprint(time.Now().Unix() + 3600)}, "--start-at: it is of one run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			out := t.TempDir()
			code, _, stderr := invokeVerb(t, append(c.args, "--out", out, "--url", url)...)
			if left, _ := os.ReadDir(out); code != exitUsage || !strings.Contains(stderr, c.says) || len(left) != 0 || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit %d: %s, left %v", code, stderr, left)
			}
		})
	}
}
