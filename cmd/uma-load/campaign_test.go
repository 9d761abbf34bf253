package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/sim"
)

// The campaigns of this file are real ones: the program, and engines that are processes.

// engineAt makes the test's own program a simulated engine that listens there: what a plan starts.
const engineAt = "UMASCOPE_TEST_ENGINE"

// serveEngine is that engine. It ends by a signal, as engines do.
func serveEngine(address string) error {
	e, err := sim.New(sim.Immediate(time.Millisecond))
	if err != nil {
		return err
	}
	go func() { _ = e.Run(context.Background()) }()
	time.AfterFunc(5*time.Minute, func() { os.Exit(1) }) // of a test that failed
	return http.ListenAndServe(address, stalling(e.Handler()))
}

// engineStall names a file: while it is there, the engine answers no request.
const engineStall = "UMASCOPE_TEST_ENGINE_STALL"

// stalling holds requests back as long as the file is there that the environment names.
func stalling(engine http.Handler) http.Handler {
	path := os.Getenv(engineStall)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body) // a server notices that its client is gone only then
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		for _, err := os.Stat(path); err == nil && r.Context().Err() == nil; _, err = os.Stat(path) {
			time.Sleep(5 * time.Millisecond)
		}
		engine.ServeHTTP(w, r)
	})
}

