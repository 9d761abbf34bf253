package plan

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
)

// Slot is the position of one run in the order of a campaign. Repetitions of a run are in the same slot.
type Slot struct {
	// Number counts from 1 over the whole plan: it is the same in every filtered part.
	Number   int    `json:"slot"`
	Model    string `json:"model"`
	Arm      string `json:"arm"`
	Scenario string `json:"scenario"`
	// Iteration counts the runs of the same model, arm and scenario from 1.
	Iteration int `json:"iteration"`
	// Round counts, from 1, how often every arm has had its turn. The runs of a model and scenario in one round were
	// made under similar conditions and form a pair. It is 0 if the order has no rounds.
	Round int `json:"round,omitempty"`
	// Repeats is the round that the slot repeats because of an outlier; 0 for slots of the plan.
	Repeats int `json:"repeats_round,omitempty"`
}

// Pair identifies the arms' runs that were made under similar conditions; empty if the order has no rounds.
func (s Slot) Pair() string {
	if s.Round == 0 {
		return ""
	}
	return fmt.Sprintf("%s/%s/%d", s.Model, s.Scenario, s.Round)
}

// SameTurn reports whether two slots belong to one turn of an arm: its runs of every scenario, which may share one
// start of the engine.
func (s Slot) SameTurn(other Slot) bool {
	return s.Model == other.Model && s.Arm == other.Arm && s.Iteration == other.Iteration
}

// String names the slot for people.
func (s Slot) String() string {
	return fmt.Sprintf("slot %d: %s, %s, %s, iteration %d", s.Number, s.Model, s.Arm, s.Scenario, s.Iteration)
}

// Schedule returns every run of the plan in order. It depends only on the plan, so that a campaign continues in the
// same order after a crash. Models follow each other, because they are not compared. Within a model the arms take
// turns, and a turn has one run of every scenario.
func (p *Plan) Schedule() []Slot {
	var slots []Slot
	for _, m := range p.Models {
		for _, turn := range p.turns(m.Name) {
			for _, s := range p.Scenarios {
				turn.Number, turn.Model, turn.Scenario = len(slots)+1, m.Name, s.Name
				slots = append(slots, turn)
			}
		}
	}
	return slots
}

// Round returns the slots of one round of a model and scenario, even beyond the rounds of the plan; none if its order
// has no rounds. Their numbers begin with first.
func (p *Plan) Round(model, scenario string, round, first int) []Slot {
	longer := *p
	longer.Iterations = max(p.Iterations, round)
	var slots []Slot
	for _, turn := range longer.turns(model) {
		if turn.Round == round {
			turn.Number, turn.Model, turn.Scenario = first+len(slots), model, scenario
			slots = append(slots, turn)
		}
	}
	return slots
}

// turns returns the turns of the arms with a model, as slots without a scenario.
func (p *Plan) turns(model string) []Slot {
	if p.Order == Sequential {
		return p.blocks()
	}
	arms := make([]string, len(p.Arms))
	for i, a := range p.Arms {
		arms[i] = a.Name
	}
	shuffled := p.shuffler(model)
	var turns []Slot
	for round := 1; round <= p.Iterations; round++ {
		order := slices.Clone(arms)
		switch {
		case p.Order == Random:
			shuffled.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		case round%2 == 0:
			slices.Reverse(order)
		}
		for _, arm := range order {
			turns = append(turns, Slot{Arm: arm, Iteration: round, Round: round})
		}
	}
	return turns
}

// blocks returns all turns of an arm, then all of the next.
func (p *Plan) blocks() []Slot {
	var turns []Slot
	for _, a := range p.Arms {
		for i := 1; i <= p.Iterations; i++ {
			turns = append(turns, Slot{Arm: a.Name, Iteration: i})
		}
	}
	return turns
}

// shuffler includes the model's name in its seed, so that adding or removing a model does not change the order of
// another.
func (p *Plan) shuffler(model string) *rand.Rand {
	name := fnv.New64a()
	_, _ = name.Write([]byte(model)) // a hash does not fail
	return rand.New(rand.NewPCG(p.Seed, name.Sum64()))
}

// Filter selects a part of a plan. An empty field selects everything.
type Filter struct {
	Models, Arms, Scenarios []string
	// Iterations is how many iterations of each model, arm and scenario are selected; 0 for all.
	Iterations int
}

// ParseOnly parses the value of --only: model=NAME, arm=NAME and scenario=NAME, separated by commas, each as often as
// needed.
func ParseOnly(s string) (Filter, error) {
	var f Filter
	into := map[string]*[]string{"model": &f.Models, "arm": &f.Arms, "scenario": &f.Scenarios}
	for _, pair := range strings.Split(s, ",") {
		kind, name, _ := strings.Cut(strings.TrimSpace(pair), "=")
		list := into[kind]
		if list == nil || name == "" {
			return Filter{}, fmt.Errorf("%q is none of model=NAME, arm=NAME, scenario=NAME", pair)
		}
		*list = append(*list, name)
	}
	return f, nil
}

// Select returns the slots of the schedule that the filter selects. Slots keep their numbers.
func (p *Plan) Select(f Filter) ([]Slot, error) {
	if err := p.has(f); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(p.Schedule(), func(s Slot) bool { return !f.Takes(s) }), nil
}

// Takes reports whether the filter selects a slot.
func (f Filter) Takes(s Slot) bool {
	among := func(names []string, name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	return among(f.Models, s.Model) && among(f.Arms, s.Arm) && among(f.Scenarios, s.Scenario) &&
		(f.Iterations == 0 || s.Iteration <= f.Iterations)
}

// has returns an error if a name in the filter does not exist.
func (p *Plan) has(f Filter) error {
	for _, named := range []struct {
		kind        string
		names, have []string
	}{{"model", f.Models, p.modelNames()}, {"arm", f.Arms, p.armNames()}, {"scenario", f.Scenarios, p.scenarioNames()}} {
		for _, name := range named.names {
			if !slices.Contains(named.have, name) {
				return fmt.Errorf("the plan has no %s %q%s", named.kind, name, orNearest(name, named.have))
			}
		}
	}
	if f.Iterations > p.Iterations {
		return fmt.Errorf("of %d --iterations the plan has %d: with more, slots would change their numbers", f.Iterations, p.Iterations)
	}
	return nil
}

func (p *Plan) modelNames() []string {
	return namesOf(p.Models, func(m Model) string { return m.Name })
}

func (p *Plan) armNames() []string { return namesOf(p.Arms, func(a Arm) string { return a.Name }) }

func (p *Plan) scenarioNames() []string {
	return namesOf(p.Scenarios, func(s Scenario) string { return s.Name })
}

func namesOf[T any](list []T, name func(T) string) []string {
	names := make([]string, len(list))
	for i, one := range list {
		names[i] = name(one)
	}
	return names
}
