package loadgen

import (
	"strings"
	"testing"
	"time"
)

// inFlight is how many requests of each phase were in flight at a time, at most.
func inFlight(t *testing.T, dir string) map[string]int {
	t.Helper()
	most := map[string]int{}
	all := records(t, dir)
	for _, at := range all {
		n := 0
		for _, r := range all {
			if r.Phase == at.Phase && *r.DispatchNS <= *at.DispatchNS && *at.DispatchNS < *r.EndNS {
				n++
			}
		}
		most[at.Phase] = max(most[at.Phase], n)
	}
	return most
}

// TestAReplayMayHaveAConcurrencyOfItsOwn, which leaves the pressure before it as it is: so that of several runs nothing
// but the replay differs. It is another workload then.
func TestAReplayMayHaveAConcurrencyOfItsOwn(t *testing.T) {
	t.Parallel()
	url := engine(t, 2*time.Millisecond)
	for scenario, of := range map[string]struct{ first, pressure, firstPhase, pressurePhase, replay string }{
		"eviction_replay":  {"a", "b", "warm_A", "pressure_B", "replay_A"},
		"rehydrate_replay": {"populate", "thrash", "populate", "thrash", "replay"},
	} {
		hashes := map[string]bool{}
		for _, more := range [][]string{nil, {"--set=replay.concurrency=4"}} {
			args := []string{"--url", url, "--scenario=" + scenario, "--set=" + of.first + ".requests=8", "--set=" + of.first + ".concurrency=2", "--set=" + of.pressure + ".requests=8", "--set=" + of.pressure + ".concurrency=3",
				"--set=baseline.requests=2", "--input-tokens=20", "--set=" + of.first + ".tokens=20", "--output-tokens=8", "--ignore-eos", "--warmup=0", "--force"}
			dir, _, _ := completed(t, append(args, more...)...)
			replay, reported := 2, 0
			if more != nil {
				replay, reported = 4, 4
			}
			got := inFlight(t, dir)
			if got["baseline_1"] != 1 || got[of.firstPhase] != 2 || got[of.pressurePhase] != 3 || got[of.replay] != replay {
				t.Errorf("%s %v: in flight %v", scenario, more, got)
			}
			for _, set := range manifestOf(t, dir).Workload.Script.Sets {
				if first := set.Phases[0] == of.firstPhase; first && set.ReplayConcurrency != reported || !first && set.ReplayConcurrency != 0 {
					t.Errorf("%s %v: the manifest has %+v", scenario, more, set)
				}
			}
			hashes[summaryOf(t, dir).WorkloadSHA256] = true
		}
		if len(hashes) != 2 {
			t.Errorf("%s: another concurrency of the replay is the same workload: %v", scenario, hashes)
		}
	}
}

func TestAScenarioWithoutPressureHasNoConcurrencyOfAReplay(t *testing.T) {
	code, _, _, stderr := invoke(t, t.Context(), "--url=http://127.0.0.1:1", "--scenario=reuse_verify", "--set=replay.concurrency=4")
	if code != exitUsage || !strings.Contains(stderr, "replay.concurrency") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
