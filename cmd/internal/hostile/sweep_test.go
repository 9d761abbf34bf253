package hostile

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen"
)

// elsewhere are verbs that are not driven here, with the reason or the test that has them.
var elsewhere = map[string]string{
	"completion": "prints our own words", "healthcheck": "prints an address and a number",
	"merge": "loadgen/merge_hostile_test.go",
	"hosts": "loadgen/hosts: answers of the network are its own tests'",
	"arm":   "loadgen/campaign/arm; its processes are a campaign's here",
}

// buffer is what goroutines of a program may write to.
type buffer struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (b *buffer) Write(text []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(text)
}

func (b *buffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}

// session runs verbs one after the other in a folder, and keeps what each showed.
type session struct {
	t     *testing.T
	kinds map[string]int
	done  map[string]bool
}

// do runs a verb, looks at what it showed, and returns that.
func (s *session) do(kind string, args ...string) string {
	s.t.Helper()
	var stdout, stderr buffer
	code := loadgen.Run(s.t.Context(), args, &stdout, &stderr)
	name := strings.Join(args[:min(2, len(args))], " ")
	s.shown(name+kind, stdout.String())
	s.shown(name+".terminal", stderr.String())
	if slices.Contains([]int{1, 2}, code) {
		s.t.Errorf("%s: exit %d: %.600s", name, code, stderr.String())
	}
	s.done[args[0]] = true
	return stdout.String()
}

func (s *session) shown(name, text string) {
	s.t.Helper()
	kind := filepath.Ext(name)
	if text == "" {
		return
	}
	judge(s.t, s.kinds, "shown by "+strings.ReplaceAll(strings.TrimSuffix(name, kind), "/", "_")+kind, []byte(text))
}

// follow runs a verb that serves, and looks at its pages before it ends.
func (s *session) follow(pages map[string]string, args ...string) {
	s.t.Helper()
	ctx, stop := context.WithCancel(s.t.Context())
	defer stop()
	var stdout, stderr buffer
	code := make(chan int)
	go func() { code <- loadgen.Run(ctx, args, &stdout, &stderr) }()
	address := regexp.MustCompile(`(?:live|url)=(http://[0-9.:]+)/metrics`)
	ready := regexp.MustCompile(`live metrics stay|serving`)
	for began := time.Now(); !ready.MatchString(stderr.String()) || !address.MatchString(stderr.String()); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			s.t.Fatalf("%s does not serve: %s", args[0], stderr.String())
		}
	}
	for path, kind := range pages {
		response, err := http.Get(address.FindStringSubmatch(stderr.String())[1] + path)
		if err != nil {
			s.t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || len(text) == 0 {
			s.t.Errorf("%s %s: %d, %v", args[0], path, response.StatusCode, err)
		}
		if !strings.Contains(string(text), mark) {
			s.t.Errorf("%s %s does not show the text at all", args[0], path)
		}
		s.shown(args[0]+" serves"+kind, string(text))
	}
	stop()
	if got := <-code; got == 2 {
		s.t.Errorf("%s: exit %d: %s", args[0], got, stderr.String())
	}
	s.shown(args[0]+".terminal", stdout.String())
	s.shown(args[0]+".terminal", stderr.String())
	s.done[args[0]] = true
}

