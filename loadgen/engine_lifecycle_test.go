package loadgen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/exporter/metric"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/summary"
)

// upArm is an arm of one engine, which answers only while it is up.
type upArm struct {
	up    atomic.Bool
	url   string
	live  string       // address of the live page
	seen  []string     // what the live page said in each phase
	lost  error        // why the engine goes away once it has answered some
	asked atomic.Int64 // requests
	lose  func()
	gone  context.CancelCauseFunc // of an engine that nobody watches any more, as after an arm came down
	never error                   // why it is never ready
	wait  chan struct{}           // if not nil, it waits in cooldown until the context is done
	downs int
	logs  []server.EngineLog // of its processes
	said  lockedBuffer       // the log
}

func newArm(t *testing.T) *upArm {
	t.Helper()
	s := &upArm{}
	s.url = inFront(t, engine(t, time.Millisecond), func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if !s.up.Load() {
			http.Error(w, "not there", http.StatusBadGateway)
			return
		}
		if s.asked.Add(1) == 50 && s.lost != nil {
			s.lose()
		}
		pass.ServeHTTP(w, r)
	})
	return s
}

func (s *upArm) lifecycle() *server.EngineLifecycle {
	return &server.EngineLifecycle{
		Starts: true,
		Before: func(ctx context.Context, enter func(string), _ func(string, time.Time)) (context.Context, error) {
			for _, phase := range []string{metric.PhaseCooldown, metric.PhaseStart, metric.PhaseLoad} {
				enter(phase)
				s.seen = append(s.seen, phase+" "+s.shown())
				if s.wait != nil {
					close(s.wait)
					<-ctx.Done()
					return nil, ctx.Err()
				}
			}
			if s.never != nil {
				return nil, s.never
			}
			s.up.Store(true)
			engine, lose := context.WithCancelCause(context.WithoutCancel(ctx))
			s.gone = lose
			context.AfterFunc(ctx, func() { lose(nil) })
			if s.lost != nil {
				s.lose = func() { s.up.Store(false); lose(s.lost) }
			}
			return engine, nil
		},
		After: func(context.Context) {
			s.downs++
			s.up.Store(false)
			if s.gone != nil {
				s.gone(errors.New("nobody watches it any more"))
			}
		},
		Facts: func() *rundir.Campaign { return &rundir.Campaign{Name: "c", Slot: 3, EngineKept: s.downs > 0} },
		Logs:  func() []server.EngineLog { return s.logs },
	}
}

// shown is the phase that the live page shows.
func (s *upArm) shown() string {
	response, err := http.Get(s.live)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	var page bytes.Buffer
	_, _ = page.ReadFrom(response.Body)
	for line := range strings.Lines(page.String()) {
		if strings.Contains(line, "run_phase{") && strings.HasSuffix(line, " 1\n") {
			return line
		}
	}
	return "none"
}

// runStarting makes a run whose engine is started for it.
func runStarting(t *testing.T, ctx context.Context, s *upArm, args ...string) (dir string, err error) {
	t.Helper()
	line, out := newCommandLine(&bytes.Buffer{}), t.TempDir()
	args = slices.Concat([]string{"run", "--url", s.url, "--out", out, "--run-id=r1", "--engine=vllm", "--telemetry-interval=100ms"}, uncontended, args)
	if _, _, err := line.parse(args); err != nil {
		t.Fatal(err)
	}
	settings, err := line.checkRun()
	if err != nil {
		t.Fatal(err)
	}
	_, err = makeRun(ctx, settings, s.environment(t, settings.keeping))
	return filepath.Join(out, "r1"), err
}

