package loadgen

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/sim"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/workload"
)

const blockBytes16 = 16 << 10 // of 16 tokens of 1 KiB

// tiered is an engine with 40 blocks on the device, 50 in the host and 600 on the disk, which reads 160
// tokens in 100 ms, far above what a busy computer adds, and brings blocks back in no time.
func tiered() sim.Config {
	c := sim.Default()
	c.PrefillTokensPerSecond, c.DecodeBase, c.DecodePerSequence, c.JitterRatio = 1600, 500*time.Microsecond, 0, 0
	c.MaxModelTokens, c.KVCacheTokens = 640, 640
	c.KV.TokensPerBlock, c.KV.BytesPerToken, c.KV.DiskFilter = 16, 1<<10, false
	c.KV.HostBytes, c.KV.DiskBytes = 50*blockBytes16, 600*blockBytes16
	c.KV.Host, c.KV.Disk = sim.Link{BytesPerSecond: math.Inf(1)}, sim.Link{BytesPerSecond: math.Inf(1)}
	c.CachedTokens = true
	c.UseInterval = 10 * time.Millisecond
	return c
}

// machine is the simulated host of a simulated engine: its page follows what the engine uses.
type machine struct {
	config sim.Config
	// blind: the exporter may not look into processes. idle: the drive reads nothing.
	blind, idle bool

	mutex sync.Mutex
	use   sim.Use
}

func (m *machine) report(use sim.Use) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.use = use
}

// ServeHTTP shows the last report, which is a hundredth of a second old at most: a run holds for much
// longer than that before it looks at a border.
func (m *machine) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	_, _ = io.WriteString(w, m.page())
}

func (m *machine) page() string {
	number := func(bytes int64) string { return fmt.Sprint(bytes) }
	read, written := m.use.DiskReadBytes, m.use.DiskWrittenBytes
	page := line(metric.ExporterBuildInfo, "1", "version", "v1", "revision", "r", "goversion", "go") + kvMode(metric.ModeSimulated) +
		kvSize(metric.TierHost, number(m.config.KV.HostBytes)) + kvSize(metric.TierDisk, number(m.config.KV.DiskBytes)) +
		line(metric.ProcessCPUSecondsTotal, "1", "pid", "7", "comm", "engine", "cgroup", "/e")
	if m.config.KV.DiskBytes > 0 {
		state := "0"
		if m.config.KV.DiskFilter {
			state = "1"
		}
		page += line(metric.KVBMDiskFilterEnabled, state, "pid", "7", "comm", "engine", "cgroup", "/e")
	}
	if m.use.DiskTierBytes > 0 {
		page += line(metric.KVBMDiskFileBytes, number(m.use.DiskTierBytes), "pid", "7", "comm", "engine", "cgroup", "/e", "path", "/kv")
	}
	for op, bytes := range map[string]int64{metric.OpRead: read, metric.OpWrite: written} {
		if !m.blind {
			page += line(metric.ProcessIOBytesTotal, number(bytes), "pid", "7", "comm", "engine", "cgroup", "/e", "op", op) +
				line(metric.CgroupIOBytesTotal, number(bytes), "cgroup", "/e", "device", "nvme0n1", "op", op)
		}
	}
	if m.idle {
		read = 0
	}
	// The drive serves others too.
	return page + line(metric.NVMeReadBytesTotal, number(read+1<<20), "device", "nvme0n1") + line(metric.NVMeWrittenBytesTotal, number(written+1<<20), "device", "nvme0n1")
}

// stage is an engine, its machine, and the pages of both.
type stage struct {
	engine              *sim.Engine
	url, exporter, kvbm string
}

func newStage(t *testing.T, m *machine) stage {
	t.Helper()
	m.config.OnUse = m.report
	e, url := serving(t, m.config)
	serve := func(h http.Handler) string {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		t.Cleanup(server.CloseClientConnections)
		return server.URL
	}
	return stage{e, url, serve(m), serve(e.KVBMHandler())}
}

