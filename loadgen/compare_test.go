package loadgen

import (
	"encoding/csv"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/promexport"
	"github.com/umascope/umascope/loadgen/rundir"
)

func shownInEveryForm(t *testing.T, runs string) {
	page := filepath.Join(t.TempDir(), "comparison.html")
	code, stdout, stderr := invokeVerb(t, "compare", runs, "--by=arm", "--within=model", "--csv", "--html", page, "--columns=shapiro,bonferroni,bh,bca")
	if code != exitDone || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	rows, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	if err != nil || len(rows) != 1+3*7 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, name := range []string{"model", "metric", "verdict", "mean_a", "sd_b", "population_sd_a", "ratio_ci95_low", "holm_p", "bca95_high", "shapiro_wilk_p_a", "order"} {
		if !slices.Contains(rows[0], name) {
			t.Errorf("no column %s", name)
		}
	}
	if i := slices.Index(rows[0], "bca95_low"); rows[1][i] == "" {
		t.Error("a column that was asked for is empty")
	}
	if html := text(t, page); !strings.Contains(html, "<svg") || !strings.Contains(html, "deepseek") {
		t.Error("the page has no figure or no stratum")
	}
	if _, stdout, _ := invokeVerb(t, "compare", runs, "--by=arm", "--within=model", "--all"); strings.Index(stdout, "equivalent") > strings.Index(stdout, "warnings") || !strings.Contains(stdout, "70.47 GiB   0.995 (0.944)") {
		t.Errorf("the verdicts do not come first, or without their figures:\n%s", stdout)
	}
}

func failsAPipeline(t *testing.T, runs string) {
	for name, c := range map[string]struct {
		flags []string
		code  int
		says  string
	}{
		"worse, if the order had no effect": {[]string{"--fail-on=worse"}, exitInvalid, "--fail-on worse: memory_occupied_without_kv_bytes of container, model deepseek is confounded with time, and 5 more: neither"},
		"all primary ones are decided":      {[]string{"--fail-on=inconclusive"}, exitInvalid, "is confounded with time"},
		"a margin that none reaches":        {[]string{"--fail-on=worse", "--margin=memory_occupied_without_kv_bytes=40GiB", "--margin=kv_capacity_bytes=40GiB"}, exitDone, ""},
		"a primary one without a verdict": {[]string{"--fail-on=inconclusive", "--margin=memory_occupied_without_kv_bytes=40GiB", "--margin=kv_capacity_bytes=40GiB", "--margin=tool_reported_output_tokens_per_second=0.3%"},
			exitMissed, "tool_reported_output_tokens_per_second of container, model deepseek is confounded with time"},
	} {
		code, stdout, stderr := invokeVerb(t, append([]string{"compare", runs, "--by=arm", "--within=model"}, c.flags...)...)
		if code != c.code || !strings.Contains(stderr, c.says) || !strings.Contains(stdout, "verdict") {
			t.Errorf("%s: exit %d, want %d: %s", name, code, c.code, stderr)
		}
	}
}

