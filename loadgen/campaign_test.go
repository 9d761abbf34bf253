package loadgen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/sim"
	"github.com/umascope/umascope/loadgen/subprocess"
)

// planned reads a plan of one arm, with more.
func planned(t *testing.T, more string) *plan.Plan {
	t.Helper()
	p, err := plan.Parse("plan.yaml", []byte("schema: umascope.plan/1\nname: c\nmodels: [{name: m}]\narms: [{name: a, labels: {tier: ssd}}]\n"+more))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// orderOf is the first run of a plan.
func orderOf(t *testing.T, p *plan.Plan) campaign.Order {
	t.Helper()
	slot := p.Schedule()[0]
	cell, err := p.Render(slot.Model, slot.Arm, nil)
	if err != nil {
		t.Fatal(err)
	}
	scenario, _ := cell.Scenario(slot.Scenario)
	return campaign.Order{Slot: slot, Run: "r1", Dir: "d", Cell: cell, Scenario: scenario, Labels: map[string]string{"arm": "a", "model": "m", "empty": ""}}
}

func TestARunOfACampaignHasTheFlagsOfPlanArmAndScenario(t *testing.T) {
	o := orderOf(t, planned(t, `scenarios: [{name: s, run: {requests: 7, ignore-eos: true, set: [a.x=1, b.y=2]}}]
flags: {url: "http://127.0.0.1:1", requests: 5, label: [arm=other, note=x], verbose: false}
telemetry: [spark=http://127.0.0.1:10420]
scrape: [engine=http://127.0.0.1:8000/metrics]
`))
	line := newCommandLine(&bytes.Buffer{})
	got := argumentsOf(line.run, orderFlags(o, line.run))
	want := []string{
		"--ignore-eos", "--requests=7", "--set=a.x=1", "--set=b.y=2", "--url=http://127.0.0.1:1", "--no-verbose", "--label=note=x", "--label=arm=a", "--label=model=m",
		"--telemetry=spark=http://127.0.0.1:10420", "--scrape=engine=http://127.0.0.1:8000/metrics", "--out=d", "--run-id=r1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestARecordedRunOfACampaignTakesOfTheFlagsWhatRecordHas(t *testing.T) {
	o := orderOf(t, planned(t, `scenarios: [{name: s, record: {argv: [bench, --url, x], extract: trtllm, flags: {before: 5s}}}]
flags: {requests: 5, container: engine}
`))
	line := newCommandLine(&bytes.Buffer{})
	if got, want := argumentsOf(line.record.verb, orderFlags(o, line.record.verb)), []string{"--before=5s", "--container=engine", "--extract=trtllm", "--label=arm=a", "--label=model=m", "--out=d", "--run-id=r1"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	parsed, err := orderLine(o)
	if err != nil || !slices.Equal(parsed.record.settings.Argv, []string{"bench", "--url", "x"}) {
		t.Errorf("%v", err)
	}
}

// TestReadyPlansAreAccepted holds every ready plan against the flags that runs have.
func TestReadyPlansAreAccepted(t *testing.T) {
	for _, name := range plan.ReadyNames() {
		path := filepath.Join(t.TempDir(), name+".yaml")
		text, err := plan.ReadyText(name)
		if err != nil {
			t.Fatal(err)
		}
		overwrite(t, path, string(text))
		code, stdout, stderr := invokeVerb(t, "campaign", "run", path, "--dry-run")
		if code != exitDone || !strings.Contains(stdout, "duration: ") || !strings.Contains(stdout, "root") {
			t.Errorf("%s: exit %d: %s%s", name, code, stdout, stderr)
		}
	}
}

func TestWhatIsWrongWithACampaignIsOneLine(t *testing.T) {
	dir := t.TempDir()
	good := "schema: umascope.plan/1\nname: c\nmodels: [{name: m}]\narms: [{name: a}]\nscenarios: [{name: s, run: {requests: 1}}]\nflags: {url: \"http://127.0.0.1:1\"}\n"
	for _, c := range []struct {
		old, new, says string
		args           []string
	}{
		{"", "", "--only: ", []string{"--only=arm=z"}},
		{"", "", `--only: "host=x" is none of model=NAME`, []string{"--only=host=x"}},
		{"", "", "--iterations", []string{"--iterations=0"}},
		{"", "", "uma-load: --iterations: the plan has 10 of them: with 11,", []string{"--iterations=11"}},
		{"", "", "--notify-url: not an address", []string{"--notify-url=mail:secret"}},
		{"requests: 1", "requests: many", `arm a, model m, scenario s: --requests: "many"`, nil},
		{"requests: 1", "out: x", "the campaign sets it itself", nil},
		{"requests: 1", "arrival: poisson", "arm a, model m, scenario s: --rate", nil},
		{"name: c", "name: ../c", "name", nil},
		{"schema: umascope.plan/1", "schema: other/1", "plan.yaml:1", nil},
		{"flags:", "telemetry: [spark=http://127.0.0.1:1/metrics]\nflags:", "telemetry: spark: http://127.0.0.1:1/metrics: ", nil},
	} {
		path := filepath.Join(dir, "plan.yaml")
		overwrite(t, path, strings.Replace(good, c.old, c.new, 1))
		code, _, stderr := invokeVerb(t, slices.Concat([]string{"campaign", "run", path, "--out", filepath.Join(dir, "runs")}, c.args)...)
		if code != exitUsage || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 || strings.Contains(stderr, "secret") {
			t.Errorf("%q: exit %d: %s", c.says, code, stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "runs")); err == nil {
		t.Error("a folder is left")
	}
	for _, args := range [][]string{{"campaign", "status", dir}, {"campaign", "status", "--out", dir}, {"campaign", "stop", dir}, {"campaign", "plans", "nothing"}} {
		if code, _, stderr := invokeVerb(t, args...); code != exitUsage || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit %d: %s", args, code, stderr)
		}
	}
}

func TestACommandOfAPlanEndsWithAllItStartedByItsTimeOut(t *testing.T) {
	t.Parallel()
	if p := runCommand(t.Context(), []string{"sh", "-c", "echo 12.5; echo so >&2"}, time.Minute); p.Text != "12.5\n" || p.ExitCode != 0 || p.Problem != "" || p.Seconds <= 0 {
		t.Errorf("%+v", p)
	}
	if p := runCommand(t.Context(), []string{"sh", "-c", "echo no memory >&2; exit 3"}, time.Minute); p.ExitCode != 3 || p.Problem != "ended with exit code 3: no memory" {
		t.Errorf("%+v", p)
	}
	if p := runCommand(t.Context(), []string{"/nonexistent"}, time.Minute); p.Problem == "" || p.ExitCode != -1 {
		t.Errorf("%+v", p)
	}
	began := time.Now()
	if p := runCommand(t.Context(), []string{"sh", "-c", "sleep 600 & sleep 600"}, 100*time.Millisecond); !strings.Contains(p.Problem, "had not ended after 100ms") || time.Since(began) > 30*time.Second {
		t.Errorf("%+v after %s", p, time.Since(began))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if p := runCommand(ctx, []string{"sleep", "600"}, time.Minute); p.Problem != "it was cut off" {
		t.Errorf("%+v", p)
	}
	if p := runCommand(t.Context(), []string{"sh", "-c", "head -c 6000000 /dev/zero"}, time.Minute); len(p.Text) != mostOutput || p.Problem != "" {
		t.Errorf("%d bytes are kept, %s", len(p.Text), p.Problem)
	}
}

// kernelFolder is a /proc of a machine.
func kernelFolder(t *testing.T, free, busy, idle int) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"meminfo": fmt.Sprintf("MemTotal: 1000 kB\nMemFree: %d kB\n", free), "stat": fmt.Sprintf("cpu %d 0 0 %d 0 0 0 0 0 0\n", 100*busy, 100*idle),
	} {
		overwrite(t, filepath.Join(dir, name), text)
	}
	return dir
}

func TestTheMachineIsAskedByItsExporterAndItsKernel(t *testing.T) {
	t.Parallel()
	mode := "live"
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "uma_exporter_mode{mode=%q} 1\numa_gpu_temperature_celsius{uuid=\"a\"} 41\numa_gpu_temperature_celsius{uuid=\"b\"} 47\numa_gpu_sm_clock_hertz{uuid=\"a\"} 2e9\numa_gpu_sm_clock_hertz{uuid=\"b\"} 1e9\numa_gpu_performance_state{uuid=\"a\"} 8\numa_gpu_performance_state{uuid=\"b\"} 2\numa_memory_cuda_free_bytes 5e9\n", mode)
	}))
	defer page.Close()
	sense := machineSense{proc: kernelFolder(t, 700, 3, 9)}
	named := &plan.Cell{Telemetry: []string{"x=" + page.URL}}
	now := sense.ask(t.Context(), named)
	if *now.Celsius != 47 || *now.SMClockHertz != 1e9 || *now.PState != 2 || *now.MemFreeBytes != 5e9 || *now.BusySeconds != 3 || *now.TotalSeconds != 12 {
		t.Errorf("%+v", now)
	}
	mode = "replay" // a picture says nothing of now
	if now = sense.ask(t.Context(), named); now.Celsius != nil || *now.MemFreeBytes != 700<<10 {
		t.Errorf("%+v", now)
	}
	if now = sense.ask(t.Context(), &plan.Cell{}); now.Celsius != nil || *now.MemFreeBytes != 700<<10 || now.BusySeconds == nil {
		t.Errorf("%+v", now)
	}
	// Of another machine, this one's kernel says nothing.
	if now = sense.ask(t.Context(), &plan.Cell{Telemetry: []string{"x=http://192.0.2.1:1"}}); now != (campaign.Machine{}) {
		t.Errorf("%+v", now)
	}
	if now = sense.ask(t.Context(), &plan.Cell{Flags: map[string]string{"url": "http://spark-9.invalid:8000"}}); now != (campaign.Machine{}) {
		t.Errorf("of a server on another machine: %+v", now)
	}
	if now = (machineSense{proc: "/nonexistent"}).ask(t.Context(), &plan.Cell{}); now != (campaign.Machine{}) {
		t.Errorf("%+v", now)
	}
}

