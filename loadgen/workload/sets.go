package workload

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/traffic"
)

// Phases of the drift baseline: the same prompts twice, in separate caches.
const (
	PhaseBaseline1 = "baseline_1"
	PhaseBaseline2 = "baseline_2"
)

// promptGroup is a numbered set of prompts; two phases that send it send the same texts.
type promptGroup struct {
	name        string
	requests    int
	concurrency int
	lengths     *traffic.Lengths // the run's lengths if nil
	drawn       []traffic.Lengths
}

// sets are the sizes of a scenario that sends sets of prompts, some of them again.
type sets struct {
	baseline promptGroup
	// first comes again after pressure, which may have no requests. Each time other prompts of the same sizes press: a set
	// that a tier holds would press on the tiers above it only.
	first, pressure                        promptGroup
	firstPhase, pressurePhase, replayPhase string
	// passes is how often first comes again. The phases are numbered from firstNumber on, or not at all if there is one
	// only and firstNumber is 0.
	passes, firstNumber int
	// replaySlots is how many requests of a replay are in flight; 0 means as many as in the first pass.
	replaySlots int
	room        evidence.Room
	// blockBytes is the size of a block of KVBM; 0 means that it has to be read from the server.
	blockBytes float64
	// enduranceBytes are the bytes that may be written to the drive by its data sheet.
	enduranceBytes float64
}

// knobs returns the sizes that every such scenario has.
func (c *sets) knobs() []knob {
	return []knob{
		knobOf("baseline.requests", &c.baseline.requests, terminal.Between(0, mostSetRequests)),
		knobOf("device.tokens", &c.room.DeviceTokens, terminal.Positive),
		knobOf("host.bytes", &c.room.HostBytes, terminal.Positive),
		knobOf("disk.bytes", &c.room.DiskBytes, terminal.Positive),
		knobOf("disk.filter", &c.room.Off.DiskFilter, terminal.OneOf(evidence.FilterOn, evidence.FilterOff)),
		knobOf("token.bytes", &c.room.TokenBytes, terminal.Positive),
		knobOf("block.bytes", &c.blockBytes, terminal.Positive),
		knobOf("drive.endurance.bytes", &c.enduranceBytes, terminal.Positive),
	}
}

// replayKnobs returns the sizes of scenarios in which a set comes again after pressure. The concurrency of the replay
// does not change what the tiers held before it.
func (c *sets) replayKnobs() []knob {
	return []knob{
		knobOf("replay.concurrency", &c.replaySlots, terminal.AtMost(traffic.MaxSlots)),
		knobOf("repeats", &c.passes, terminal.AtMost(mostPasses)),
	}
}

// knobs returns the sizes of a set.
func (g *promptGroup) knobs(prefix string) []knob {
	return []knob{
		knobOf(prefix+"requests", &g.requests, terminal.Between(1, mostSetRequests)),
		knobOf(prefix+"concurrency", &g.concurrency, terminal.AtMost(traffic.MaxSlots)),
		knobOf(prefix+"tokens", &g.lengths, parseLengths),
	}
}

// resolveEvictionReplay: a set of prompts, another one that evicts it from the upper tiers, then the first again. Its
// cache hits then come from the lower tiers.
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

// resolveRehydrateReplay: a few long prompts fill the tiers, many others thrash the upper tiers, and the long ones come
// again. It measures the cost of a session that returns after a while.
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

// resolveReuseVerify: the same prompts several times in a row with no other requests between. A cache should answer all
// but the first pass, with identical output.
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

// defaultBaseline is how many prompts show the engine's own drift: if none of them diverges, half of the replay's must
// before the difference is significant.
const defaultBaseline = 8

// resolveSets applies the sizes of --set to such a scenario and refuses the flags that it does not use.
func (s *Settings) resolveSets(c sets, knobs func(*sets) []knob) error {
	if err := refuseConversations(s); err != nil {
		return err
	}
	for _, other := range []struct {
		flag  string
		given bool
	}{
		{"--arrival", s.Arrival != traffic.Closed}, {"--stages", len(s.stages) > 0}, {"--duration", s.duration != 0},
		{"--requests", s.requestsGiven}, {"--shared-prefix-tokens", s.sharedTokens > 0},
	} {
		if other.given {
			return fmt.Errorf("%s: --scenario %s has sets of prompts, one slot after the other; --set says their sizes (%s)", other.flag, s.Scenario.Name, keysOf(knobs(&c)))
		}
	}
	if s.file != nil {
		return fmt.Errorf("--prompts: --scenario %s makes its own sets of prompts, which have nothing in common", s.Scenario.Name)
	}
	c.baseline.requests = defaultBaseline
	if err := s.applySizes(knobs(&c)); err != nil {
		return err
	}
	c.baseline.name, c.baseline.concurrency, c.baseline.lengths = "baseline", 1, c.first.lengths
	s.sets, s.KeepOutputs = &c, true
	s.Concurrency = max(c.first.concurrency, c.pressure.concurrency, c.replaySlots)
	return nil
}

