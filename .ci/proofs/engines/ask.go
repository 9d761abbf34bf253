package main

import "slices"

// ask is one call of uma-load.
type ask struct {
	name     string
	verb     string
	scenario string
	flags    []string
}

// asks lists the calls for every server: the smallest load that shows a wrong count. Each has prompts of its own: the
// seed is the number in the list.
func asks(s server) []ask {
	size := []string{"--input-tokens", "200:400", "--output-tokens", "16", "--requests", "8", "--concurrency", "2", "--warmup", "2"}
	ofScenario := []string{"--output-tokens", "12", "--warmup", "2"}
	all := []ask{
		{name: "chat, streamed", verb: "run", flags: size},
		{name: "chat, whole", verb: "run", flags: append([]string{"--no-stream"}, size...)},
		{name: "completions, streamed", verb: "run", flags: append([]string{"--endpoint", "completions"}, size...)},
		{name: "completions, whole", verb: "run", flags: append([]string{"--endpoint", "completions", "--no-stream"}, size...)},
		// A validity limit that every load keeps, so that results do not depend on this machine.
		{name: "sweep --search slo", verb: "sweep", flags: []string{
			"--over", "concurrency=1..4", "--search", "slo", "--slo", "ttft=5m",
			"--input-tokens", "100", "--output-tokens", "8", "--requests", "6", "--warmup", "1"}},
		{scenario: "multi_turn", flags: []string{"--clients", "2", "--active-conversations", "2", "--max-turns", "3", "--requests", "6", "--input-tokens", "150"}},
		{scenario: "reuse_verify", flags: []string{"--set", "requests=3", "--set", "tokens=800", "--set", "repeats=2", "--set", "baseline.requests=2"}},
		// B is larger than the KV cache of s.tokens, so that A is evicted.
		{scenario: "eviction_replay", flags: []string{
			"--set", "a.requests=4", "--set", "a.tokens=800", "--set", "b.requests=16", "--set", "b.tokens=1000", "--set", "b.concurrency=2", "--set", "baseline.requests=2"}},
		{scenario: "rehydrate_replay", flags: []string{
			"--set", "populate.requests=3", "--set", "populate.tokens=1500", "--set", "thrash.requests=16", "--set", "thrash.tokens=1000", "--set", "thrash.concurrency=2", "--set", "baseline.requests=2"}},
		{scenario: "burst", flags: []string{"--set", "bursts=2", "--set", "requests=4", "--set", "every=2s", "--input-tokens", "150"}},
	}
	for i, a := range all {
		if a.scenario != "" {
			all[i].name, all[i].verb = a.scenario, "run"
			all[i].flags = slices.Concat([]string{"--scenario", a.scenario}, ofScenario, a.flags)
		}
		if s.exact {
			all[i].flags = append(all[i].flags, "--ignore-eos")
		}
	}
	return all
}