func TestAUnitGoesOnWithTheCampaignAndIsNeverAnothers(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	t.Setenv("PATH", "/usr/bin:/odd $x%d")
	t.Chdir(dir)
	text := "schema: umascope.plan/1\nname: night\nmodels: [{name: m}]\narms: [{name: a}]\nscenarios: [{name: s, run: {requests: 1}}]\nflags: {url: \"http://127.0.0.1:1\"}\n"
	overwrite(t, "my plan.yaml", text)
	install := []string{"campaign", "install", "my plan.yaml", "--only=arm=a", "--notify-url=https://somebody/secret"}
	code, unit, stderr := invokeVerb(t, append(install, "--print")...)
	if code != exitDone {
		t.Fatal(stderr)
	}
	for _, want := range []string{
		unitMark + "\n", `"campaign" "run" "` + dir + `/my plan.yaml" "--out=` + dir + `/runs" "--only=arm=a"` + "\n", "WorkingDirectory=" + dir + "\n",
		`Environment="PATH=/usr/bin:/odd $x%%d"` + "\n", "KillSignal=SIGINT\n", "KillMode=process\n", "Delegate=yes\nDelegateSubgroup=uma-load\n", "TimeoutStopSec=15min\n", "OOMPolicy=continue\n", "Restart=on-abnormal\n", "WantedBy=default.target\n", subprocess.NotifyVariable,
	} {
		if !strings.Contains(unit, want) {
			t.Errorf("%q is not in\n%s", want, unit)
		}
	}
	if strings.Contains(unit, "secret") {
		t.Error("the unit has a secret")
	}
	path := filepath.Join(dir, "config", "systemd", "user", "umascope-campaign-night.service")
	if _, err := os.Stat(path); err == nil {
		t.Error("printing writes")
	}
	for range 2 { // ours is replaced
		if code, stdout, stderr := invokeVerb(t, install...); code != exitDone || !strings.Contains(stdout, path) || !strings.Contains(stdout, "systemctl --user enable --now umascope-campaign-night.service") {
			t.Fatalf("exit %d: %s%s", code, stdout, stderr)
		}
	}
	if written, err := os.ReadFile(path); err != nil || string(written) != unit {
		t.Errorf("%s (%v)", written, err)
	}
	overwrite(t, path, "[Unit]\n")
	if code, _, stderr := invokeVerb(t, install...); code != exitUsage || !strings.Contains(stderr, "not ours") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if kept, err := os.ReadFile(path); err != nil || string(kept) != "[Unit]\n" {
		t.Errorf("%s (%v)", kept, err)
	}
}