// run drives a scenario against the stage.
func (s stage) run(t *testing.T, args ...string) (code int, folder, stdout, stderr string) {
	t.Helper()
	return invoke(t, t.Context(), append([]string{"--url", s.url, "--wait-ready=10s", "--ready-consecutive=1", "--engine=vllm", "--telemetry", "spark=" + s.exporter, "--scrape", "kvbm=" + s.kvbm,
		"--telemetry-interval=200ms", "--label=host=spark", "--warmup=1", "--output-tokens=16", "--ignore-eos", "--input-tokens=160", "--validity=telemetry_lost=off",
		"--set=token.bytes=1024", "--set=block.bytes=16384", "--set=device.tokens=640"}, args...)...)
}

// unwatched drives a scenario against the stage of which no page is read: the answers are all there is.
func (s stage) unwatched(t *testing.T, args ...string) (code int, folder, stdout, stderr string) {
	t.Helper()
	return invoke(t, t.Context(), append([]string{"--url", s.url, "--wait-ready=10s", "--ready-consecutive=1", "--engine=vllm", "--warmup=0", "--output-tokens=16", "--ignore-eos", "--input-tokens=160"}, args...)...)
}

// replayA is a replay whose A is on the disk only when it comes again.
var replayA = []string{"--scenario=eviction_replay", "--set=a.requests=3", "--set=b.requests=6", "--set=baseline.requests=3"}

func graded(s evidence.Signal) string {
	return strings.TrimSpace(string(s.Grade) + " " + string(s.Reason))
}

func TestAnEvictionReplayProvesWhatCameFromWhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change                            func(*machine)
		args                              []string
		offload, rehydrate, reuse, output string
	}{
		"cpu_disk":                        {func(*machine) {}, []string{"--expect=kv=cpu_disk"}, "proven", "proven", "proven", "proven"},
		"cpu_disk, version 2":             {func(m *machine) { m.config.KV.Page = sim.KVBMv2 }, nil, "proven", "proven", "proven", "proven"},
		"cpu_disk, the other prefix":      {func(m *machine) { m.config.KV.Page = sim.DynamoPrefixed }, nil, "proven", "proven", "proven", "proven"},
		"cpu_disk, without privileges":    {func(m *machine) { m.blind = true }, nil, "consistent no_privilege", "consistent no_privilege", "proven", "proven"},
		"cpu_disk, and the drive is idle": {func(m *machine) { m.idle = true }, nil, "proven", "contradicted bytes_disagree", "proven", "proven"},
		"cpu_only": {func(m *machine) { m.config.KV.HostBytes, m.config.KV.DiskBytes = 600*blockBytes16, 0 }, []string{"--expect=kv=cpu_only"},
			"contradicted tier_off", "contradicted tier_off", "proven", "proven"},
		"off": {func(m *machine) { m.config.KV.HostBytes, m.config.KV.DiskBytes = 0, 0 }, []string{"--expect=kv=off"},
			"not_observable tier_off", "not_observable tier_off", "contradicted no_matched_tokens", "not_observable no_matched_tokens"},
		"cpu_disk, and the filter is on": {func(m *machine) { m.config.KV.DiskFilter = true }, nil,
			"proven", "contradicted disk_filter_on", "contradicted no_matched_tokens", "not_observable no_matched_tokens"},
		"cpu_disk, and the filter is on, twice": {func(m *machine) { m.config.KV.DiskFilter = true }, []string{"--set=repeats=2"},
			"proven", "proven", "proven", "proven"},
		"cpu_disk, twice":           {func(*machine) {}, []string{"--set=repeats=2"}, "proven", "proven", "proven", "proven"},
		"a device larger than told": {func(m *machine) { m.config.KVCacheTokens = 16_000 }, nil, "proven", "contradicted served_from_device", "proven", "proven"},
		"host large enough":         {func(m *machine) { m.config.KV.HostBytes = 600 * blockBytes16 }, nil, "proven", "contradicted served_from_host", "proven", "proven"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &machine{config: tiered()}
			c.change(m)
			code, folder, stdout, stderr := newStage(t, m).run(t, slices.Concat(replayA, c.args)...)
			if code != exitDone {
				t.Fatalf("exit %d: %s%s", code, stdout, stderr)
			}
			s := summaryOf(t, folder)
			for signal, got := range map[string][2]string{
				"ssd_offload": {graded(s.Signals.SSDOffload), c.offload}, "ssd_rehydrate": {graded(s.Signals.SSDRehydrate), c.rehydrate},
				"reuse": {graded(s.Signals.Reuse), c.reuse}, "output_match": {graded(s.Signals.OutputMatch), c.output},
			} {
				if got[0] != got[1] {
					t.Errorf("%s is %q, want %q: %+v", signal, got[0], got[1], s.Signals)
				}
			}
			if slices.Contains(s.Checked, "outputs") != (c.output == "proven") {
				t.Errorf("checked %v", s.Checked)
			}
		})
	}
}

