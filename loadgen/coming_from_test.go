package loadgen

import (
	"fmt"
	"io"
	"maps"
	"math"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/sim"
	"github.com/umascope/umascope/loadgen/summary"
)

// monitorsPage is about uma-exporter, whose own tests read it.
const monitorsPage = "coming_from/nvidia-smi.md"

// comingFrom lists the pages for users of other tools.
func comingFrom(t *testing.T) []string {
	t.Helper()
	pages := []string{"coming_from/benchmark-spark.md", "coming_from/dgx-spark-harness.md", "coming_from/llama-benchy.md", monitorsPage, "coming_from/spark-infer-bench.md", "coming_from/vllm.md", "COMING_FROM.md"}
	if parts, err := filepath.Glob("coming_from/*.md"); err != nil || !slices.Equal(parts, pages[:len(pages)-1]) {
		t.Fatalf("%v: not %v; %v", parts, pages, err)
	}
	return pages
}

// comingFromText is the text of those pages.
func comingFromText(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, page := range comingFrom(t) {
		all.WriteString(text(t, page) + "\n")
	}
	return all.String()
}

// asCommand makes this program uma-load: one that a shell can start.
const asCommand = "UMASCOPE_TEST_COMMAND"

var (
	codeSpan = regexp.MustCompile("`([^`\n]+)`")
	flagName = regexp.MustCompile(`--[a-z][a-z0-9.-]*`)
)

// spans are what a text of Markdown has as code. In a table, a bar in it stands behind a backslash.
func spans(text string) []string {
	var all []string
	for _, match := range codeSpan.FindAllStringSubmatch(text, -1) {
		all = append(all, strings.ReplaceAll(match[1], `\|`, "|"))
	}
	return all
}

// pageRow is a row of a table, its last cells ours.
type pageRow struct {
	where   string // page and line
	heading string // above the column of ours
	old     string // the cells that are of others
	ours    string
}

// pageRows are the rows of the tables of the pages for others, apart from those on uma-exporter.
func pageRows(t *testing.T) []pageRow {
	t.Helper()
	var rows []pageRow
	for _, page := range comingFrom(t) {
		if page != monitorsPage {
			rows = append(rows, tableRows(t, page)...)
		}
	}
	if len(rows) < 120 {
		t.Fatalf("%d rows were found", len(rows))
	}
	return rows
}

// tableRows are the rows of the tables of one page.
func tableRows(t *testing.T, page string) []pageRow {
	t.Helper()
	var rows []pageRow
	var header []string
	for i, line := range strings.Split(text(t, page), "\n") {
		where := fmt.Sprintf("%s:%d", page, i+1)
		if !strings.HasPrefix(line, "| ") {
			header = nil
			continue
		}
		cells := regexp.MustCompile(` \| ?`).Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |"), -1)
		switch {
		case header == nil:
			header = cells
		case strings.HasPrefix(cells[0], "---"):
		case len(cells) != len(header):
			t.Errorf("%s: %d cells under %d headings", where, len(cells), len(header))
		default:
			last := len(cells) - 1
			rows = append(rows, pageRow{where, header[last], strings.Join(cells[:last], " | "), cells[last]})
		}
	}
	return rows
}

// words are those of a command line as a shell has them.
func words(t *testing.T, line string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-fc", `for word in `+line+`; do printf '%s\0' "$word"; done`).Output()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// flagsOfAll are the flags of every verb.
func flagsOfAll() map[string]bool {
	all := map[string]bool{}
	var add func([]*kingpin.CmdModel)
	add = func(commands []*kingpin.CmdModel) {
		for _, c := range commands {
			for _, f := range c.Flags {
				all["--"+f.Name] = true
			}
			add(c.Commands)
		}
	}
	add(newCommandLine(io.Discard).app.Model().Commands)
	return all
}

// accept parses a command line, and holds the flags of a run against each other.
func accept(args []string) error {
	line := newCommandLine(io.Discard)
	verb, _, err := line.parse(args)
	if err == nil && verb == line.run.FullCommand() {
		err = line.settings.resolve("host")
	}
	return err
}

// inFolderOfTheReader goes where a reader of the page would be, with the files that it names.
func inFolderOfTheReader(t *testing.T) {
	t.Helper()
	files := map[string]string{"key.txt": "k\n", "prompts.jsonl": `{"prompt":"Hi"}` + "\n"}
	for name, from := range map[string]string{
		"talks.json": "workload/testdata/talks.json", "trace.jsonl": "workload/testdata/trace.jsonl", "logs/native_iter1.log": "enginelog/testdata/trtllm-bench-constructed.log",
		"results/vllm.json": "importer/testdata/vllm-0.33.0.json", "all_benchmark_results.json": "testdata/published/all_benchmark_results.json",
		"before.json": "importer/testdata/llama-benchy-0.3.8.json", "after.json": "importer/testdata/llama-benchy-0.4.0.json", "progress.jsonl": "importer/testdata/llama-benchy-0.4.0-progress.jsonl",
		"benchmark_qwen3_spark-arena-v2_tp1.yaml": "importer/testdata/sparkrun-0.4.2.yaml",
	} {
		files[name] = text(t, from)
	}
	files["stats.json"] = `[{"ttft_ms":110.5,"tpot_ms":49.5,"latency_ms":853.1,"start_time_ms":1234.5,"input_num_turns":1,"input_num_tokens":34,"output_num_tokens":16,"conversation_id":"c1","client_id":0}]`
	files["bench/results/night1/summary.json"] = `{"run_id":"night1","created_utc":"2026-02-13T10:31:02.123+00:00","run_valid":true,"model_id":"m","scenario":"rehydrate_replay","overall_summary":{"duration_s":61.2,"ok_requests":24}}`
	folder := t.TempDir()
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		overwrite(t, path, content)
	}
	t.Chdir(folder)
}

