//go:build proof

package demo

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/umascope/umascope/cmd/webserver"
	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/loadgen/promexport"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// record is what a program prints, readable meanwhile.
type record struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (r *record) Write(text []byte) (int, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.text.Write(text)
}

func (r *record) String() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.text.String()
}

// quickPace has runs of a second, and a machine whose engine is there in no time.
func quickPace() pace {
	return pace{every: 50 * time.Millisecond, eventsEvery: time.Hour, factor: timeFactor, load: func(scenario string) []string {
		const busy = "--validity=client_lag=off --validity=client_stall=off --validity=telemetry_lost=off --validity=stream_buffered=off --telemetry-interval=200ms "
		if scenario == scenarioEviction {
			return strings.Fields(busy + "--warmup=1 --output-tokens=4 --input-tokens=64 --force --set=a.requests=2 --set=b.requests=4 --set=baseline.requests=1")
		}
		return strings.Fields(busy + "--warmup=1 --arrival=poisson --rate=10 --duration=1s --input-tokens=64 --output-tokens=4")
	}}
}

// rehearsal is a simulation on free ports with everything that it prints.
type rehearsal struct {
	*simulation
	printed record
	code    chan int
	stop    context.CancelFunc
}

// rehearse begins a simulation; change, if given, changes it before.
func rehearse(t *testing.T, runs string, change func(*simulation)) *rehearsal {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r := &rehearsal{code: make(chan int, 1), stop: stop}
	options := simulateOptions{
		host: "sim-spark", runs: runs, keep: cycle, seed: 1,
		exporter: unusedAddress(t), load: unusedAddress(t), engine: unusedAddress(t), kvbm: unusedAddress(t),
	}
	r.simulation = program(&r.printed, &r.printed).newSimulation(options, quickPace())
	r.nextEvent = time.Now().Add(time.Hour)
	if change != nil {
		change(r.simulation)
	}
	go func() { r.code <- r.run(ctx) }()
	t.Cleanup(func() {
		stop()
		select {
		case <-r.code:
		case <-time.After(time.Second): // it was waited for already
		}
	})
	return r
}