func TestTheFolderOfAReplayHasItsPhasesOutputsAndForecast(t *testing.T) {
	t.Parallel()
	_, dir, _, stderr := newStage(t, &machine{config: tiered()}).run(t, replayA...)
	want := []string{rundir.PhaseReady, rundir.PhaseWarmup, workload.PhaseBaseline1, workload.PhaseBaseline2, "warm_A", "pressure_B", "replay_A", rundir.PhaseStop}
	var names []string
	for _, p := range read[struct{ Phases []workload.Span }](t, filepath.Join(dir, rundir.PhasesFile)).Phases {
		names = append(names, p.Name)
	}
	if !slices.Equal(names, want) {
		t.Errorf("phases %v", names)
	}
	prompts, outputs := map[string][]string{}, map[string][]string{}
	for _, r := range records(t, dir) {
		if r.Status != openai.StatusOK {
			t.Fatalf("%+v", r)
		}
		prompts[r.Phase], outputs[r.Phase] = append(prompts[r.Phase], r.PromptSHA256), append(outputs[r.Phase], r.OutputSHA256)
	}
	if len(prompts["replay_A"]) != 3 || !slices.Equal(prompts["warm_A"], prompts["replay_A"]) || !slices.Equal(outputs["warm_A"], outputs["replay_A"]) {
		t.Errorf("A was %v, then %v", prompts["warm_A"], prompts["replay_A"])
	}
	if !slices.Equal(prompts[workload.PhaseBaseline1], prompts[workload.PhaseBaseline2]) || slices.Contains(prompts["warm_A"], prompts[workload.PhaseBaseline1][0]) || len(prompts["pressure_B"]) != 6 {
		t.Errorf("prompts %v", prompts)
	}
	if info, err := os.Stat(filepath.Join(dir, rundir.OutputsFile)); err != nil || info.Size() == 0 {
		t.Errorf("outputs: %v", err)
	}
	output := strings.Join(manifestOf(t, dir).Workload.Pressure, "\n")
	if !strings.Contains(output, "A is evicted from the host") || !strings.Contains(stderr, "A is evicted from the host") {
		t.Errorf("foretold %q; printed %s", output, stderr)
	}
	s := summaryOf(t, dir)
	if s.Phases[workload.PhaseBaseline2].Measured || !s.Phases["replay_A"].Measured || s.Requests[openai.StatusOK] != 12 {
		t.Errorf("%d requests measured", s.Requests[openai.StatusOK])
	}
}

