package plan

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// campaign is a plan of so many models, arms and scenarios.
func campaign(models, arms, scenarios, iterations int, order Order) *Plan {
	p := &Plan{Iterations: iterations, Order: order, Seed: 1337}
	for i := range models {
		p.Models = append(p.Models, Model{Name: fmt.Sprintf("m%d", i+1)})
	}
	for i := range arms {
		p.Arms = append(p.Arms, Arm{Name: string(rune('a' + i))})
	}
	for i := range scenarios {
		p.Scenarios = append(p.Scenarios, Scenario{Name: fmt.Sprintf("s%d", i+1)})
	}
	return p
}

// armsOf are the arms of a cell in the order of its runs.
func armsOf(slots []Slot, model, scenario string) string {
	var order strings.Builder
	for _, s := range slots {
		if s.Model == model && s.Scenario == scenario {
			order.WriteString(s.Arm)
		}
	}
	return order.String()
}

func TestTheOrderOfArmsInACell(t *testing.T) {
	for _, c := range []struct {
		arms, iterations int
		order            Order
		want             string
	}{
		{2, 4, ABBA, "abbaabba"},
		{3, 2, ABBA, "abccba"},
		{2, 1, ABBA, "ab"},
		{1, 3, ABBA, "aaa"},
		{2, 3, Sequential, "aaabbb"},
	} {
		slots := campaign(2, c.arms, 2, c.iterations, c.order).Schedule()
		for _, cell := range [][2]string{{"m1", "s1"}, {"m1", "s2"}, {"m2", "s1"}} {
			if got := armsOf(slots, cell[0], cell[1]); got != c.want {
				t.Errorf("%s with %d arms, %v: %s, want %s", c.order, c.arms, cell, got, c.want)
			}
		}
	}
}

func TestATurnOfAnArmHasEveryScenario(t *testing.T) {
	var got []string
	for _, s := range campaign(1, 2, 2, 2, ABBA).Schedule() {
		got = append(got, s.Arm+s.Scenario)
	}
	if want := "as1 as2 bs1 bs2 bs1 bs2 as1 as2"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

func TestEveryScheduleIsCompleteAndTheSameEachTime(t *testing.T) {
	for _, order := range []Order{Sequential, ABBA, Random} {
		p := campaign(3, 4, 2, 5, order)
		slots := p.Schedule()
		if !reflect.DeepEqual(slots, p.Schedule()) {
			t.Errorf("%s: two schedules of one plan", order)
		}
		seen, rounds := map[string]bool{}, map[string]int{}
		for i, s := range slots {
			if s.Number != i+1 {
				t.Errorf("%s: slot %d stands at %d", order, s.Number, i+1)
			}
			seen[fmt.Sprint(s.Model, s.Arm, s.Scenario, s.Iteration)] = true
			if s.Pair() != "" {
				rounds[s.Pair()]++
			}
		}
		if len(slots) != 3*4*2*5 || len(seen) != len(slots) {
			t.Errorf("%s: %d slots, %d different", order, len(slots), len(seen))
		}
		for pair, n := range rounds {
			if n != 4 {
				t.Errorf("%s: the round %s has %d of 4 arms", order, pair, n)
			}
		}
		if paired := len(rounds) > 0; paired == (order == Sequential) {
			t.Errorf("%s: %d pairs", order, len(rounds))
		}
	}
}

func TestARandomOrderIsThatOfItsSeedAndModel(t *testing.T) {
	p := campaign(2, 4, 1, 6, Random)
	first := armsOf(p.Schedule(), "m1", "s1")
	if first == armsOf(p.Schedule(), "m2", "s1") {
		t.Errorf("two models have one order: %s", first)
	}
	more := campaign(3, 4, 1, 6, Random)
	more.Models = append([]Model{{Name: "m0"}}, more.Models...)
	if got := armsOf(more.Schedule(), "m1", "s1"); got != first {
		t.Errorf("another model changes the order from %s to %s", first, got)
	}
	p.Seed++
	if armsOf(p.Schedule(), "m1", "s1") == first {
		t.Errorf("two seeds have one order: %s", first)
	}
	// Over many rounds every arm is at every place about as often: 1,000 of 4,000, four sigma are 110.
	p = campaign(1, 4, 1, 4000, Random)
	counts := map[string]int{}
	for i, arm := range armsOf(p.Schedule(), "m1", "s1") {
		counts[fmt.Sprint(i%4, string(arm))]++
	}
	for place, n := range counts {
		if n < 890 || n > 1110 {
			t.Errorf("place and arm %s: %d of 4000", place, n)
		}
	}
}

func TestAFilterKeepsTheNumbersOfSlots(t *testing.T) {
	p := campaign(2, 2, 2, 3, ABBA)
	whole := p.Schedule()
	for text, want := range map[string]int{
		"model=m1":                   12,
		"model=m1,arm=b":             6,
		"model=m1, arm=a,arm=b":      12,
		"model=m2,arm=b,scenario=s2": 3,
	} {
		f, err := ParseOnly(text)
		if err != nil {
			t.Fatal(err)
		}
		part, err := p.Select(f)
		if err != nil || len(part) != want {
			t.Errorf("%s: %d slots, %v, want %d", text, len(part), err, want)
		}
		for _, s := range part {
			if whole[s.Number-1] != s {
				t.Errorf("%s: %v is %v in the whole", text, s, whole[s.Number-1])
			}
		}
	}
	if part, err := p.Select(Filter{Iterations: 1}); err != nil || len(part) != 8 {
		t.Errorf("one iteration: %d slots, %v, want 8", len(part), err)
	}
	if all, err := p.Select(Filter{}); err != nil || len(all) != len(whole) {
		t.Errorf("everything: %d slots, %v", len(all), err)
	}
}

func TestAFilterThatNamesNothingSaysSo(t *testing.T) {
	for text, want := range map[string]string{
		"m1":           `"m1" is none of model=NAME, arm=NAME, scenario=NAME`,
		"host=x":       `"host=x" is none of model=NAME, arm=NAME, scenario=NAME`,
		"model=":       `"model=" is none of model=NAME, arm=NAME, scenario=NAME`,
		"model=m1,":    `"" is none of model=NAME, arm=NAME, scenario=NAME`,
		"":             `"" is none of model=NAME, arm=NAME, scenario=NAME`,
		"scenario=ss1": `the plan has no scenario "ss1"; did you mean s1?`,
		"arm=nothing":  `the plan has no arm "nothing"; there are a, b`,
	} {
		f, err := ParseOnly(text)
		if err == nil {
			_, err = campaign(2, 2, 2, 3, ABBA).Select(f)
		}
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	_, err := campaign(1, 2, 1, 3, ABBA).Select(Filter{Iterations: 4})
	if want := "of 4 --iterations the plan has 3: with more, slots would change their numbers"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