// TestThePageForOthersNamesNoFlagThatThereIsNot: what stands under a verb is parsed with it, values too.
func TestThePageForOthersNamesNoFlagThatThereIsNot(t *testing.T) {
	rows, known := pageRows(t), flagsOfAll()
	inFolderOfTheReader(t)
	parsed := 0
	for _, row := range rows {
		for _, span := range spans(row.ours) {
			if strings.HasPrefix(span, "uma-") {
				continue // whole commands, of which the next test is
			}
			verb, ours := strings.CutPrefix(strings.Trim(row.heading, "`"), "uma-load ")
			if ours && strings.HasPrefix(span, "--") && span != "--capture" {
				args := append([]string{verb}, words(t, span)...)
				if !slices.Contains(args, "--url") {
					args = append(args, "--url", "http://127.0.0.1:8000")
				}
				if err := accept(args); err != nil {
					t.Errorf("%s: %s: %v", row.where, span, err)
				}
				parsed++
				continue
			}
			for _, name := range flagName.FindAllString(span, -1) {
				if !known[name] {
					t.Errorf("%s: no verb has %s", row.where, name)
				}
			}
		}
	}
	if parsed < 100 {
		t.Errorf("%d were parsed", parsed)
	}
}

// TestTheCommandsInTheTextForOthersAreOnes parses those that stand in sentences and tables.
func TestTheCommandsInTheTextForOthersAreOnes(t *testing.T) {
	page, line := comingFromText(t), newCommandLine(io.Discard)
	inFolderOfTheReader(t)
	verbs := map[string]bool{}
	for _, c := range line.app.Model().Commands {
		verbs[c.Name] = true
	}
	seen := 0
	for _, span := range spans(page) {
		typed, ours := strings.CutPrefix(span, "uma-load ")
		if !ours {
			continue
		}
		args := words(t, typed)
		if seen++; len(args) == 1 && verbs[args[0]] {
			continue
		}
		if err := accept(args); err != nil {
			t.Errorf("%s: %v", span, err)
		}
	}
	if seen < 40 {
		t.Errorf("%d commands were found", seen)
	}
}

// TestOldNamesAreFoundOnThePageForOthers: a reader searches it for his own.
func TestOldNamesAreFoundOnThePageForOthers(t *testing.T) {
	var old []string
	for _, row := range pageRows(t) {
		for _, span := range spans(row.old) {
			old = append(old, regexp.MustCompile(`[\s,;:/]+`).Split(span, -1)...)
		}
	}
	matches := func(name string) bool {
		return slices.ContainsFunc(old, func(word string) bool {
			matched, err := filepath.Match(word, name)
			return err == nil && matched
		})
	}
	lists, err := filepath.Glob("testdata/coming_from/*.txt")
	if err != nil || len(lists) != 6 {
		t.Fatal(lists, err)
	}
	for _, list := range lists {
		for _, name := range strings.Fields(text(t, list)) {
			if !matches(name) {
				t.Errorf("%s: %s is in no row", list, name)
			}
		}
	}
	if matches("--invented") || matches("BENCH_INVENTED") || matches("invented.sh") {
		t.Error("anything is found")
	}
}

func TestThePageForOthersNamesSeriesAndRulesThatThereAre(t *testing.T) {
	page := comingFromText(t)
	known := map[string]bool{}
	for _, d := range metric.All() {
		known[d.Def().Name] = true
	}
	named := map[string]bool{}
	for _, name := range regexp.MustCompile(`\buma_[a-z0-9_]+`).FindAllString(page, -1) {
		if named[name] = true; !known[name] {
			t.Errorf("%s is no series", name)
		}
	}
	if len(named) < 60 {
		t.Errorf("%d series are named", len(named))
	}
	if says := fmt.Sprintf("%d rules", len(summary.Rules())); !strings.Contains(page, says) {
		t.Errorf("there are %s", says)
	}
}