func TestWrongKVIsCaughtAndNumericDriftIsNotMistakenForIt(t *testing.T) {
	t.Parallel()
	more := slices.Concat(replayA, []string{"--set=a.requests=4", "--set=baseline.requests=6"})[0:]
	more = slices.DeleteFunc(more, func(arg string) bool { return arg == "--set=a.requests=3" || arg == "--set=baseline.requests=3" })
	for seed := range uint64(4) {
		for name, c := range map[string]struct {
			faults sim.Faults
			code   int
			grades []evidence.Grade
		}{
			"wrong KV": {sim.Faults{WrongKV: true, Drift: sim.Drift{Ratio: 0.3 * float64(seed%2), Alone: true, FromToken: 12}}, exitInvalid, []evidence.Grade{evidence.Contradicted}},
			"drift":    {sim.Faults{Drift: sim.Drift{Ratio: 0.3, Alone: true, FromToken: 12}}, exitDone, []evidence.Grade{evidence.Proven, evidence.Consistent, evidence.NotObservable}},
		} {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				t.Parallel()
				m := &machine{config: tiered()}
				m.config.Seed, m.config.Faults = seed, c.faults
				code, folder, stdout, stderr := newStage(t, m).unwatched(t, more...)
				s := summaryOf(t, folder)
				if code != c.code || !slices.Contains(c.grades, s.Signals.OutputMatch.Grade) {
					t.Fatalf("exit %d, %+v: %s%s", code, s.Signals.OutputMatch, stdout, stderr)
				}
				if caught := strings.Contains(stderr, string(summary.CodeOutputMismatch)); caught != (code == exitInvalid) {
					t.Errorf("%s", stderr)
				}
			})
		}
	}
}

func warned(s summary.Summary, text string) bool {
	return slices.ContainsFunc(s.Warnings, func(w string) bool { return strings.Contains(w, text) })
}

// A baseline, or a first pass, that came from a cache itself is no measure: what is wrong there would be
// wrong in both.
func TestOutputsAreJudgedByAnswersThatWereComputed(t *testing.T) {
	t.Parallel()
	const fromCache, notAgain = "the server answered warm_A from its cache already", "does not let the second pass of the baseline be computed again"
	t.Run("prompts that the server has seen", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, &machine{config: tiered()})
		_, first, _, _ := s.unwatched(t, replayA...)
		_, folder, _, _ := s.unwatched(t, append(slices.Clone(replayA), "--repeat-of="+first)...)
		got := summaryOf(t, folder)
		// Nor does the first pass say how long a prompt takes without a cache.
		timed := got.Signals.Worth == nil || got.Signals.Worth.TimeRatio != nil
		if timed || graded(got.Signals.OutputMatch) != "not_observable no_baseline" || graded(got.Signals.Reuse) != "proven" || !warned(got, fromCache) {
			t.Errorf("%+v: %q", got.Signals, got.Warnings)
		}
	})
	for name, c := range map[string]struct {
		cachedTokens bool
		page         bool
		engine       string
		output       string
		warns        bool
	}{
		"no field keeps the passes apart":                       {true, true, "openai", "not_observable no_baseline", true},
		"nor do answers or a page report what is cached":        {false, false, "openai", "not_observable no_baseline", true},
		"a field does, and neither reports what is cached":      {false, false, "vllm", "consistent counters_absent", false},
		"a field does, and the engine's page reports it":        {false, true, "vllm", "proven", false},
		"a field does, and answers report what was cached":      {true, false, "vllm", "proven", false},
		"a field does, and answers and page report it together": {true, true, "vllm", "proven", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &machine{config: tiered()}
			m.config.CachedTokens = c.cachedTokens
			url := newStage(t, m).url
			if !c.page {
				url = withoutPage(t, url)
			}
			_, folder, _, _ := invoke(t, t.Context(), slices.Concat([]string{"--url", url, "--wait-ready=10s", "--ready-consecutive=1", "--engine=" + c.engine,
				"--warmup=0", "--output-tokens=16", "--input-tokens=160"}, replayA)...)
			if got := summaryOf(t, folder); graded(got.Signals.OutputMatch) != c.output || warned(got, notAgain) != c.warns {
				t.Errorf("%+v: %q", got.Signals.OutputMatch, got.Warnings)
			}
		})
	}
}

