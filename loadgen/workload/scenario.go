package workload

import (
	"fmt"
	"iter"
	"strings"

	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/traffic"
)

// Scenarios that other packages refer to; ScenarioStandard is the default.
const (
	ScenarioStandard  = "standard"
	scenarioMultiTurn = "multi_turn"
)

// Scenario is what a run measures: the settings it takes and the content of its requests.
type Scenario struct {
	Name string
	help string // completes "name: …"
	// resolve fills the settings that belong to the scenario and refuses contradictions.
	resolve func(*Settings) error
	// write makes the script from the server's properties.
	write func(*Settings, Server) (Script, error)
}

// scenarios returns all scenarios.
func scenarios() []Scenario {
	return []Scenario{
		{ScenarioStandard, "independent requests", resolveStandard, writeStandard},
		{scenarioMultiTurn, "conversations", resolveMultiTurn, writeMultiTurn},
		{"eviction_replay", "prompts again after eviction", resolveEvictionReplay, writeSets},
		{"reuse_verify", "prompts again", resolveReuseVerify, writeSets},
		{"rehydrate_replay", "long prompts after eviction", resolveRehydrateReplay, writeSets},
		{"burst", "at the same moment", resolveBurst, writeBurst},
		{ScenarioArena, "batches at a depth", resolveArena, writeArena},
	}
}

// parseScenario returns the scenario with the given name.
func parseScenario(s string) (Scenario, error) {
	for _, known := range scenarios() {
		if known.Name == s {
			return known, nil
		}
	}
	return Scenario{}, fmt.Errorf("unknown %q; choose from %s", s, strings.Join(scenarioNames(), ", "))
}

func scenarioNames() []string {
	var names []string
	for _, s := range scenarios() {
		names = append(names, s.Name)
	}
	return names
}

// resolveScenario applies the scenario to the settings, last.
func (s *Settings) resolveScenario() error {
	if err := s.Scenario.resolve(s); err != nil {
		return err
	}
	switch {
	case s.sets == nil && s.fitPressure != 0:
		return fmt.Errorf("--fit-pressure: --scenario %s has no pressure", s.Scenario.Name)
	case s.sets == nil && s.force:
		return fmt.Errorf("--force: --scenario %s refuses nothing that it could force", s.Scenario.Name)
	case !s.hasPhases():
		return s.applySizes(nil)
	}
	return nil
}

// hasPhases reports whether the scenario has phases of its own, with their own number of requests in flight.
func (s *Settings) hasPhases() bool { return s.sets != nil || s.bursts.count > 0 || s.arena != nil }

// Script is the content of a run's requests.
type Script struct {
	// workers is how many workers send requests, each in its own order and with its own slots; a scenario of independent
	// requests has one.
	workers int
	// Slots is how many requests of a worker may be in flight; 0 is no limit.
	Slots int
	// contents yields the contents of a phase's requests in order, from the given index on. It may end before the phase
	// does.
	contents func(phase string, first int) iter.Seq[content]
	// most is the most requests that there are; 0 is no limit.
	most int
	// Notes are facts about the requests that a reader of the figures needs.
	Notes []string
	// longest is the most tokens of one text.
	longest int
	// phases are the scenario's own phases, without the warm-up; nil means one measured phase. Phases in unmeasured
	// enter only their own figures.
	phases     []Phase
	unmeasured []string
	// independent is true if a phase whose requests all failed leaves the phases after it a meaning.
	independent bool
	// DepthTokens is the context that the prefix cache must hold for each measured request; 0 for none.
	DepthTokens int
	// Forecast describes the expected cache behavior before the run.
	Forecast []string
	// Verify is the comparison after the run; nil for none.
	Verify *evidence.Verification
	Facts  rundir.Script
}

// measured returns how many requests a phase with this plan may have.
func (made Script) measured(planned int) int {
	if made.most > 0 && (planned == 0 || planned > made.most) {
		return made.most
	}
	return planned
}

// Held reports whether phases wait for their samples: phases whose counters are compared do. The phase of conversations
// is a single one.
func (made Script) Held() bool { return made.Verify != nil && !made.Verify.Turns }

// Independent reports whether phases go on after one whose requests all failed.
func (made Script) Independent() bool { return made.independent }

// note adds to the notes.
func (made *Script) note(format string, values ...any) {
	made.Notes = append(made.Notes, fmt.Sprintf(format, values...))
}

// content is the content of one request.
type content struct {
	worker int
	// draw makes the prompt, or the text of a turn.
	draw func() traffic.Prompt
	// salt separates the request from what the server cached for others, if the server supports it.
	salt string
	// conversation and turn, from 1 on, are set if the request continues a conversation; last is true for its last
	// turn. The number separates conversations of one name.
	conversation string
	number       int
	turn         int
	last         bool
}