func keptBesideTheRuns(t *testing.T, runs string) {
	folders, err := filepath.Glob(filepath.Join(runs, "2*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{runs}, folders} {
		code, _, stderr := invokeVerb(t, slices.Concat([]string{"compare"}, args, []string{"--by=arm", "--within=model", "--save"})...)
		if code != exitDone || !strings.Contains(stderr, "saved as") {
			t.Fatalf("exit %d: %s", code, stderr)
		}
	}
	kept, err := filepath.Glob(filepath.Join(runs, promexport.ComparisonsFolder, "*"))
	if err != nil || len(kept) != 2 {
		t.Fatalf("%q, %v", kept, err)
	}
	for _, path := range kept {
		if c := read[compare.Comparison](t, path); c.Schema != compare.Schema || len(c.Strata) != 3 || !strings.HasSuffix(path, ".json") {
			t.Errorf("%s has %d strata", path, len(c.Strata))
		}
	}
	// What is kept among runs is none.
	if code, _, stderr := invokeVerb(t, "compare", runs, "--by=arm", "--within=model"); code != exitDone {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func refusedByName(t *testing.T, runs string) {
	empty := t.TempDir()
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no folder":             {[]string{"missing", "--by=arm"}, "missing"},
		"a folder without runs": {[]string{empty, "--by=arm"}, empty},
		"no label":              {[]string{runs, "--by=kv"}, `--by: no run has a label "kv"; there are arm,`},
		"one arm":               {[]string{runs, "--by=scenario"}, "--by scenario"},
		"an unknown metric":     {[]string{runs, "--by=arm", "--margin=peak=1GiB"}, `"peak" is no metric`},
		"a margin twice":        {[]string{runs, "--by=arm", "--margin=gpu_end_celsius=1C", "--margin=gpu_end_celsius=2C"}, "gpu_end_celsius is given twice"},
		"two forms":             {[]string{runs, "--by=arm", "--json", "--md"}, "--json, --csv, --md"},
		"an unknown column":     {[]string{runs, "--by=arm", "--columns=p"}, "shapiro, bonferroni, bh, bca"},
		"a page in no folder":   {[]string{runs, "--by=arm", "--html", filepath.Join(empty, "none", "page.html")}, "--html: stat " + filepath.Join(empty, "none") + ": "},
		"no --by":               {[]string{runs}, "missing --by; for example: uma-load compare runs --by arm"},
		"a seed that is none":   {[]string{runs, "--by=arm", "--seed=x"}, `--seed: "x"`},
		"an unknown --fail-on":  {[]string{runs, "--by=arm", "--fail-on=maybe"}, `--fail-on: "maybe" is none of worse, inconclusive`},
		"a page that is there":  {[]string{runs, "--by=arm", "--html", empty}, "--html: " + empty + ": it is a folder"},
	} {
		code, _, stderr := invokeVerb(t, append([]string{"compare"}, c.args...)...)
		if code != exitUsage || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d: %s", name, code, stderr)
		}
	}
}

// Labels come from other machines: they act on no terminal, no table and no spreadsheet.
func TestLabelsOfOthersAreTextInEveryForm(t *testing.T) {
	t.Parallel()
	runs := importPublished(t)
	hostile := "=\x1b[31mcmd|<script>alert(1)</script>"
	paths, err := filepath.Glob(filepath.Join(runs, "*-container-*", rundir.SummaryFile))
	if err != nil || len(paths) == 0 {
		t.Fatal(err)
	}
	for _, path := range paths {
		summary := read[map[string]any](t, path)
		summary["labels"].(map[string]any)["arm"] = hostile
		out, err := json.Marshal(summary)
		if err != nil {
			t.Fatal(err)
		}
		overwrite(t, path, string(out))
	}
	page := filepath.Join(t.TempDir(), "page.html")
	for _, form := range []string{"", "--md", "--csv"} {
		args := []string{"compare", runs, "--by=arm", "--within=model", "--baseline=native", "--fail-on=worse"}
		if form != "" {
			args = append(args, form)
		} else {
			args = append(args, "--html", page)
		}
		_, stdout, stderr := invokeVerb(t, args...)
		if strings.ContainsRune(stdout+stderr, '\x1b') {
			t.Errorf("%q: an escape reaches the terminal", form)
		}
		if form == "--md" && strings.Contains(stdout, "<script>") || form == "--csv" && strings.Contains(stdout, ",=") {
			t.Errorf("%q: a label is no text", form)
		}
	}
	if strings.Contains(text(t, page), "<script>alert") {
		t.Error("a label is markup of the page")
	}
}

// Runs of our own: the work they did is known, and so is that their engine is simulated.
func TestRunsOfOurOwnAreCompared(t *testing.T) {
	t.Parallel()
	fast, slow := engine(t, time.Millisecond), engine(t, 10*time.Millisecond)
	out := t.TempDir()
	for i, arm := range []string{"fast", "slow", "slow", "fast", "fast", "slow"} {
		url := map[string]string{"fast": fast, "slow": slow}[arm]
		succeeded(t, slices.Concat([]string{"run", "--out", out, "--run-id", arm + string(rune('1'+i)), "--web.listen-address=127.0.0.1:0",
			"--url", url, "--requests=8", "--warmup=1", "--output-tokens=16", "--engine=vllm", "--label", "arm=" + arm}, uncontended)...)
	}
	code, stdout, stderr := invokeVerb(t, "compare", out, "--by=arm", "--json")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	var c compare.Comparison
	if err := json.Unmarshal([]byte(stdout), &c); err != nil {
		t.Fatal(err)
	}
	if c.Baseline != "fast" || c.Strata[0].Order.Kind != compare.OrderABBA || !c.Simulated {
		t.Errorf("baseline %s, order %s, simulated %v", c.Baseline, c.Strata[0].Order.Kind, c.Simulated)
	}
	metrics := c.Strata[0].Pairs[0].Metrics
	m := metrics[slices.IndexFunc(metrics, func(m compare.Metrics) bool { return m.Name == figure.RequestDuration })]
	if m.A.N != 3 || m.B.N != 3 || *m.Ratio < 2 || m.Verdict == compare.Better {
		t.Errorf("%s of ratio %v over %d and %d runs", m.Verdict, *m.Ratio, m.A.N, m.B.N)
	}
	if _, stdout, _ := invokeVerb(t, "compare", out, "--by=arm", "--all"); !strings.Contains(stdout, "SIMULATED") || !strings.Contains(stdout, "simulated: 6 runs of 6") {
		t.Errorf("it does not say that it is simulated:\n%s", stdout)
	}
	// Another seed is other work.
	code, _, stderr = invokeVerb(t, slices.Concat([]string{"run", "--out", out, "--run-id=other", "--web.listen-address=127.0.0.1:0", "--url", slow, "--requests=8", "--warmup=1",
		"--output-tokens=16", "--engine=vllm", "--label=arm=slow", "--seed=7"}, uncontended)...)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if code, _, stderr := invokeVerb(t, "compare", out, "--by=arm"); code != exitUsage || !strings.Contains(stderr, "did different work") || !strings.Contains(stderr, "--allow-different-workload") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if code, stdout, _ := invokeVerb(t, "compare", out, "--by=arm", "--allow-different-workload"); code != exitDone || !strings.Contains(stdout, "workload_different") {
		t.Errorf("exit %d: %s", code, stdout)
	}
}
