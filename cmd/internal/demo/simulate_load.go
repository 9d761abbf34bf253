package demo

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"

	"github.com/umascope/umascope/loadgen/summary"
)

// turnLabel is the label of a run that has the number of its turn in the programme.
const turnLabel = "turn"

// runArguments returns the uma-load command line of a turn, in the form that a user would type.
func (s *simulation) runArguments(t turn, run string) []string {
	args := []string{
		"run", "--url", s.machine.engineURL(), "--engine", "vllm", "--wait-ready", "60s", "--ready-consecutive", "1",
		"--telemetry", s.options.host + "=" + s.machine.exporterURL(),
		"--label", "arm=" + t.arm.name, "--label", "host=" + s.options.host, "--label", "engine=vllm", "--label", turnLabel + "=" + strconv.Itoa(t.number),
		"--out", s.options.runs, "--run-id", run, "--seed", strconv.FormatUint(s.options.seed, 10),
		"--grace", drainTime.String(), "--web.listen-address", s.options.load, "--log.level", "error",
		"--scenario", t.scenario,
	}
	for _, name := range s.options.allowHosts {
		args = append(args, "--web.allow-host", name)
	}
	return append(args, s.pace.load(t.scenario)...)
}

// drainTime is how long requests in flight may go on when the run ends early: less than the time that Docker gives a
// container to stop, minus the time to write the report.
const drainTime = 4 * time.Second

// pace is the timing of a simulation; a test makes it shorter.
type pace struct {
	every time.Duration
	// load returns the sizes of a scenario, as flags of uma-load.
	load func(scenario string) []string
	// quiet is the time without a request after which no run is on: neither its own nor that of a user.
	quiet time.Duration
	// eventsEvery is the time from the beginning of an event to the next one.
	eventsEvery time.Duration
	factor      int // see stageSettings
}

// usualPace has runs of about a minute, with the start of the engine.
func usualPace(every time.Duration) pace {
	return pace{every: every, quiet: 10 * time.Second, eventsEvery: 15 * time.Minute, factor: 1, load: usualLoad}
}

func usualLoad(scenario string) []string {
	// Client, engine and machine share one computer that may be a laptop, and no figure here is of a real machine: so
	// the client may lag by more than in a real measurement. The report shows the limits.
	args := []string{"--validity", "client_lag=50ms", "--validity", "client_stall=500ms"}
	if scenario == scenarioEviction {
		return append(args, evictionLoad()...)
	}
	return append(args, // the number of requests that the 99th percentile of a run needs
		"--warmup", "8", "--arrival", "poisson", "--rate", "8", "--duration", "40s",
		"--input-tokens", "32:384", "--output-tokens", "16:64", "--slo", "ttft=500ms,tpot=100ms")
}

// evictionLoad returns the sizes of the scenario that shows whether the drive returns blocks: in any arm the second set
// is larger than the KV cache of the engine, 46 GiB, at 1.5 GiB of KV cache a prompt. Both arms do the same work.
func evictionLoad() []string {
	return []string{
		"--warmup", "4", "--output-tokens", "16", "--ignore-eos", "--input-tokens", "1000",
		"--set", "a.requests=8", "--set", "b.requests=36", "--set", "b.concurrency=8", "--set", "baseline.requests=4",
		"--set", "disk.filter=off", "--set", "token.bytes=" + strconv.Itoa(bytesPerToken), "--set", "block.bytes=" + strconv.Itoa(blockBytes),
		"--set", "host.bytes=" + strconv.Itoa(hostTier), "--set", "disk.bytes=" + strconv.Itoa(diskTier),
		"--expect", "kv=cpu_disk",
	}
}

// result is the outcome of a run.
type result struct {
	run, folder string
	// verdict is valid, invalid or interrupted, or failed for a run that uma-load could not make; why is then
	// uma-load's error, in one line.
	verdict, why string
}

// Verdicts in addition to those of uma-load.
const (
	verdictValid       = "valid"
	verdictInvalid     = "invalid"
	verdictInterrupted = "interrupted"
	verdictFailed      = "failed"
)

// measure makes the run of a turn. When ctx ends it drains, and its folder is still complete.
func (s *simulation) measure(ctx context.Context, t turn) result {
	r := result{run: rundir.NewID(time.Now(), t.arm.name)}
	r.folder = filepath.Join(s.options.runs, r.run)
	_, message := s.load(ctx, s.runArguments(t, r.run))
	finished, err := summary.Open(r.folder)
	switch {
	case err != nil && ctx.Err() != nil:
		r.verdict, r.folder = verdictInterrupted, "" // before it began
	case err != nil:
		r.verdict, r.why = verdictFailed, cmp.Or(message, err.Error())
	case finished.Manifest.State == rundir.StateInterrupted:
		r.verdict = verdictInterrupted
	case finished.Manifest.State == rundir.StateFailed:
		r.verdict, r.why = verdictFailed, message
	case finished.Summary.Valid:
		r.verdict = verdictValid
	default:
		r.verdict, r.why = verdictInvalid, reasons(finished.Summary)
	}
	return r
}

// reasons returns in a line why a run is invalid.
func reasons(s summary.Summary) string {
	var all []string
	for _, reason := range s.InvalidReasons {
		all = append(all, fmt.Sprintf("%s: %s", reason.Code, reason.Detail))
	}
	return strings.Join(all, "; ")
}

// load runs uma-load and returns its exit code and its last error line.
func (s *simulation) load(ctx context.Context, args []string) (code int, message string) {
	var complaints tailWriter
	code = s.program.Load(ctx, args, io.Discard, &complaints)
	return code, complaints.line()
}
