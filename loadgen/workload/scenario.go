package workload

import (
	"fmt"
	"iter"
	"strings"

	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/executor"
	"github.com/umascope/umascope/loadgen/prompt"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Scenarios that others go by; ScenarioStandard is that of a run which names none.
const (
	ScenarioStandard  = "standard"
	scenarioMultiTurn = "multi_turn"
)

// Scenario is what a run measures: which settings it takes, and what its requests say.
type Scenario struct {
	Name string
	help string // completes "name: …"
	// resolve fills the settings that belong to the scenario and refuses what contradicts it.
	resolve func(*Settings) error
	// write makes the script, once it is known what is served.
	write func(*Settings, Server) (Script, error)
}

// scenarios lists them all; each has a file of its own.
func scenarios() []Scenario {
	return []Scenario{standard(), multiTurn(), evictionReplay(), reuseVerify(), rehydrateReplay(), burst()}
}

// parseScenario accepts the scenarios that there are.
func parseScenario(s string) (Scenario, error) {
	for _, known := range scenarios() {
		if known.Name == s {
			return known, nil
		}
	}
	return Scenario{}, fmt.Errorf("%q is not in this version; it knows %s", s, strings.Join(scenarioNames(), ", "))
}

func scenarioNames() []string {
	var names []string
	for _, s := range scenarios() {
		names = append(names, s.Name)
	}
	return names
}

// resolveScenario lets the scenario have its say, last.
func (s *Settings) resolveScenario() error {
	if err := s.Scenario.resolve(s); err != nil {
		return err
	}
	switch {
	case s.sets == nil && s.fitPressure != 0:
		return fmt.Errorf("--fit-pressure: --scenario %s has no pressure", s.Scenario.Name)
	case s.sets == nil && s.force:
		return fmt.Errorf("--force: --scenario %s refuses nothing that it could force", s.Scenario.Name)
	case s.sets == nil && s.bursts.count == 0:
		return s.applySizes(nil)
	}
	return nil
}

// Script is what the requests of a run say.
type Script struct {
	// lanes is how many rows of requests there are. A row with slots of its own makes sure of an
	// order within it; a scenario whose requests do not depend on each other has one.
	lanes int
	// Slots is how many requests of a lane may be in flight; 0 is no limit.
	Slots int
	// asks yields what the requests of a phase say, from the given index on, in their order. It
	// may end before the phase does.
	asks func(phase string, first int) iter.Seq[ask]
	// most is how many requests there are at most; 0 is no limit.
	most int
	// Notes are what a reader of the figures must know of what was sent.
	Notes []string
	// longest is the most tokens of one text.
	longest int
	// phases are those of a scenario that has its own, but for the warm-up; nil stands for one phase
	// that is measured. Those in unmeasured enter no figure but their own.
	phases     []executor.Phase
	unmeasured []string
	// Forecast says what must happen, before it does.
	Forecast []string
	// Verify is what is compared when the run is over; nil for nothing.
	Verify *evidence.Verification
	Facts  rundir.Script
}

// measured is how many requests a phase of so many may have.
func (made Script) measured(planned int) int {
	if made.most > 0 && (planned == 0 || planned > made.most) {
		return made.most
	}
	return planned
}

// Held says whether phases wait for their samples: those whose counters are held against each other do. The phase of
// conversations is one alone.
func (made Script) Held() bool { return made.Verify != nil && !made.Verify.Turns }

// note adds to the notes.
func (made *Script) note(format string, values ...any) {
	made.Notes = append(made.Notes, fmt.Sprintf(format, values...))
}

// ask is what one request says.
type ask struct {
	lane int
	// draw makes the prompt, or the text of a turn.
	draw func() prompt.Prompt
	// salt keeps the request from what the server cached for others, where it knows how to.
	salt string
	// conversation and turn, from 1 on, are of a request that goes on with what was said before;
	// last says that nothing follows it. The number tells apart conversations of one name.
	conversation string
	number       int
	turn         int
	last         bool
}