// refuseConversations refuses the flags of multi_turn.
func refuseConversations(s *Settings) error {
	for flag, given := range map[string]bool{"--clients": s.clients != 0, "--active-conversations": s.active != 0, "--max-turns": s.maxTurns != 0, "--sampling": s.samplingGiven} {
		if given {
			return fmt.Errorf("%s: belongs to --scenario %s", flag, scenarioMultiTurn)
		}
	}
	return nil
}

// step is one phase with the set that it sends.
type step struct {
	phase string
	group *promptGroup
	salt  string // separates what it sends from the cache of others
	slots int
	again bool // what it sends was sent before
}

// pressures returns the set that comes before each replay, by its number.
func (c *sets) pressures() []promptGroup {
	if c.pressure.requests == 0 {
		return nil
	}
	groups := make([]promptGroup, c.passes)
	for i := range groups {
		groups[i] = c.pressure
		if i > 0 {
			groups[i].name = fmt.Sprintf("%s_%d", c.pressure.name, i+1)
		}
	}
	return groups
}

// numbered returns the name of a phase that comes once for each replay.
func (c *sets) numbered(phase string, i int) string {
	if c.passes == 1 && c.firstNumber == 0 {
		return phase
	}
	return fmt.Sprintf("%s_%d", phase, max(c.firstNumber, 1)+i)
}

// steps returns the phases in order.
func (c *sets) steps() []step {
	var all []step
	if c.baseline.requests > 0 {
		for _, phase := range []string{PhaseBaseline1, PhaseBaseline2} {
			all = append(all, step{phase: phase, group: &c.baseline, salt: phase, slots: c.baseline.concurrency, again: phase == PhaseBaseline2})
		}
	}
	all = append(all, step{phase: c.firstPhase, group: &c.first, slots: c.first.concurrency})
	pressures := c.pressures()
	for i, phase := range c.replays() {
		if len(pressures) > 0 {
			all = append(all, step{phase: c.numbered(c.pressurePhase, i), group: &pressures[i], slots: c.pressure.concurrency})
		}
		all = append(all, step{phase: phase, group: &c.first, slots: c.replayConcurrency(), again: true})
	}
	return all
}

func (c *sets) replayConcurrency() int { return cmp.Or(c.replaySlots, c.first.concurrency) }

// replays returns the names of the phases in which the first set comes again.
func (c *sets) replays() []string {
	var names []string
	for i := range c.passes {
		names = append(names, c.numbered(c.replayPhase, i))
	}
	return names
}

// writeSets makes the script of a scenario of sets.
func writeSets(s *Settings, f Server) (Script, error) {
	c := *s.sets
	c.room = c.room.Filled(f.Tiers)
	for _, g := range []*promptGroup{&c.baseline, &c.first, &c.pressure} {
		var err error
		if g.drawn, err = s.groupLengths(f, g); err != nil {
			return Script{}, err
		}
	}
	set := s.promptSet(f.Scale)
	if err := c.fit(s, set); err != nil {
		return Script{}, err
	}
	made := Script{workers: 1, Slots: 1, Facts: rundir.Script{Scenario: s.Scenario.Name}, unmeasured: []string{PhaseBaseline1, PhaseBaseline2}}
	groups := map[string]step{}
	for _, at := range c.steps() {
		groups[at.phase] = at
		made.phases = append(made.phases, Phase{
			Name: at.phase, Process: traffic.ArrivalProcess{Arrival: traffic.Closed},
			Limit: traffic.Limit{Requests: at.group.requests}, Slots: at.slots,
		})
		made.longest = max(made.longest, longestOf(at.group.drawn))
	}
	made.Facts.Sets = factsOf(c.steps())
	made.contents = func(phase string, first int) iter.Seq[content] {
		return s.groupAsks(set, groups[phase], c.first.drawn, phase, first)
	}
	return made, c.forecast(s, set, &made)
}

// groupLengths returns the lengths of a set, clipped to the limit.
func (s *Settings) groupLengths(f Server, g *promptGroup) ([]traffic.Lengths, error) {
	asked := *s
	if g.lengths != nil {
		asked.inputTokens = g.lengths
	}
	return f.fit(&asked, lengthsOf(&asked), s.outputTokens.Max)
}