// TestNothingOfOthersGetsOutOfItsText drives every verb with hostile names, errors, outputs and labels, and
// with secrets, and looks through everything that it wrote, showed and served.
func TestNothingOfOthersGetsOutOfItsText(t *testing.T) {
	parent := t.TempDir()
	root := filepath.Join(parent, "here")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	foreign, err := os.ReadFile("../../../loadgen/importer/testdata/vllm-0.33.0.json")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	t.Setenv("OPENAI_API_KEY", secrets["the environment's key"])
	t.Setenv("UMA_LOAD_NOTIFY_URL", "https://127.0.0.1:1/"+secrets["an address of notices"])
	s := &session{t, map[string]int{}, map[string]bool{}}
	url, series := engine(t, false), page(t)
	label := func(name string) string { return "--label=" + name + "=" + printable }
	kept := []string{
		"--telemetry=spark=" + series + "/?key=" + secrets["a query of telemetry"], "--scrape=engine=" + series + "/metrics?key=" + secrets["a query of a page"],
		"--telemetry-interval=100ms", "--validity=client_lag=off", "--validity=client_stall=off", "--validity=stream_buffered=off", "--validity=model_mismatch=off", "--capture=said=printf '%s\\033[31m<" + mark + ">' shown # " + secrets["a command"],
		label("note"), label("host"), "--xlsx", "--csv", "--validity=telemetry_lost=off",
	}
	load := slices.Concat([]string{
		"--header=X-Token: " + secrets["a header"], "--requests=8", "--warmup=1", "--input-tokens=300", "--output-tokens=8",
	}, kept, []string{"--save-outputs", "--conversations", "--benchstat"})

	s.do(".terminal", "check", "--url="+url, "--header=X-Token: "+secrets["a header"])
	s.do(".shown", "check", "--url="+url, "--json")
	s.do(".terminal", slices.Concat([]string{"run", "--out=others", "--run-id=bad", "--web.listen-address=127.0.0.1:0", "--label=arm=bad" + printable}, load, []string{"--url=" + engine(t, true)})...)
	load = append(load, "--url="+url)
	for i, arm := range []string{"a", "b", "b"} {
		s.do(".terminal", slices.Concat([]string{"run", "--out=runs", "--run-id=" + arm + fmt.Sprint(i), "--web.listen-address=127.0.0.1:0", "--label=arm=" + arm + printable, "--verbose", "--print-content"}, load)...)
	}
	s.follow(map[string]string{"/metrics": ".prom"}, slices.Concat([]string{"run", "--out=runs", "--run-id=a3", "--web.listen-address=127.0.0.1:0", "--web.linger=1m", "--label=arm=a" + printable}, load)...)
	s.do(".terminal", slices.Concat([]string{"sweep", "--out=others", "--run-id=over", "--over=concurrency=1,2", "--pause=0s", "--web.listen-address=127.0.0.1:0"}, load)...)
	s.do(".terminal", slices.Concat([]string{"arena", "--out=others", "--run-id=cells", "--depth=0,64", "--pp=64", "--tg=8", "--runs=1", "--estimate-lengths", "--export=llama-benchy=cells.json,csv=cells.csv,md=cells.md",
		"--web.listen-address=127.0.0.1:0", "--header=X-Token: " + secrets["a header"]}, kept, []string{"--save-outputs", "--url=" + url})...)
	output := file(t, root, "said.sh", "cat <<'END'\n"+hostile+"\nOutput token throughput (tok/s): 12\nEND\n", 0o755)
	s.do(".log", slices.Concat([]string{"record", "--out=others", "--run-id=recorded", "--before=0s", "--after=0s", "--extract=vllm", "--web.listen-address=127.0.0.1:0"}, kept,
		[]string{"--", "sh", output, secrets["a command"]})...)
	if err := os.Remove(output); err != nil {
		t.Fatal(err)
	}

	for kind, format := range map[string]string{".terminal": "table", ".md": "md", ".html": "html", ".shown": "json", ".txt": "benchstat"} {
		s.do(kind, "report", "runs/a0", "--format="+format)
		if format != "benchstat" {
			s.do(kind, "report", "runs", "others/bad", "others/recorded", "--format="+format)
		}
	}
	s.do(".terminal", "report", "runs", "others", "--xlsx=many.xlsx", "--out=many.terminal")
	for kind, how := range map[string]string{".terminal": "--save", ".shown": "--json", ".csv": "--csv", ".md": "--md"} {
		s.do(kind, "compare", "runs", "--by=arm", "--allow-different-workload", "--html=compared"+strings.TrimLeft(how, "-")+".html", how)
	}
	s.do(".terminal", "publish", "runs", "--by=arm", "--allow-different-workload", "--out=pack", "--title="+printable, "--author="+printable, "--with=outputs")
	s.do(".terminal", "publish", "--verify=pack")
	s.importing(foreign)
	s.do(".terminal", "runs", "list", "--runs=runs")
	s.do(".shown", "runs", "list", "--runs=runs", "--json")
	s.do(".terminal", "runs", "pin", "--runs=runs", "a0")
	s.follow(map[string]string{"/metrics": ".prom", "/": ".html"}, "serve", "--runs=runs", "--web.listen-address=127.0.0.1:0")
	s.do(".terminal", "runs", "archive", "--runs=runs", "--to=all.tar.gz", "b1")
	s.campaign(url, series)

	for kind, count := range outputs(t, root) {
		s.kinds[kind] += count
	}
	for _, kind := range []string{".html", ".md", ".csv", ".xlsx", ".json", ".jsonl", ".prom", ".txt", ".terminal"} {
		if s.kinds[kind] == 0 {
			t.Errorf("nothing of the kind %s was looked at", kind)
		}
	}
	if beside, err := os.ReadDir(parent); err != nil || len(beside) != 1 {
		t.Errorf("written beside the folder: %v, %v", beside, err)
	}
	if _, err := os.Stat("/tmp/" + mark); err == nil {
		t.Error("written to where a name led")
	}
	s.expectAllVerbs()
	t.Logf("looked at: %v", s.kinds)
}