// environment is that of one of many runs, with a live page of its own.
func (s *upArm) environment(t *testing.T, k keeping) runner.Environment {
	t.Helper()
	stderr := &s.said
	page, err := runner.OpenLivePage(runner.ListenAddress{HostPort: "127.0.0.1:0"}, runner.Network{}, terminal.LogAt("error").Logger(stderr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(page.Close)
	env := quiet(runner.Environment{Console: runner.NewConsole(stderr, runner.ProgressNone)}, k.log, page)
	env.Engine, s.live = s.lifecycle(), page.URL()
	return env
}

func phaseNames(t *testing.T, dir string) (names []string) {
	t.Helper()
	for _, span := range read[rundir.Phases](t, filepath.Join(dir, rundir.PhasesFile)).Phases {
		if span.EndNS < span.StartNS {
			t.Errorf("%+v", span)
		}
		names = append(names, span.Name)
	}
	return names
}

func TestTheTelemetryOfARunSpansTheStartAndStopOfItsEngine(t *testing.T) {
	t.Parallel()
	page, _ := exporter(t)
	s := newArm(t)
	dir, err := runStarting(t, t.Context(), s, "--requests=8", "--warmup=2", "--validity=telemetry_lost=off", "--telemetry", "spark1="+page, "--label=host=spark1", "--scrape", "engine="+s.url+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"cooldown", "start", "load", "ready", "warmup", "measure", "stop"}
	if got := phaseNames(t, dir); !slices.Equal(got, want) {
		t.Errorf("phases %v", got)
	}
	for i, phase := range want[:3] {
		if !strings.Contains(s.seen[i], `phase="`+phase+`"`) {
			t.Errorf("the live page: %s", s.seen[i])
		}
	}
	sum := summaryOf(t, dir)
	if !sum.Valid || sum.Requests[openai.StatusOK] != 8 {
		t.Errorf("%+v, %v", sum.Requests, sum.InvalidReasons)
	}
	manifest := manifestOf(t, dir)
	if c := manifest.Campaign; c == nil || c.Slot != 3 || !c.EngineKept || manifest.State != rundir.StateComplete || manifest.Server.Model == "" {
		t.Errorf("%+v", manifest)
	}
	for _, source := range manifest.Telemetry.Sources {
		if len(source.MissingBorders) > 0 || source.SamplesGot == 0 {
			t.Errorf("%+v", source)
		}
	}
	if s.downs != 1 || s.up.Load() {
		t.Errorf("stopped %d times", s.downs)
	}
}

func TestTheLogNamesARunOnceAndTheModelWhenItsEngineIsReady(t *testing.T) {
	t.Parallel()
	s := newArm(t)
	if _, err := runStarting(t, t.Context(), s, "--requests=2", "--warmup=0", "--validity=telemetry_lost=off"); err != nil {
		t.Fatal(err)
	}
	said := s.said.String()
	if n := strings.Count(said, "msg=run "); n != 1 || strings.Count(said, `msg="the engine is ready" run=r1 model=`) != 1 {
		t.Errorf("the run is named %d times: %s", n, said)
	}
}

func TestARunWhoseEngineNeverComesKeepsWhatTheMachineDid(t *testing.T) {
	t.Parallel()
	page, _ := exporter(t)
	s := newArm(t)
	s.never = errors.New("vllm was never ready")
	dir, err := runStarting(t, t.Context(), s, "--requests=8", "--telemetry", "spark1="+page, "--label=host=spark1")
	if !errors.Is(err, s.never) {
		t.Fatal(err)
	}
	expectUnserved(t, dir, rundir.StateFailed, "vllm was never ready")
	if got := phaseNames(t, dir); !slices.Equal(got, []string{"cooldown", "start", "load"}) || s.downs != 1 {
		t.Errorf("phases %v, stopped %d times", got, s.downs)
	}
	if _, err := filepath.Glob(filepath.Join(dir, rundir.SnapshotsFolder, "*start*")); err != nil {
		t.Error(err)
	}
}

// expectUnserved checks the folder of a run that measured nothing.
func expectUnserved(t *testing.T, dir, state, why string) {
	t.Helper()
	manifest := manifestOf(t, dir)
	sum := summaryOf(t, dir)
	if manifest.State != state || manifest.Campaign == nil || sum.Valid || !strings.Contains(fmt.Sprint(sum.InvalidReasons), string(summary.CodeIncomplete)) || !strings.Contains(fmt.Sprint(sum.InvalidReasons), why) {
		t.Errorf("%s, %v", manifest.State, sum.InvalidReasons)
	}
	for _, name := range []string{rundir.HTMLFile, rundir.ReportFile, rundir.RequestsFile} {
		if matches, _ := filepath.Glob(filepath.Join(dir, name)); len(matches) == 0 {
			t.Errorf("%s is not there", name)
		}
	}
}

func TestAnInterruptWhileTheMachineComesToRestStopsTheEngineToo(t *testing.T) {
	t.Parallel()
	s := newArm(t)
	s.wait = make(chan struct{})
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	go func() { <-s.wait; interrupt() }()
	dir, err := runStarting(t, ctx, s, "--requests=8")
	if !errors.Is(err, runner.ErrInterrupted) || s.downs != 1 {
		t.Fatalf("%v, stopped %d times", err, s.downs)
	}
	expectUnserved(t, dir, rundir.StateInterrupted, runner.ErrInterrupted.Error())
}

func TestARunWhoseEngineDiesEndsAtOnceAndSaysWhy(t *testing.T) {
	t.Parallel()
	s := newArm(t)
	s.lost = errors.New("vllm ended with exit code 137")
	began := time.Now()
	dir, err := runStarting(t, t.Context(), s, "--duration=1h", "--warmup=0", "--output-tokens=4")
	if !errors.Is(err, s.lost) || time.Since(began) > time.Minute {
		t.Fatal(err)
	}
	sum := summaryOf(t, dir)
	if sum.Valid || !strings.Contains(fmt.Sprint(sum.InvalidReasons), "exit code 137") || sum.Requests[openai.StatusOK] == 0 {
		t.Errorf("%+v, %v", sum.Requests, sum.InvalidReasons)
	}
	if state := manifestOf(t, dir).State; state != rundir.StateFailed || s.downs != 1 {
		t.Errorf("%s, stopped %d times", state, s.downs)
	}
}

func TestACommandIsRecordedBesideItsEngine(t *testing.T) {
	t.Parallel()
	page, _ := exporter(t)
	s := newArm(t)
	line, out := newCommandLine(&bytes.Buffer{}), t.TempDir()
	if _, _, err := line.parse([]string{"record", "--out", out, "--run-id=r1", "--before=100ms", "--after=100ms",
		"--telemetry-interval=100ms", "--telemetry", "spark1=" + page, "--label=host=spark1", "--validity=telemetry_lost=off",
		"--", "bash", "-c", "exec 3<>/dev/tcp/" + strings.Replace(strings.TrimPrefix(s.url, "http://"), ":", "/", 1)}); err != nil {
		t.Fatal(err)
	}
	settings, err := line.checkRecord()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := makeRecording(t.Context(), settings, s.environment(t, settings.keeping)); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(out, "r1")
	if got, want := phaseNames(t, dir), []string{"cooldown", "start", "load", "ready", "measure", "after"}; !slices.Equal(got, want) {
		t.Errorf("phases %v", got)
	}
	if m := manifestOf(t, dir); m.Campaign == nil || *m.Command.ExitCode != 0 || s.downs != 1 {
		t.Errorf("%+v", m)
	}
}