// withoutPage is the same server without a page of metrics.
func withoutPage(t *testing.T, server string) string {
	t.Helper()
	return inFront(t, server, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if r.URL.Path == "/metrics" {
			http.NotFound(w, r)
			return
		}
		pass.ServeHTTP(w, r)
	})
}

func TestOutputsOfBatchesAreNotJudged(t *testing.T) {
	t.Parallel()
	m := &machine{config: tiered()}
	m.config.Faults.Drift = sim.Drift{Ratio: 1}
	code, folder, _, stderr := newStage(t, m).run(t, slices.Concat(replayA, []string{"--set=a.concurrency=3"})...)
	s := summaryOf(t, folder)
	if code != exitDone || graded(s.Signals.OutputMatch) != "not_observable no_baseline" || !warned(s, "in flight") {
		t.Errorf("exit %d, %+v, %v: %s", code, s.Signals.OutputMatch, s.Warnings, stderr)
	}
}

func TestACounterThatIsResetInTheReplayIsNeverClamped(t *testing.T) {
	t.Parallel()
	m := &machine{config: tiered()}
	s := newStage(t, m)
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The counters fall when the replay has begun to bring blocks back.
		for ctx := t.Context(); ctx.Err() == nil; time.Sleep(2 * time.Millisecond) {
			response, err := http.Get(s.kvbm + "/metrics")
			if err != nil {
				return
			}
			text, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if strings.Contains(string(text), "kvbm_onboard_blocks_d2d ") && !strings.Contains(string(text), "kvbm_onboard_blocks_d2d 0\n") {
				s.engine.ResetCounters()
				return
			}
		}
	}()
	code, folder, _, stderr := s.run(t, replayA...)
	<-done
	sum := summaryOf(t, folder)
	if code != exitInvalid || graded(sum.Signals.SSDRehydrate) != "not_observable counters_reset" || !strings.Contains(stderr, "counter_reset") {
		t.Errorf("exit %d, %+v: %s", code, sum.Signals.SSDRehydrate, stderr)
	}
}

func TestReuseVerifyAndRehydrateReplayHaveTheirPhases(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args   []string
		phases string
		says   func(evidence.Signals) string
		want   string
	}{
		"reuse_verify": {[]string{"--scenario=reuse_verify", "--set=requests=2", "--set=baseline.requests=2"},
			"ready warmup baseline_1 baseline_2 reuse_1 reuse_2 reuse_3 stop", func(s evidence.Signals) string { return graded(s.Reuse) + ", " + graded(s.OutputMatch) }, "proven, proven"},
		"rehydrate_replay": {[]string{"--scenario=rehydrate_replay", "--set=populate.requests=2", "--set=thrash.requests=6", "--set=repeats=2", "--set=baseline.requests=0"},
			"ready warmup populate thrash_1 replay_1 thrash_2 replay_2 stop", func(s evidence.Signals) string { return graded(s.SSDRehydrate) + ", " + graded(s.OutputMatch) }, "proven, not_observable no_baseline"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, dir, _, stderr := newStage(t, &machine{config: tiered()}).run(t, c.args...)
			var names []string
			for _, p := range read[struct{ Phases []workload.Span }](t, filepath.Join(dir, rundir.PhasesFile)).Phases {
				names = append(names, p.Name)
			}
			if s := summaryOf(t, dir); code != exitDone || strings.Join(names, " ") != c.phases || c.says(s.Signals) != c.want {
				t.Errorf("exit %d, phases %v, %+v: %s", code, names, s.Signals, stderr)
			}
		})
	}
}

