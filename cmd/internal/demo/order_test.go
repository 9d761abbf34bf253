package demo

import (
	"slices"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
)

// turns are those of two cycles.
func turns() []turn {
	var all []turn
	for number := range 2 * cycle {
		all = append(all, turnOf(number))
	}
	return all
}

func TestArmsOfAScenarioAreInAnOrderThatTimeCannotExplain(t *testing.T) {
	n, c := metric.ArmNative, metric.ArmContainer
	for scenario, block := range map[string][]string{scenarioStandard: {n, c, c, n}, scenarioEviction: {c, n, n, c}} {
		var got []string
		for _, one := range turns() {
			if one.scenario == scenario {
				got = append(got, one.arm.name)
			}
		}
		if want := slices.Concat(block, block); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", scenario, got, want)
		}
	}
}

func TestFiveTurnsHaveEveryArmAndEveryScenario(t *testing.T) {
	all := turns()
	for first := range len(all) - 4 {
		seen := map[string]bool{}
		for _, one := range all[first : first+5] {
			seen[one.arm.name], seen[one.scenario] = true, true
		}
		if len(seen) != 4 {
			t.Errorf("from turn %d on: %v", first, seen)
		}
	}
}

func TestArmsAreComparedWhenEachHasAsManyRunsOfAScenario(t *testing.T) {
	compared := 0
	balance := map[string]int{}
	for _, one := range turns() {
		if one.arm.name == metric.ArmNative {
			balance[one.scenario]++
		} else {
			balance[one.scenario]--
		}
		if !one.compares() {
			continue
		}
		compared++
		for scenario, more := range balance {
			if more != 0 {
				t.Errorf("after turn %d: %d more native runs of %s", one.number, more, scenario)
			}
		}
	}
	if compared != 4 {
		t.Errorf("compared %d times in two cycles, want 4", compared)
	}
}
