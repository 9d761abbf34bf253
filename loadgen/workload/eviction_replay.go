package workload

import "slices"

// evictionReplay sends a set of prompts, evicts it from the upper tiers with another set, and sends it again: its cache
// hits then come from the lower tiers.
func evictionReplay() Scenario {
	return Scenario{
		Name: "eviction_replay", help: "prompts A, others B that push them out of the KV cache, then A again",
		resolve: resolveEvictionReplay, write: writeSets,
	}
}

func resolveEvictionReplay(s *Settings) error {
	c := sets{
		first:      promptGroup{name: "A", requests: 32, concurrency: 1},
		pressure:   promptGroup{name: "B", requests: 64, concurrency: s.Concurrency},
		firstPhase: "warm_A", pressurePhase: "pressure_B", replayPhase: "replay_A", passes: 1,
	}
	return s.resolveSets(c, func(c *sets) []knob {
		return slices.Concat(c.first.knobs("a."), c.pressure.knobs("b."), c.knobs(), c.replayKnobs())
	})
}