// freePort is one that nobody listened at a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	// Below the ports that the kernel hands out by itself: one of those may be another's a moment later.
	for range 100 {
		port := strconv.Itoa(10000 + rand.IntN(20000))
		listener, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err == nil {
			listener.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

// experiment is a plan in a folder of its own, and the port of its engines.
type experiment struct {
	t         *testing.T
	dir, port string
}

// newExperiment writes the plan of two arms.
func newExperiment(t *testing.T, scenario string, iterations int) experiment {
	t.Helper()
	x := experiment{t, t.TempDir(), freePort(t)}
	plan := fmt.Sprintf(`schema: umascope.plan/1
name: real
values: {port: "%s"}
models: [{name: simulated}]
arms:
  - {name: a, labels: {cache: "off"}, processes: &engine [{name: engine, argv: ["%s"], env: {%s: "127.0.0.1:{{.port}}"}, ready: {url: "http://127.0.0.1:{{.port}}/v1/models", every: 20ms, timeout: 1m}}]}
  - {name: b, labels: {cache: "on"}, processes: *engine}
scenarios:
  - {name: short, run: {%s}}
flags: {url: "http://127.0.0.1:{{.port}}", engine: vllm, warmup: 0, output-tokens: 4, validity: [client_lag=off, client_stall=off, stream_buffered=off]}
iterations: %d
gates: {off: [cooldown, gpu_celsius, cpu_ratio, mem_free_within]}
checks: [{name: one, argv: [echo, "1"]}]
collect: [{name: kernel, argv: [uname, -r]}]
`, x.port, os.Args[0], engineAt, scenario, iterations)
	if err := os.WriteFile(filepath.Join(x.dir, "plan.yaml"), []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.command("campaign", "stop", x.folder()).Run() }) // of a test that failed
	return x
}

func (x experiment) folder() string { return filepath.Join(x.dir, "runs", "real") }

// command is the program where the plan is.
func (x experiment) command(args ...string) *exec.Cmd {
	c := command(x.t, args...)
	c.Dir = x.dir
	return c
}

// start begins the campaign.
func (x experiment) start(args ...string) (c *exec.Cmd, output *bytes.Buffer) {
	x.t.Helper()
	c, output = x.command(append([]string{"campaign", "run", "plan.yaml", "--web.listen-address=127.0.0.1:0"}, args...)...), &bytes.Buffer{}
	c.Stdout, c.Stderr = output, output
	if err := c.Start(); err != nil {
		x.t.Fatal(err)
	}
	return c, output
}

// events are the lines of the journal.
func (x experiment) events() []campaign.Event {
	x.t.Helper()
	text, err := os.ReadFile(filepath.Join(x.folder(), campaign.JournalFile))
	if err != nil && !os.IsNotExist(err) {
		x.t.Fatal(err)
	}
	var all []campaign.Event
	for line := range bytes.Lines(text) {
		var e campaign.Event
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		if err := json.Unmarshal(line, &e); err != nil {
			x.t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// await waits until an event is in the journal.
func (x experiment) await(what string, is func(campaign.Event) bool) campaign.Event {
	x.t.Helper()
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(5 * time.Millisecond) {
		if all := x.events(); slices.ContainsFunc(all, is) {
			return all[slices.IndexFunc(all, is)]
		}
	}
	x.t.Fatalf("never: %s; %+v", what, x.events())
	return campaign.Event{}
}

// answers says whether an engine is there.
func (x experiment) answers() bool {
	response, err := http.Get("http://127.0.0.1:" + x.port + "/v1/models")
	if err == nil {
		response.Body.Close()
	}
	return err == nil
}

// slots are what became of the slots, by campaign.json.
func (x experiment) slots() (all []string) {
	x.t.Helper()
	facts, err := campaign.ReadFacts(x.folder())
	if err != nil {
		x.t.Fatal(err)
	}
	for _, s := range facts.Slots {
		all = append(all, fmt.Sprintf("%d %s %s of %d", s.Number, s.Arm, s.Status, len(s.Runs)))
	}
	return all
}

func TestACampaignThatIsKilledGoesOnWhereItEnded(t *testing.T) {
	x := newExperiment(t, "duration: 2s, concurrency: 2", 2)
	first, _ := x.start()
	half := x.await("the second run measures", func(e campaign.Event) bool { return e.Event == "up" && e.Slot == 2 })
	if err := syscall.Kill(x.guardian(), syscall.SIGKILL); err != nil { // as what kills everything does
		t.Fatal(err)
	}
	kill(t, first)
	if !x.answers() {
		t.Fatal("the engine went with it: nothing is left over to be found")
	}
	second, output := x.start()
	if err := second.Wait(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if got, want := x.slots(), []string{"1 a finished of 1", "2 b finished of 2", "3 b finished of 1", "4 a finished of 1"}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if !regexp.MustCompile(`left over.* arm=b .*engine \(process `).MatchString(output.String()) {
		t.Errorf("what was left is not named: %s", output)
	}
	if x.answers() {
		t.Error("an engine is still there")
	}
	aborted := filepath.Join(x.folder(), half.Run+campaign.AbortedSuffix)
	if found, err := os.ReadDir(aborted); err != nil || len(found) < 2 {
		t.Errorf("the half run is lost: %v (%v)", found, err)
	}
	x.expectRun()
	x.expectComparison(output.String())
	third, output := x.start()
	if err := third.Wait(); err != nil || !strings.Contains(output.String(), "4 slots, 4 already ended") || len(x.slots()) != 4 {
		t.Errorf("once more: %v: %s", err, output)
	}
}

// expectRun looks at the last run.
func (x experiment) expectRun() {
	x.t.Helper()
	facts, err := campaign.ReadFacts(x.folder())
	if err != nil {
		x.t.Fatal(err)
	}
	dir := filepath.Join(x.folder(), facts.Slots[3].Runs[0])
	expectWhole(x.t, dir)
	var m rundir.Manifest
	readJSON(x.t, filepath.Join(dir, rundir.ManifestFile), &m)
	c := m.Campaign
	if c == nil || c.Slot != 4 || c.Arm != "a" || len(c.Processes) != 1 || c.Processes[0].Name != "engine" || len(c.Checks) != 2 || !c.Checks[1].Passed || c.Collected[0].Name != "kernel" || c.BootID == "" {
		x.t.Errorf("%+v", c)
	}
	if m.Labels["arm"] != "a" || m.Labels["cache"] != "off" || m.Labels["campaign"] != "real" || m.Labels["round"] != "2" {
		x.t.Errorf("%v", m.Labels)
	}
	var phases rundir.Phases
	readJSON(x.t, filepath.Join(dir, rundir.PhasesFile), &phases)
	var names []string
	for _, span := range phases.Phases {
		names = append(names, span.Name)
	}
	if want := []string{"cooldown", "start", "load", "ready", "measure", "stop"}; !slices.Equal(names, want) {
		x.t.Errorf("phases %v", names)
	}
}

// expectComparison looks at what the campaign made of its runs.
func (x experiment) expectComparison(output string) {
	x.t.Helper()
	var c compare.Comparison
	readJSON(x.t, filepath.Join(x.folder(), "comparison.json"), &c)
	if c.By != "arm" || c.Baseline != "a" || len(c.Strata) != 1 || len(c.Strata[0].Pairs) != 1 || c.Strata[0].Pairs[0].B != "b" {
		x.t.Errorf("%+v", c)
	}
	if page, err := os.ReadFile(filepath.Join(x.folder(), "comparison.html")); err != nil || !bytes.Contains(page, []byte("simulated")) {
		x.t.Errorf("the page: %v", err)
	}
	if !strings.Contains(output, "campaign complete; of 4 slots 4 finished") || !strings.Contains(output, "comparison.html") {
		x.t.Errorf("%s", output)
	}
}

func TestAnInterruptedCampaignLeavesACompleteFolderAndNoEngine(t *testing.T) {
	x := newExperiment(t, "duration: 1h", 1)
	c, output := x.start()
	begun := x.await("the first run measures", func(e campaign.Event) bool { return e.Event == "up" })
	for !strings.Contains(string(x.requests(begun.Run)), "\n") {
		time.Sleep(10 * time.Millisecond)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); c.ProcessState.ExitCode() != 1 {
		t.Errorf("%v: %s", err, output)
	}
	if x.answers() {
		t.Error("the engine is still there")
	}
	dir := filepath.Join(x.folder(), begun.Run+campaign.AbortedSuffix)
	for _, name := range []string{"manifest" + campaign.AbortedSuffix + ".json", rundir.SummaryFile, rundir.HTMLFile, rundir.RequestsFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := x.slots(); got[0] != "1 a aborted of 1" {
		t.Errorf("%v", got)
	}
}

func (x experiment) requests(run string) []byte {
	text, _ := os.ReadFile(filepath.Join(x.folder(), run, rundir.RequestsFile)) // nothing, if it is not there yet
	return text
}

func TestADetachedCampaignIsFollowedAndStopped(t *testing.T) {
	x := newExperiment(t, "duration: 1h", 1)
	text, err := x.command("campaign", "run", "plan.yaml", "--detach", "--web.listen-address=127.0.0.1:0").CombinedOutput()
	if err != nil || !strings.Contains(string(text), "campaign runs as process ") {
		t.Fatalf("%v: %s", err, text)
	}
	x.await("the first run measures", func(e campaign.Event) bool { return e.Event == "up" })
	status, err := x.command("campaign", "status").CombinedOutput()
	if err != nil || !strings.Contains(string(status), "campaign real: running as process ") || !strings.Contains(string(status), "now   slot 1: simulated, a, short") {
		t.Errorf("%v: %s", err, status)
	}
	again, output := x.start()
	if err := again.Wait(); again.ProcessState.ExitCode() != 2 || !strings.Contains(output.String(), "a campaign runs there already, as process ") {
		t.Errorf("%v: %s", err, output)
	}
	stopped, err := x.command("campaign", "stop", "--timeout=1m").CombinedOutput()
	if err != nil || !strings.Contains(string(stopped), "stopped") || x.answers() {
		t.Errorf("%v: %s", err, stopped)
	}
	if log, err := os.ReadFile(filepath.Join(x.folder(), campaign.LogFile)); err != nil || !strings.Contains(string(log), "campaign stopped: interrupted") {
		t.Errorf("%v: %s", err, log)
	}
	if text, err := x.command("campaign", "stop").CombinedOutput(); err == nil || !strings.Contains(string(text), "no campaign runs there") {
		t.Errorf("%v: %s", err, text)
	}
}

func TestACampaignThatCannotBeginNamesTheReasonAndLeavesNothing(t *testing.T) {
	x := newExperiment(t, "duration: 1s", 1)
	path := filepath.Join(x.dir, "plan.yaml")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(want, old, new string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(strings.Replace(string(good), old, new, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		code, output := ended(t, x.command("campaign", "run", "plan.yaml"))
		if code != 2 || !strings.Contains(output, want) || strings.Count(output, "\n") != 1 {
			t.Errorf("%q is not in exit %d: %s", want, code, output)
		}
		if found, _ := filepath.Glob(filepath.Join(x.dir, "runs", "*")); len(found) > 0 {
			t.Errorf("%s leaves %v", want, found)
		}
	}
	refused("plan.yaml:10: flags.conurrency: unknown flag of run", "warmup: 0", "conurrency: 0")
	refused("--warmup", "warmup: 0", "warmup: never")
	refused("no-such-engine", os.Args[0], "/no-such-engine")
	listener, err := net.Listen("tcp", "127.0.0.1:"+x.port)
	if err != nil {
		t.Fatal(err)
	}
	somebody := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"data":[{"id":"m"}]}`)) }))
	somebody.Listener.Close()
	somebody.Listener = listener
	somebody.Start()
	defer somebody.Close()
	refused(x.port, "", "")
}

// TestOnlyTheUserReadsACampaign: plans have keys, logs have prompts. The umask of whoever starts it opens nothing.
func TestOnlyTheUserReadsACampaign(t *testing.T) {
	x := newExperiment(t, "requests: 4, csv: true, save-outputs: true", 1)
	path := filepath.Join(x.dir, "plan.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	withFile := strings.Replace(string(text), `labels: {cache: "off"}, `, `labels: {cache: "off"}, files: [{path: "{{.folder}}/settings/engine.yaml", text: "key: secret"}], `, 1)
	if err := os.WriteFile(path, []byte(withFile), 0o600); err != nil {
		t.Fatal(err)
	}
	c := x.command("campaign", "run", "plan.yaml", "--detach", "--web.listen-address=127.0.0.1:0")
	c.Args = slices.Concat([]string{"sh", "-c", `umask 0; exec "$0" "$@"`, c.Path}, c.Args[1:])
	c.Path = "/bin/sh"
	if output, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	look := func(when string, least int) {
		t.Helper()
		found := 0
		err := filepath.WalkDir(filepath.Join(x.dir, "runs"), func(path string, entry os.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil // it is being replaced
			}
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if os.IsNotExist(err) {
				return nil
			}
			if found++; err != nil || info.Mode().Perm()&0o027 != 0 {
				t.Errorf("%s: %s is %v (%v)", when, path, info.Mode(), err)
			}
			return nil
		})
		if err != nil || found < least {
			t.Errorf("%s: %d files, %v", when, found, err)
		}
	}
	x.await("the first arm is up", func(e campaign.Event) bool { return e.Event == "up" })
	look("in the middle", 5)
	x.await("the campaign ends", func(e campaign.Event) bool { return e.Event == "end" && e.State == campaign.Complete })
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(5 * time.Millisecond) {
		if pid, err := campaign.Holder(x.folder()); err == nil && pid == 0 {
			break
		}
	}
	look("at the end", 30)
}
