package workload

import (
	"slices"

	"github.com/umascope/umascope/loadgen/traffic"
)

// rehydrateReplay fills the tiers with a few long prompts, thrashes the upper tiers with many others, and sends the
// long ones again: it measures the cost of a session that returns after a while.
func rehydrateReplay() Scenario {
	return Scenario{
		Name: "rehydrate_replay", help: "long prompts, many others that push them out of the KV cache, then the long ones again",
		resolve: resolveRehydrateReplay, write: writeSets,
	}
}

func resolveRehydrateReplay(s *Settings) error {
	c := sets{
		first:      promptGroup{name: "populate", requests: 16, concurrency: 1, lengths: &traffic.Lengths{Min: 4096, Max: 4096}},
		pressure:   promptGroup{name: "thrash", requests: 96, concurrency: s.Concurrency},
		firstPhase: "populate", pressurePhase: "thrash", replayPhase: "replay", passes: 1,
	}
	if s.inputTokens != nil {
		c.first.lengths = s.inputTokens
	}
	return s.resolveSets(c, func(c *sets) []knob {
		return slices.Concat(c.first.knobs("populate."), c.pressure.knobs("thrash."), c.knobs(), c.replayKnobs())
	})
}