// TestTheCommandsOfThePageForOthersDoWhatItSays types what a reader types, one after the other, in a shell.
// The engine is a simulated one that is in no time, trtllm-bench prints a log, and small plans take the places of the
// ready ones, which are of a Spark. Nothing waits as long as it would, or is left in the background.
func TestTheCommandsOfThePageForOthersDoWhatItSays(t *testing.T) {
	page := comingFromText(t)
	log, err := filepath.Abs("enginelog/testdata/trtllm-bench-constructed.log")
	if err != nil {
		t.Fatal(err)
	}
	served, url := simulated(t, func(c *sim.Config) {
		c.Vendor, c.KV.HostBytes, c.KV.DiskBytes, c.KV.DiskFilter = sim.Dynamo, 8192<<17, 256<<30, false
		c.KV.Host, c.KV.Disk = sim.Link{BytesPerSecond: math.Inf(1)}, sim.Link{BytesPerSecond: math.Inf(1)}
		c.MaxModelTokens, c.KVCacheTokens, c.CachedTokens = 16384, 16384, true
	})
	kvbm := httptest.NewServer(served.KVBMHandler())
	t.Cleanup(kvbm.Close)
	inFolderOfTheReader(t)
	programs := t.TempDir()
	for name, says := range map[string]string{
		"trtllm-bench": "cat '" + log + "'\n",
		"uma-load": `verb=$1; shift
case $verb in
run|sweep) set -- "$@" --web.listen-address=127.0.0.1:0 ` + strings.Join(uncontended, " ") + ` ;;
arena) set -- "$@" --estimate-lengths --web.listen-address=127.0.0.1:0 ` + strings.Join(uncontended, " ") + ` ;;
record) set -- --before=0s --after=0s --web.listen-address=127.0.0.1:0 "$@" ;;
campaign) [ "$1" != run ] || set -- "$@" --web.listen-address=127.0.0.1:0 ;;
esac
` + asCommand + "=1 exec '" + os.Args[0] + `' "$verb" "$@"
`,
	} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\n"+says), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	typed := map[string]int{}
	for _, block := range blocks(t, comingFromPath(t, page), "sh") {
		for _, line := range strings.Split(strings.TrimSpace(block), "\n") {
			if strings.HasPrefix(line, "uma-exporter ") {
				continue
			}
			typed[strings.Fields(line)[1]]++
			quick := strings.NewReplacer(
				"http://127.0.0.1:8000", url, "http://127.0.0.1:6880/metrics", kvbm.URL, "http://127.0.0.1:8081", url, "shape=T1..T6", "shape=T1,T6 --requests 4 --warmup 1 --pause 0s", " --detach", "",
				"--pp 2048 --tg 128 --depth 0,4096 --concurrency 1,5", "--pp 64 --tg 8 --depth 0,512 --concurrency 1,2",
				"--rate 4 --slo ttft=500ms,tpot=50ms", "--rate 400 --slo ttft=1m,tpot=1m",
			).Replace(line)
			out, err := exec.CommandContext(t.Context(), "sh", "-c", quick).CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s", line, err, out)
			}
			if _, file, plans := strings.Cut(line, " > "); plans && strings.Contains(line, "campaign plans") {
				shortPlan(t, file, url)
			}
		}
	}
	if want := map[string]int{"campaign": 6, "compare": 4, "publish": 2, "record": 1, "sweep": 3, "check": 2, "run": 4, "arena": 2, "report": 5, "import": 9}; !maps.Equal(typed, want) {
		t.Errorf("typed were %v", typed)
	}
}

// comingFromPath writes the page where the folder of the reader is.
func comingFromPath(t *testing.T, page string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "COMING_FROM.md")
	overwrite(t, path, page)
	return path
}

// shortPlan takes the place of a ready plan, of its name.
func shortPlan(t *testing.T, file, url string) {
	t.Helper()
	name := regexp.MustCompile(`(?m)^name: (.+)$`).FindStringSubmatch(text(t, file))[1]
	load, arms := "record: {argv: [trtllm-bench, throughput], extract: trtllm, flags: {before: 0s, after: 0s}}", "[{name: native}, {name: container}]"
	if name == "kv-modes" {
		load = `run: {url: "` + url + `", requests: 4, warmup: 0, output-tokens: 4, validity: [` + strings.ReplaceAll(strings.Join(uncontended, ", "), "--validity=", "") + "]}"
		arms = "[{name: cpu_only, labels: {kv_mode: cpu_only}}, {name: cpu_disk, labels: {kv_mode: cpu_disk}}]"
	}
	plan := "schema: umascope.plan/1\nname: " + name + "\nmodels: [{name: m}]\narms: " + arms + "\nscenarios: [{name: s, " + load + "}]\niterations: 2\norder: abba\n" +
		"gates: {cooldown: 0s, off: [gpu_celsius, cpu_ratio, mem_free_within]}\n"
	overwrite(t, file, plan)
}