// importing reads what another benchmark wrote, with hostile text in every field that is one.
func (s *session) importing(text []byte) {
	s.t.Helper()
	var run map[string]any
	if err := json.Unmarshal(text, &run); err != nil {
		s.t.Fatal(err)
	}
	for key, value := range run {
		if _, is := value.(string); is && key != "date" && key != "request_rate" {
			run[key] = hostile
		}
	}
	run[hostile] = hostile
	changed, err := json.Marshal(run)
	if err != nil {
		s.t.Fatal(err)
	}
	file(s.t, ".", "foreign.json", string(changed), 0o644)
	s.do(".terminal", "import", "--format=vllm", "--out=runs", "--label=arm="+printable, "foreign.json")
}

// campaign makes one run by a plan whose arm is a process that writes and is told secrets.
func (s *session) campaign(url, series string) {
	s.t.Helper()
	s.t.Setenv("UMASCOPE_TEST_SECRET", secrets["the environment's plan"])
	plan, err := json.Marshal(map[string]any{ // which is YAML too
		"schema": "umascope.plan/1", "name": "planned", "models": []any{map[string]any{"name": "m"}},
		"arms": []any{map[string]any{"name": "x", "labels": map[string]any{"note": strings.NewReplacer("{", "", "}", "").Replace(printable)}, "processes": []any{map[string]any{
			"name": "engine", "argv": []string{"sh", "-c", "cat hostile.bin; exec sleep 600"}, "env": map[string]string{"API_KEY": secrets["the environment's plan"]},
			"ready": map[string]any{"log": "cmd", "timeout": "10s"},
		}}}},
		"scenarios":  []any{map[string]any{"name": "short", "run": map[string]any{"requests": 4}}},
		"flags":      map[string]any{"url": url, "warmup": 0, "input-tokens": 300, "output-tokens": 4, "header": []string{"X-Token: " + secrets["a header"]}},
		"telemetry":  []string{"spark=" + series},
		"iterations": 1, "gates": map[string]any{"off": []string{"cooldown", "gpu_celsius", "cpu_ratio", "mem_free_within"}},
		"collect": []any{map[string]any{"name": "said", "argv": []string{"cat", "hostile.bin"}}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	// Whoever writes a plan writes its secrets into it: it is kept apart from what is judged.
	dir := s.t.TempDir()
	path := file(s.t, dir, "plan.yaml", string(plan), 0o600)
	file(s.t, ".", "hostile.bin", hostile, 0o644)
	s.do(".terminal", "campaign", "run", path, "--dry-run", "--out=campaigns")
	s.do(".terminal", "campaign", "run", path, "--out=campaigns", "--web.listen-address=127.0.0.1:0")
	s.do(".terminal", "campaign", "status", "campaigns/planned")
	if err := os.Remove("hostile.bin"); err != nil {
		s.t.Fatal(err)
	}
}

// expectAllVerbs asks the program for its verbs: a new one is driven here, or has its reason.
func (s *session) expectAllVerbs() {
	s.t.Helper()
	var stdout bytes.Buffer
	loadgen.Run(s.t.Context(), []string{"--help"}, &stdout, io.Discard)
	var verbs []string
	for _, found := range regexp.MustCompile(`(?m)^  ([a-z]+)  +[A-Z]`).FindAllStringSubmatch(stdout.String(), -1) {
		if !slices.Contains(verbs, found[1]) {
			verbs = append(verbs, found[1])
		}
	}
	if len(verbs) < 10 {
		s.t.Fatalf("verbs: %v", verbs)
	}
	for _, verb := range verbs {
		if !s.done[verb] && elsewhere[verb] == "" {
			s.t.Errorf("nobody drives %s with hostile text", verb)
		}
	}
	for _, verb := range slices.Sorted(maps.Keys(elsewhere)) {
		if !slices.Contains(verbs, verb) || s.done[verb] {
			s.t.Errorf("%s needs no reason", verb)
		}
	}
}