// groupAsks yields the requests of a set. The warm-up, which has no set, draws like the first one.
func (s *Settings) groupAsks(set traffic.PromptSet, at step, warmup []traffic.Lengths, phase string, first int) iter.Seq[content] {
	name, lengths := phase, warmup
	if at.group != nil {
		name, lengths = at.group.name, at.group.drawn
	}
	set.Lengths = lengths
	return func(yield func(content) bool) {
		for index := first; yield(content{salt: at.salt, draw: func() traffic.Prompt { return at.prompt(s.groupPrompt(set, name, index)) }}); index++ {
		}
	}
}

// prompt returns the group's prompt as the phase sends it.
func (at step) prompt(p traffic.Prompt) traffic.Prompt {
	if at.again {
		p.RepeatedTokens = p.Tokens
	}
	return p
}

// groupPrompt returns a prompt as a function of set and number, with the length of its answer: a repeated prompt asks
// for the same length.
func (s *Settings) groupPrompt(set traffic.PromptSet, name string, index int) traffic.Prompt {
	p := set.Prompt(name, index)
	p.OutputTokens = s.outputTokens.Draw(traffic.NewRandom(s.Seed, name+outputStream, index))
	return p
}

func factsOf(steps []step) []rundir.PromptSet {
	var facts []rundir.PromptSet
	for _, at := range steps {
		i := slices.IndexFunc(facts, func(f rundir.PromptSet) bool { return f.Prompts == at.group.name })
		if i >= 0 {
			facts[i].Phases = append(facts[i].Phases, at.phase)
			if at.slots != facts[i].Concurrency {
				facts[i].ReplayConcurrency = at.slots
			}
			continue
		}
		facts = append(facts, rundir.PromptSet{Phases: []string{at.phase}, Prompts: at.group.name, Requests: at.group.requests, Concurrency: at.group.concurrency, InputTokens: at.group.drawn})
	}
	return facts
}

// load returns how many tokens a set takes in the cache.
func (s *Settings) load(set traffic.PromptSet, g promptGroup) evidence.Load {
	set.Lengths = g.drawn
	load := evidence.Load{Name: g.name, Requests: g.requests}
	for i := range g.requests {
		p := s.groupPrompt(set, g.name, i)
		load.Tokens += float64(p.Tokens + p.OutputTokens)
	}
	return load
}

// fit sizes the pressure for --fit-pressure by the size of the tiers that it must fill.
func (c *sets) fit(s *Settings, set traffic.PromptSet) error {
	if s.fitPressure == 0 {
		return nil
	}
	if c.pressure.requests == 0 {
		return fmt.Errorf("--fit-pressure: --scenario %s has no pressure", s.Scenario.Name)
	}
	upper := c.room.Upper()
	if upper == 0 {
		return errors.New("--fit-pressure: the size of the device's KV cache is not known: --scrape the engine's page, or --set device.tokens=N")
	}
	probe := c.pressure
	probe.requests = fitSample
	mean := s.load(set, probe).Tokens / fitSample
	n := int(s.fitPressure*upper/mean) + 1
	if n > mostSetRequests {
		return fmt.Errorf("--fit-pressure: %d prompts of %.0f tokens are too many; make them longer", n, mean)
	}
	c.pressure.requests = n
	return nil
}

// fitSample is how many prompts the mean length is computed from.
const fitSample = 64

// forecast adds the expected cache behavior to the script, and refuses a run that cannot show any.
func (c *sets) forecast(s *Settings, set traffic.PromptSet, made *Script) error {
	made.Verify = &evidence.Verification{
		Baseline: [2]string{PhaseBaseline1, PhaseBaseline2},
		First:    c.firstPhase, Again: c.replays(), Alone: c.first.concurrency == 1 && c.replayConcurrency() == 1, Pressed: true, Given: c.room.Off,
		BlockBytes: cmp.Or(c.blockBytes, c.room.BlockBytes), TokenBytes: c.room.TokenBytes, EnduranceBytes: c.enduranceBytes,
	}
	for _, p := range made.phases {
		if !slices.Contains(made.unmeasured, p.Name) {
			made.Verify.All = append(made.Verify.All, p.Name)
		}
	}
	if c.pressure.requests == 0 {
		made.Verify.Pressed = false
		return nil
	}
	f := evidence.Predict(s.load(set, c.first), s.load(set, c.pressure), c.passes, c.room)
	if c.room.Filtered() && len(made.Verify.Again) > 1 {
		// The first replay finds nothing: it is what the filter counts, and writes the set to the disk.
		made.Verify.Again = made.Verify.Again[1:]
	}
	made.Verify.Pressed, made.Forecast = f.Pressed, f.Lines
	for _, warning := range f.Warnings {
		made.note("%s", warning)
	}
	for _, impossible := range f.Impossible {
		if !s.force {
			return fmt.Errorf("--set: %s; --fit-pressure 1.5 sizes the sets, --force runs it as it is", impossible)
		}
		made.note("%s", impossible)
	}
	return nil
}
