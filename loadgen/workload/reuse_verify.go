package workload

import (
	"errors"
	"fmt"

	"github.com/umascope/umascope/cmd/terminal"
)

// reuseVerify sends the same prompts several times in a row with no other requests between: a cache should answer all
// but the first pass, with identical output.
func reuseVerify() Scenario {
	return Scenario{
		Name: "reuse_verify", help: "the same prompts several times, one in flight",
		resolve: resolveReuseVerify, write: writeSets,
	}
}

func resolveReuseVerify(s *Settings) error {
	if s.concurrencyGiven && s.Concurrency != 1 {
		return errors.New("--concurrency: --scenario reuse_verify has one request in flight, so that nothing but the cache is different from pass to pass")
	}
	repeats := 3
	c := sets{first: promptGroup{name: "reuse", requests: 8, concurrency: 1}, firstPhase: "reuse_1"}
	err := s.resolveSets(c, func(c *sets) []knob {
		return append([]knob{
			knobOf("requests", &c.first.requests, terminal.Between(1, mostSetRequests)),
			knobOf("tokens", &c.first.lengths, parseLengths),
			knobOf("repeats", &repeats, terminal.AtMost(mostPasses)),
		}, c.knobs()...)
	})
	if err == nil && repeats < 2 {
		err = fmt.Errorf("--set: repeats: %d is less than 2: there is nothing to reuse", repeats)
	}
	if err == nil {
		s.sets.passes, s.sets.replayPhase, s.sets.firstNumber = repeats-1, "reuse", 2
	}
	return err
}
