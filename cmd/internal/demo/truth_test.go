package demo

import (
	"context"
	"fmt"
	"testing"
)

// Whether the analysis finds the truth can only be seen where the truth is known: on simulated machines, whose own
// account (accounts, Truth) no program of the project reads. Machines of several seeds each serve a simulated engine;
// uma-load makes runs of it with the telemetry of the real exporter and compares them, as anybody's runs are. What it
// says is then held against what was so.
//
// A machine, its engine, the exporter and uma-load are one process on a virtual clock, and meet on a network in memory.
//
// The truth of the statistics alone is tested in loadgen/campaign, where machines are made up and 200 campaigns cost
// nothing.
func TestTheAnalysisFindsTheTruthOfTheSimulator(t *testing.T) {
	t.Parallel()
	for i, one := range []struct {
		name string
		find func(t *testing.T, seeds []uint64)
	}{
		{"the figures of a run are those of the machine, on every page", figuresAgree},
		{"what came back from the drive, and whether it was right", tiers},
		{"a difference and its cause are found where runs begin alike", runsBeginAlike},
		{"in blocks with caches kept everything found is one of time", blocksWithCaches},
		{"in turns with caches kept nothing is found", turnsWithCaches},
		{"a machine that drifts makes no difference of equal arms", drifting},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			one.find(t, truthSeeds(t, i))
		})
	}
}

// TestTheAnalysisFindsTheTruthOnTheWallClock makes a run of each arm over sockets. What a computer that is busy with something
// else makes late has no exact figure here: memory has, and no latency of a client is shorter than that of the engine.
func TestTheAnalysisFindsTheTruthOnTheWallClock(t *testing.T) {
	t.Parallel()
	err := withSpecimen(t.Context(), 1, t.TempDir(), onLoopback(), func(ctx context.Context, s *specimen) error {
		for _, a := range []arm{nativeArm(), containerArm()} {
			a.dropsCaches = true
			of, run, err := s.measured(ctx, a, nil, grownLoad()...)
			if err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
			memory, phase, latency := run.Summary.Memory, run.Summary.Phases["measure"], run.Summary.Latency
			sum := 0.0
			for _, bytes := range memory.LedgerAt.Ready {
				sum += bytes
			}
			if sum != *memory.Pool || *run.Summary.KV.CapacityBytes != float64(of.kvBytes) {
				t.Errorf("%s: the ledger is of %.0f bytes, the pool of %.0f; KV cache of %.0f, by the machine %d", a.name, sum, *memory.Pool, *run.Summary.KV.CapacityBytes, of.kvBytes)
			}
			if ttft, engine := *latency.TTFT.Send.Mean, engineMean(phase, "vllm:time_to_first_token_seconds"); !(ttft >= engine) {
				t.Errorf("%s: the first token after %v s, by the engine %v", a.name, ttft, engine)
			}
			if e2e, engine := *latency.E2E.Send.Mean, engineMean(phase, "vllm:e2e_request_latency_seconds"); !(e2e >= engine) {
				t.Errorf("%s: requests of %v s, by the engine %v", a.name, e2e, engine)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
