package loadgen

import (
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/evidence"
)

// kvbmLog is the start of vLLM 0.26.0 with KVBM 1.4.2: 32,768 tokens of 32 KiB on the device, the disk filter disabled.
const kvbmLog = "enginelog/testdata/vllm-0.26.0-kvbm-1.4.2.log"

// foretold runs a short replay, which shows nothing, against an engine with tiers of these sizes, and returns what is
// printed before it starts.
func foretold(t *testing.T, filter bool, args ...string) (before string, replays []string) {
	t.Helper()
	m := &machine{config: tiered()}
	m.config.PrefillTokensPerSecond = 1e6
	m.config.KVCacheTokens, m.config.KV.BytesPerToken = 32768, 32768
	m.config.KV.HostBytes, m.config.KV.DiskBytes, m.config.KV.DiskFilter = 2e9, 8e9, filter
	s := newStage(t, m)
	code, dir, _, stderr := invoke(t, t.Context(), append([]string{"--url", s.url, "--wait-ready=10s", "--ready-consecutive=1", "--engine=vllm", "--telemetry", "spark=" + s.exporter, "--scrape", "kvbm=" + s.kvbm,
		"--label=host=spark", "--warmup=0", "--output-tokens=16", "--ignore-eos", "--input-tokens=160", "--scenario=eviction_replay", "--set=a.requests=1", "--set=b.requests=1", "--set=baseline.requests=0", "--force", "--validity=telemetry_lost=off"}, args...)...)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for name := range summaryOf(t, dir).Phases {
		if strings.HasPrefix(name, "replay") {
			replays = append(replays, name)
		}
	}
	slices.Sort(replays)
	return stderr, replays
}

// The page has the bytes of the tiers, the log the bytes of a token: each alone foretells nothing.
func TestTheForecastTakesBytesOfATokenFromTheEnginesLog(t *testing.T) {
	t.Parallel()
	const unknown = "host tier: 1.86 GiB, and the bytes of a token are not known (--engine-log FILE or --set token.bytes=N)"
	if stderr, _ := foretold(t, false); !strings.Contains(stderr, unknown) {
		t.Errorf("without a log: %s", stderr)
	}
	stderr, _ := foretold(t, false, "--engine-log="+kvbmLog)
	for _, line := range []string{"A: 1 prompts, 176 tokens (0.01 GiB) with their answers", "host tier 61035 tokens (1.86 GiB): A comes back from the host", "disk tier 244141 tokens (7.45 GiB): A stays on it"} {
		if !strings.Contains(stderr, line) {
			t.Errorf("%q is not in: %s", line, stderr)
		}
	}
	if strings.Contains(stderr, "disk filter") {
		t.Errorf("the filter is off: %s", stderr)
	}
}

func TestTheDiskFilterIsForetoldAndASecondReplayOffered(t *testing.T) {
	t.Parallel()
	const told = "KVBM's disk filter is on: prompts seen once are not written to the disk tier, so A cannot come back from the SSD; --set repeats=2 sends B and A a second time, and then it can"
	stderr, replays := foretold(t, true)
	if !strings.Contains(stderr, told) || !slices.Equal(replays, []string{"replay_A"}) {
		t.Errorf("%v: %s", replays, stderr)
	}
	stderr, replays = foretold(t, true, "--set=repeats=2")
	if strings.Contains(stderr, told) || !strings.Contains(stderr, "the first replay computes A again, which writes it to the disk tier") || !slices.Equal(replays, []string{"replay_A_1", "replay_A_2"}) {
		t.Errorf("%v: %s", replays, stderr)
	}
	// The flag comes before the log, and the log before the environment.
	if stderr, _ = foretold(t, true, "--engine-log="+kvbmLog); strings.Contains(stderr, "disk filter") {
		t.Errorf("by the log: %s", stderr)
	}
	if stderr, _ = foretold(t, false, "--engine-log="+kvbmLog, "--set=disk.filter="+string(evidence.FilterOn)); !strings.Contains(stderr, told) {
		t.Errorf("by the flag: %s", stderr)
	}
}

// Without a filter, both replays are read from the disk.
func TestEveryReplayComesAfterPressureOfItsOwn(t *testing.T) {
	t.Parallel()
	_, dir, _, stderr := newStage(t, &machine{config: tiered()}).run(t, append(slices.Clone(replayA), "--set=repeats=2")...)
	prompts := map[string][]string{}
	for _, r := range records(t, dir) {
		prompts[r.Phase] = append(prompts[r.Phase], r.PromptSHA256)
	}
	if !slices.Equal(prompts["replay_A_1"], prompts["warm_A"]) || !slices.Equal(prompts["replay_A_2"], prompts["warm_A"]) || len(prompts["warm_A"]) != 3 {
		t.Errorf("A was %v: %s", prompts, stderr)
	}
	if len(prompts["pressure_B_1"]) != 6 || len(prompts["pressure_B_2"]) != 6 || slices.Contains(prompts["pressure_B_2"], prompts["pressure_B_1"][0]) {
		t.Errorf("B was %v", prompts)
	}
	if s := summaryOf(t, dir); graded(s.Signals.SSDRehydrate) != "proven" {
		t.Errorf("%+v", s.Signals)
	}
}
