package loadgen

import (
	"fmt"
	"iter"

	"github.com/umascope/umascope/loadgen/prompt"
)

// scenario is what a run measures: which settings it takes, and what its requests say.
type scenario struct {
	name string
	help string // completes "name: …"
	// resolve fills the settings that belong to the scenario and refuses what contradicts it.
	resolve func(*settings) error
	// write makes the script, once it is known what is served.
	write func(*settings, served) (script, error)
}

// scenarios lists them all; each has a file of its own.
func scenarios() []scenario {
	return []scenario{standard(), multiTurn(), evictionReplay(), reuseVerify(), rehydrateReplay(), burst()}
}

// script is what the requests of a run say.
type script struct {
	// lanes is how many rows of requests there are. A row with slots of its own makes sure of an
	// order within it; a scenario whose requests do not depend on each other has one.
	lanes int
	// slots is how many requests of a lane may be in flight; 0 is no limit.
	slots int
	// asks yields what the requests of a phase say, from the given index on, in their order. It
	// may end before the phase does.
	asks func(phase string, first int) iter.Seq[ask]
	// most is how many requests there are at most; 0 is no limit.
	most int
	// notes are what a reader of the figures must know of what was sent.
	notes []string
	// longest is the most tokens of one text.
	longest int
	// distinct says that no two prompts begin alike, so that no answer should come from a cache.
	distinct bool
	// phases are those of a scenario that has its own, but for the warm-up; nil stands for one phase
	// that is measured. Those in unmeasured enter no figure but their own.
	phases     []phase
	unmeasured []string
	// forecast says what must happen, before it does.
	forecast []string
	// verify is what the run is evidence of; nil for none.
	verify *verification
	facts  scriptFacts
}

// measured is how many requests a phase of so many may have.
func (made script) measured(planned int) int {
	if made.most > 0 && (planned == 0 || planned > made.most) {
		return made.most
	}
	return planned
}

// note adds to the notes.
func (made *script) note(format string, values ...any) {
	made.notes = append(made.notes, fmt.Sprintf(format, values...))
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

// scriptFacts are what the manifest and the workload's hash say of a script.
type scriptFacts struct {
	Scenario           string           `json:"scenario"`
	InputTokens        []prompt.Lengths `json:"input_tokens,omitempty"`
	SharedPrefixTokens int              `json:"shared_prefix_tokens,omitempty"`
	File               *prompt.File     `json:"file,omitempty"`
	Clipped            int              `json:"clipped,omitempty"`
	Clients            int              `json:"clients,omitempty"`
	Active             int              `json:"active_conversations,omitempty"`
	MaxTurns           int              `json:"max_turns,omitempty"`
	Sampling           string           `json:"conversation_sampling,omitempty"`
	Sets               []groupFacts     `json:"sets,omitempty"`
	Bursts             *burstFacts      `json:"bursts,omitempty"`
}