// prints waits until so many lines match.
func (r *rehearsal) prints(t *testing.T, times int, pattern string) {
	t.Helper()
	expression := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(time.Minute); len(expression.FindAllString(r.printed.String(), -1)) < times; {
		if time.Now().After(deadline) {
			text := r.printed.String()
			t.Fatalf("%q is not printed %d times:\n%s", pattern, times, text[:min(len(text), 4000)])
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// ends ends it as SIGTERM does and returns the exit code.
func (r *rehearsal) ends(t *testing.T) int {
	t.Helper()
	r.stop()
	select {
	case code := <-r.code:
		return code
	case <-time.After(10 * time.Second): // what Docker gives a container
		t.Fatalf("it goes on:\n%s", &r.printed)
		return -1
	}
}

// runsIn are the finished runs of a folder by their turns.
func runsIn(t *testing.T, runs string) map[int]summary.Run {
	t.Helper()
	all, skipped, err := summary.Load([]string{runs})
	if err != nil || len(skipped) > 0 {
		t.Fatal(err, skipped)
	}
	byTurn := map[int]summary.Run{}
	for _, r := range all {
		number, err := strconv.Atoi(r.Manifest.Labels[turnLabel])
		if err != nil {
			t.Fatal(err)
		}
		if earlier, twice := byTurn[number]; !twice || earlier.Manifest.State != rundir.StateComplete {
			byTurn[number] = r
		}
	}
	return byTurn
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

const finishedRun = `msg=run verdict=valid `

func TestASimulationServesItsPagesAndMakesRunsInTurn(t *testing.T) {
	t.Parallel() // most of it is waiting
	runs := filepath.Join(t.TempDir(), "runs")
	r := rehearse(t, runs, nil)
	r.prints(t, 4, finishedRun)
	r.prints(t, 1, "the arms were compared")
	for url, says := range map[string]string{
		"http://" + r.options.exporter + exporter.DefaultTelemetryPath: `uma_exporter_mode{mode="simulated"} 1`,
		"http://" + r.options.exporter + webserver.HealthPath:          "",
		"http://" + r.options.engine + "/v1/models":                    modelName,
		"http://" + r.options.engine + pagePath:                        "Simulated by umascope",
	} {
		status, body := get(t, url)
		for deadline := time.Now().Add(10 * time.Second); status == http.StatusServiceUnavailable && time.Now().Before(deadline); {
			time.Sleep(50 * time.Millisecond) // one engine has ended, and the next one loads
			status, body = get(t, url)
		}
		if status != http.StatusOK || !strings.Contains(body, says) {
			t.Errorf("%s: status %d, without %q", url, status, says)
		}
	}
	if code := r.ends(t); code != exitDone {
		t.Errorf("exit %d:\n%s", code, &r.printed)
	}
	made := runsIn(t, runs)
	for number := range 4 {
		want, got := turnOf(number), made[number].Manifest
		if got.Labels["arm"] != want.arm.name || got.Scenario != want.scenario || got.Labels["host"] != "sim-spark" {
			t.Errorf("turn %d: %s of arm %s on %s", number, got.Scenario, got.Labels["arm"], got.Labels["host"])
		}
		if mode := made[number].Summary.Machines; len(mode) != 1 || mode[0].Mode != "simulated" || !made[number].Summary.Model.Simulated {
			t.Errorf("turn %d does not say that engine and machine are simulated", number)
		}
	}
	saved, err := filepath.Glob(filepath.Join(runs, promexport.ComparisonsFolder, "*.json"))
	if err != nil || len(saved) != 1 {
		t.Errorf("comparisons %v, %v", saved, err)
	}
	for _, address := range []string{r.options.exporter, r.options.engine, r.options.kvbm, r.options.load} {
		if connection, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			connection.Close()
			t.Errorf("%s is still served", address)
		}
	}
}

func TestARunThatIsInterruptedIsCompleteOnDiskAndMadeAgain(t *testing.T) {
	t.Parallel() // most of it is waiting
	runs := filepath.Join(t.TempDir(), "runs")
	long := func(s *simulation) {
		s.pace.load = func(string) []string {
			return strings.Fields("--warmup=0 --rate=5 --arrival=poisson --duration=10m --input-tokens=64 --output-tokens=8")
		}
	}
	first := rehearse(t, runs, long)
	measuring := func() bool {
		requests, err := filepath.Glob(filepath.Join(runs, "*", rundir.RequestsFile))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range requests {
			if text, err := os.ReadFile(file); err == nil && bytes.Contains(text, []byte("\n")) {
				return true
			}
		}
		return false
	}
	for deadline := time.Now().Add(time.Minute); !measuring(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("nothing is measured:\n%s", &first.printed)
		}
	}
	if code := first.ends(t); code != exitDone || !strings.Contains(first.printed.String(), "verdict=interrupted") {
		t.Errorf("exit %d:\n%s", code, &first.printed)
	}
	cut := runsIn(t, runs)[0]
	if cut.Manifest.State != rundir.StateInterrupted || cut.Summary.Valid {
		t.Errorf("the run is %s, valid %v", cut.Manifest.State, cut.Summary.Valid)
	}

	// What a killed run leaves, and what is none, are passed by.
	killed := filepath.Join(runs, "20200101T000000Z-native-killed")
	for name, text := range map[string]string{
		filepath.Join(killed, rundir.ManifestFile):               `{"schema":"` + rundir.ManifestSchema + `","run":"20200101T000000Z-native-killed","labels":{"turn":"77"},"state":"running"}`,
		filepath.Join(runs, "other", rundir.ScheduleFile):        "",
		filepath.Join(runs, "broken", rundir.ManifestFile):       "{",
		filepath.Join(runs, "foreign", "notes", "about-this.md"): "",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	second := rehearse(t, runs, nil)
	second.prints(t, 1, finishedRun+`.*turn=0`)
	second.prints(t, 1, finishedRun+`.*turn=1`)
	second.ends(t)
	third := rehearse(t, runs, nil)
	third.prints(t, 1, `first_turn=[123]`)
	third.ends(t)
	if _, err := os.Stat(cut.Path(rundir.SummaryFile)); err != nil {
		t.Errorf("the interrupted run is lost: %v", err)
	}
}

func TestRunsAndComparisonsStayAsManyAsAreKept(t *testing.T) {
	t.Parallel() // most of it is waiting
	runs := t.TempDir()
	comparisons := filepath.Join(runs, promexport.ComparisonsFolder)
	if err := os.MkdirAll(comparisons, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range keptComparisons + 5 {
		name := rundir.NewID(time.Unix(int64(i)*1000, 0), "arm-"+baselineArm) + ".json"
		if err := os.WriteFile(filepath.Join(comparisons, name), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	other := filepath.Join(comparisons, "20200101T000000Z-version-1.0-abcdef.json")
	if err := os.WriteFile(other, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := rehearse(t, runs, func(s *simulation) { s.options.keep = 2 })
	r.prints(t, 4, finishedRun)
	r.ends(t)
	if left := len(runsIn(t, runs)); left > 4 { // two, the one that goes on, and one that was not tidied up after
		t.Errorf("%d runs are left of keep 2", left)
	}
	entries, err := os.ReadDir(comparisons)
	if err != nil || len(entries) > keptComparisons+2 { // the other one, and one of this time
		t.Errorf("%d comparisons are left, %v", len(entries), err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("a comparison of something else is gone: %v", err)
	}
	if _, err := os.Stat(filepath.Join(comparisons, rundir.NewID(time.Unix(0, 0), "arm-"+baselineArm)+".json")); err == nil {
		t.Error("the oldest comparison is left")
	}
}

func TestARunThatDoesNotComeAboutTurnsTheHealthPageRed(t *testing.T) {
	t.Parallel() // most of it is waiting
	var mutex sync.Mutex
	full := true
	r := rehearse(t, t.TempDir(), func(s *simulation) {
		load := s.program.Load
		s.program.Load = func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
			mutex.Lock()
			fails := full && args[0] == "run"
			mutex.Unlock()
			if fails {
				io.WriteString(stderr, "uma-load: --out: no space left on device\n")
				return exitInput
			}
			return load(ctx, args, stdout, stderr)
		}
	})
	health := "http://" + r.options.exporter + webserver.HealthPath
	r.prints(t, 1, `verdict=failed .*no space left`)
	if status, body := get(t, health); status != http.StatusServiceUnavailable || !strings.Contains(body, "no space left") {
		t.Errorf("status %d, %s", status, body)
	}
	asked := program(io.Discard, io.Discard)
	if code := asked.Run(t.Context(), []string{"healthcheck", "--url", health}); code != exitFailed {
		t.Errorf("healthcheck of a red page: exit %d", code)
	}
	mutex.Lock()
	full = false
	mutex.Unlock()
	r.prints(t, 1, finishedRun)
	if code := asked.Run(t.Context(), []string{"healthcheck", "--url", health}); code != exitDone {
		t.Errorf("healthcheck of a green page: exit %d", code)
	}
}

func TestTheEngineStaysWhileAUsersRunLasts(t *testing.T) {
	t.Parallel() // most of it is waiting
	r := rehearse(t, t.TempDir(), func(s *simulation) { s.pace.quiet = 2 * time.Second })
	r.prints(t, 1, finishedRun)
	engine := r.machine.stage.inference.current.Load()
	body := `{"model":"` + modelName + `","max_tokens":2,"prompt":"hello"}`
	for range 12 {
		response, err := http.Post("http://"+r.options.engine+"/v1/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK || r.machine.stage.inference.current.Load() != engine {
			t.Fatalf("status %d: the engine of a user's run is gone", response.StatusCode)
		}
		time.Sleep(500 * time.Millisecond)
	}
	r.prints(t, 2, finishedRun)
}