// TestACampaignAgainstAServerThatIsThere needs no processes: its arms are labels and flags.
func TestACampaignAgainstAServerThatIsThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	messages := make(chan string, 8)
	somebody := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		messages <- body.String()
	}))
	defer somebody.Close()
	path := filepath.Join(dir, "plan.yaml")
	text := fmt.Sprintf(`schema: umascope.plan/1
name: there
models: [{name: m}]
arms: [{name: one, flags: {grace: 1s}}, {name: two, flags: {grace: 2s}}]
scenarios: [{name: s, run: {requests: 4, warmup: 0, output-tokens: 4}}]
flags: {url: %q, engine: vllm, validity: [client_lag=off, client_stall=off, stream_buffered=off]}
iterations: 1
gates: {off: [cooldown, gpu_celsius, cpu_ratio, mem_free_within]}
checks: [{name: speed, argv: [sh, -c, "echo 3"], min: 5, unit: TFLOPS, when: [after]}]
on_invalid: {repeat: 1, stop_after: 5}
`, engine(t, time.Millisecond))
	overwrite(t, path, text)
	run := []string{"campaign", "run", path, "--out", dir, "--web.listen-address=127.0.0.1:0", "--notify-url=" + somebody.URL}
	code, stdout, stderr := invokeVerb(t, run...)
	if code != exitInvalid || !strings.Contains(stderr, "of 2 slots 0 finished, 2 invalid") {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	facts, err := campaign.ReadFacts(filepath.Join(dir, "there"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range facts.Slots {
		if len(s.Runs) != 2 || !strings.Contains(s.Problem, "check_failed (check speed after the load: 3 TFLOPS, wanted at least 5)") {
			t.Errorf("%+v", s)
		}
	}
	overwrite(t, path, strings.Replace(text, "min: 5", "min: 2", 1))
	if code, _, stderr := invokeVerb(t, run...); code != exitUsage || !strings.Contains(stderr, "--plan-changed") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if code, stdout, stderr := invokeVerb(t, append(run, "--plan-changed", "--retry")...); code != exitDone || !strings.Contains(stdout, "comparison.html") {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	expectSchemas(t, filepath.Join(dir, "there"), messages)
	damaged := filepath.Join(dir, "there", facts.Slots[0].Runs[0], rundir.SummaryFile)
	overwrite(t, damaged, "{")
	if code, stdout, stderr := invokeVerb(t, append(run, "--plan-changed")...); code != exitDone || !strings.Contains(stdout, "left out: "+filepath.Dir(damaged)) {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
}

func TestAFullDiskIsOneLineThoughEveryFileSaysSo(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "/runs/a/requests.jsonl", Err: syscall.ENOSPC}
	r := failed(t.Context(), errors.Join(errors.New("client: gone"), fmt.Errorf("records: %w", full), fmt.Errorf("summary.json: %w", full)))
	if !r.Full || r.Problem != "records: write /runs/a/requests.jsonl: no space left on device" {
		t.Errorf("%+v", r)
	}
	if r := failed(t.Context(), errors.New("a\nb")); r.Full || r.Problem != "a; b" {
		t.Errorf("%+v", r)
	}
}

func TestTheCampaignThatWasWrittenToLastIsMeantIfNoneIsNamed(t *testing.T) {
	out := filepath.Join(t.TempDir(), "runs [1]")
	for i, name := range []string{"new", "old", "none"} {
		dir := filepath.Join(out, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if name == "none" {
			continue
		}
		journal, when := filepath.Join(dir, campaign.JournalFile), time.Unix(1e9-int64(i), 0)
		if err := errors.Join(os.WriteFile(journal, nil, 0o644), os.Chtimes(journal, when, when)); err != nil {
			t.Fatal(err)
		}
	}
	if dir, err := campaignFolder("", out); err != nil || dir != filepath.Join(out, "new") {
		t.Errorf("%q (%v)", dir, err)
	}
}

// expectSchemas holds the files of a campaign against their schemas, and what somebody was told.
func expectSchemas(t *testing.T, dir string, messages chan string) {
	t.Helper()
	schemas := validators(t)
	for _, file := range []string{campaign.StateFile, campaign.JournalFile} {
		for _, value := range documents(t, filepath.Join(dir, file)) {
			if err := schemas[file].Validate(value); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	if len(messages) != 2 {
		t.Errorf("%d messages", len(messages))
	}
	for range len(messages) {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(<-messages))
		if err != nil {
			t.Fatal(err)
		}
		if err := schemas[noticeOutput].Validate(value); err != nil {
			t.Error(err)
		}
	}
}

// TestAnArmThatServesAnotherModelIsRefusedByName: two servers, of which the second has another model, and a plan without one.
func TestAnArmThatServesAnotherModelIsRefusedByName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	named := func(name string) string {
		_, url := simulated(t, func(c *sim.Config) { c.DecodeBase, c.Model = time.Millisecond, name })
		return url
	}
	path := filepath.Join(dir, "plan.yaml")
	text := fmt.Sprintf(`schema: umascope.plan/1
name: pin
models: [{name: m}]
arms: [{name: one, flags: {url: %q}}, {name: two, flags: {url: %q}}]
scenarios: [{name: s, run: {requests: 4, warmup: 0, output-tokens: 4}}]
flags: {engine: vllm, validity: [client_lag=off, client_stall=off, stream_buffered=off]}
iterations: 1
gates: {off: [cooldown, gpu_celsius, cpu_ratio, mem_free_within]}
on_invalid: {repeat: 0}
`, named("llama-8b"), named("qwen-7b"))
	overwrite(t, path, text)
	run := []string{"campaign", "run", path, "--out", dir, "--web.listen-address=127.0.0.1:0"}
	for _, args := range [][]string{run, append(run, "--retry")} { // the second invocation has it from the journal
		if code, stdout, stderr := invokeVerb(t, args...); code != exitInvalid {
			t.Fatalf("exit %d: %s%s", code, stdout, stderr)
		}
		facts, err := campaign.ReadFacts(filepath.Join(dir, "pin"))
		if err != nil || facts.Slots[0].Status != campaign.Finished || facts.Slots[1].Status != campaign.Failed ||
			!strings.Contains(facts.Slots[1].Problem, `"qwen-7b"`) || !strings.Contains(facts.Slots[1].Problem, `"llama-8b"`) {
			t.Errorf("%+v (%v)", facts.Slots, err)
		}
	}
}

func TestReadyPlansAreListedOneALine(t *testing.T) {
	code, stdout, stderr := invokeVerb(t, "campaign", "plans")
	if code != exitDone {
		t.Fatal(stderr)
	}
	names := plan.ReadyNames()
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	if len(lines) != len(names) || !slices.IsSorted(names) {
		t.Fatalf("%d lines of %d plans", len(lines), len(names))
	}
	for i, line := range lines {
		if !regexp.MustCompile(`^` + regexp.QuoteMeta(names[i]) + ` +\S.*\.$`).MatchString(line) {
			t.Errorf("%q", line)
		}
	}
}