func TestPressureThatCannotShowAnythingIsRefusedUnlessForced(t *testing.T) {
	t.Parallel()
	s := newStage(t, &machine{config: tiered()})
	small := []string{"--scenario=eviction_replay", "--set=a.requests=1", "--set=b.requests=1", "--set=baseline.requests=1"}
	code, dir, _, stderr := s.run(t, small...)
	if code != exitUsage || !strings.Contains(stderr, "nothing will be evicted") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a run that never began left a folder")
	}
	code, dir, _, stderr = s.run(t, append(small, "--force")...)
	if got := graded(summaryOf(t, dir).Signals.SSDRehydrate); code != exitDone || got != "contradicted pressure_too_small" {
		t.Errorf("exit %d, %s: %s", code, got, stderr)
	}
	code, dir, _, stderr = s.run(t, append(small[:2:2], "--fit-pressure=1.5", "--set=baseline.requests=1")...)
	sets := manifestOf(t, dir).Workload.Script.Sets
	// 1.5 x 50 blocks of the host are 1200 tokens, of 176 each with the answer.
	if code != exitDone || sets[len(sets)-1].Requests != 7 {
		t.Errorf("exit %d, sets %+v: %s", code, sets, stderr)
	}
}

func TestSizesAreThoseOfTheScenario(t *testing.T) {
	url := withoutPage(t, engine(t, 100*time.Microsecond))
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--set=a.requests=3"}, "--scenario standard has no a.requests"},
		{[]string{"--scenario=burst", "--set=a.requests=3"}, "it has bursts, requests, every"},
		{[]string{"--scenario=eviction_replay", "--set=a.requests=0"}, "a.requests"},
		{[]string{"--scenario=eviction_replay", "--set=a.requests"}, "NAME=VALUE"},
		{[]string{"--scenario=eviction_replay", "--set=a.requests=3", "--set=a.requests=4"}, "given twice"},
		{[]string{"--scenario=eviction_replay", "--requests=3"}, "--requests"},
		{[]string{"--scenario=reuse_verify", "--concurrency=4"}, "--concurrency"},
		{[]string{"--scenario=reuse_verify", "--set=repeats=1"}, "nothing to reuse"},
		{[]string{"--scenario=reuse_verify", "--fit-pressure=1.5"}, "no pressure"},
		{[]string{"--scenario=eviction_replay", "--fit-pressure=1.5"}, "not known"},
		{[]string{"--force"}, "--force"},
		{[]string{"--scenario=burst", "--arrival=poisson", "--rate=1"}, "--set says it"},
	} {
		code, _, _, stderr := invoke(t, t.Context(), append([]string{"--url", url, "--output-tokens=4"}, c.args...)...)
		if code != exitUsage || !strings.Contains(stderr, c.says) {
			t.Errorf("%v: exit %d, no %q in %s", c.args, code, c.says, stderr)
		}
	}
}

func TestABurstIsSentAtOnceAndByTheClock(t *testing.T) {
	t.Parallel()
	folder, _, _ := completed(t, "--url", engine(t, time.Millisecond), "--scenario=burst", "--set=bursts=3", "--set=requests=4", "--set=every=200ms",
		"--warmup=1", "--output-tokens=4", "--engine=vllm", "--ignore-eos")
	starts := map[int64]int{}
	var first int64 = math.MaxInt64
	for _, r := range records(t, folder) {
		if r.Phase == "burst" {
			starts[r.IntendedNS]++
			first = min(first, r.IntendedNS)
		}
	}
	for i := range int64(3) {
		if got := starts[first+i*int64(200*time.Millisecond)]; got != 4 {
			t.Errorf("burst %d has %d requests: %v", i, got, starts)
		}
	}
	if s := summaryOf(t, folder); s.Requests[openai.StatusOK] != 12 || s.Signals.Reuse.Grade != evidence.NotObservable {
		t.Errorf("%+v", s)
	}
}

func TestWithoutTelemetryOnlyTheAnswersAreEvidence(t *testing.T) {
	t.Parallel()
	code, folder, _, stderr := newStage(t, &machine{config: tiered()}).unwatched(t, replayA...)
	got := summaryOf(t, folder).Signals
	if code != exitDone || graded(got.SSDRehydrate) != "not_observable counters_absent" || graded(got.SSDOffload) != "not_observable counters_absent" ||
		graded(got.Reuse) != "proven" || graded(got.OutputMatch) != "proven" {
		t.Errorf("exit %d, %+v: %s", code, got, stderr)
	}
}
