package compare_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
)

// option is an option of what ran, as it is shown or by its hash.
func option(item, value, hash string) compare.Fact {
	return compare.Fact{Item: item, Value: value, Hash: hash, Ran: true, Identified: true}
}

// recordedRuns are quiet runs that record what ran: facts by arm and number of the run.
func recordedRuns(facts func(arm string, i int) []compare.Fact) experiment {
	e := quiet()
	for i := range e.runs {
		r := &e.runs[i]
		r.HashKey = "k1"
		r.Facts = append([]compare.Fact{{Item: compare.FactRan, Value: "recorded", Ran: true}}, facts(r.Labels["arm"], i)...)
	}
	return e
}

func TestArmsThatDifferInOneOptionDifferInFairness(t *testing.T) {
	e := recordedRuns(func(arm string, _ int) []compare.Fact {
		facts := []compare.Fact{option("option --gpu-memory-utilization of engine", "0.75", ""), option("option --model of engine", "", "h0"), option("option --slow of engine", "", "ha")}
		if arm == "b" {
			facts[0].Value, facts[2].Hash = "0.85", "hb"
			facts = append(facts, option("environment HF_HOME of engine", "", "hc"), option("changed files in the container of engine", "3", "hd"))
		}
		return facts
	})
	c := mustCompare(t, e.runs, compare.Options{})
	want := []compare.Fairness{
		{Item: "what ran", A: "recorded", B: "recorded"},
		{Item: "option --gpu-memory-utilization of engine", A: "0.75", B: "0.85", Differs: true},
		{Item: "option --model of engine", A: "given", B: "given"},
		{Item: "option --slow of engine", A: "value 1", B: "value 2", Differs: true},
		{Item: "environment HF_HOME of engine", A: "not given", B: "given", Differs: true},
		{Item: "changed files in the container of engine", A: "not given", B: "3", Differs: true},
	}
	if got := c.Strata[0].Pairs[0].Fairness; !slices.Equal(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	if r := c.Strata[0].Arms["a"].Runs[0]; r.Grade != compare.GradeDecision {
		t.Errorf("arms that are alike in themselves: %s, why %q", r.Grade, r.Why)
	}
}

func TestRunsOfOneArmThatDifferInWhatRanAreNoGroundForADecision(t *testing.T) {
	for name, change := range map[string]func(r *compare.Run){
		"another value":  func(r *compare.Run) { r.Facts[1].Hash = "hz" },
		"an option more": func(r *compare.Run) { r.Facts = append(r.Facts, option("option --slow of engine", "", "hs")) },
		"an option less": func(r *compare.Run) { r.Facts = r.Facts[:1] },
		"another image": func(r *compare.Run) {
			r.Facts = append(r.Facts, compare.Fact{Item: "container image digest", Value: "sha256:b", Ran: true})
		},
		"a listed option":  func(r *compare.Run) { r.Facts[1] = option("option --model of engine", "0.75", "") },
		"not recorded":     func(r *compare.Run) { r.HashKey, r.Facts = "", nil },
		"another key":      func(r *compare.Run) { r.HashKey, r.Facts[1].Hash = "k2", "hz" },
		"a fact of chance": func(r *compare.Run) { r.Facts = append(r.Facts, compare.Fact{Item: "boot", Value: "2"}) },
	} {
		e := recordedRuns(func(string, int) []compare.Fact {
			return []compare.Fact{option("option --model of engine", "", "h0"), {Item: "container image digest", Value: "sha256:a", Ran: true}}
		})
		at := slices.IndexFunc(e.runs, func(r compare.Run) bool { return r.Labels["arm"] == "b" })
		changed := &e.runs[at]
		if name == "another image" {
			changed.Facts = changed.Facts[:2]
		}
		change(changed)
		s := mustCompare(t, e.runs, compare.Options{}).Strata[0]
		differs := !slices.Contains([]string{"not recorded", "another key", "a fact of chance"}, name)
		if r := s.Arms["b"].Runs[1]; (r.Grade == compare.GradeDecision) == differs || differs && !strings.Contains(strings.Join(r.Why, ""), "what ran differs between runs of the arm: ") {
			t.Errorf("%s: %s, why %q", name, r.Grade, r.Why)
		}
		if r := s.Arms["a"].Runs[1]; r.Grade != compare.GradeDecision {
			t.Errorf("%s: the other arm is %s, why %q", name, r.Grade, r.Why)
		}
		warned := slices.ContainsFunc(s.Warnings, func(w compare.Warning) bool { return w.Code == compare.CodeRanDiffers })
		if warned != differs {
			t.Errorf("%s: warnings %+v", name, s.Warnings)
		}
	}
}

func TestRunsOfSeveralModelsMayRunOtherwise(t *testing.T) {
	e := recordedRuns(func(_ string, i int) []compare.Fact {
		return []compare.Fact{option("argument 1 of engine", "", []string{"h0", "h1"}[i/2%2])}
	})
	for i := range e.runs {
		e.runs[i].Model = []string{"m0", "m1"}[i/2%2]
	}
	for name, arm := range mustCompare(t, e.runs, compare.Options{}).Strata[0].Arms {
		for _, r := range arm.Runs {
			if slices.ContainsFunc(r.Why, func(why string) bool { return strings.Contains(why, "what ran") }) {
				t.Errorf("%s: %q", name, r.Why)
			}
		}
	}
}

func TestWhatIsNotRecordedIsNeverTakenForEqual(t *testing.T) {
	e := recordedRuns(func(string, int) []compare.Fact { return []compare.Fact{option("option --model of engine", "", "h0")} })
	for i := range e.runs {
		if r := &e.runs[i]; r.Labels["arm"] == "b" {
			r.HashKey, r.Facts = "", nil
		}
	}
	p := mustCompare(t, e.runs, compare.Options{}).Strata[0].Pairs[0]
	if want := []compare.Fairness{{Item: "what ran", A: "recorded", B: "not recorded", Differs: true}}; !slices.Equal(p.Fairness, want) {
		t.Errorf("%+v", p.Fairness)
	}
	if !slices.ContainsFunc(p.Warnings, func(w compare.Warning) bool { return w.Code == compare.CodeRanUnknown }) {
		t.Errorf("%+v", p.Warnings)
	}
	each(&e, func(r *compare.Run) { r.HashKey, r.Facts = "", nil })
	c := mustCompare(t, e.runs, compare.Options{})
	if unknown := codes(c)[compare.CodeFairnessUnknown]; len(unknown) != 1 || !strings.Contains(unknown[0], compare.FactRan) {
		t.Errorf("%q", unknown)
	}
}

func TestHashesOfTwoKeysAreNotComparedAndWarnedAbout(t *testing.T) {
	e := recordedRuns(func(arm string, _ int) []compare.Fact {
		return []compare.Fact{option("option --max-model-len of engine", "8192", ""), option("option --model of engine", "", "h"+arm)}
	})
	for i := range e.runs {
		if r := &e.runs[i]; r.Labels["arm"] == "b" {
			r.HashKey = "k2"
		}
	}
	p := mustCompare(t, e.runs, compare.Options{}).Strata[0].Pairs[0]
	want := []compare.Fairness{
		{Item: "key of the hashes", A: "k1", B: "k2", Differs: true}, {Item: "what ran", A: "recorded", B: "recorded"},
		{Item: "option --max-model-len of engine", A: "8192", B: "8192"},
	}
	if !slices.Equal(p.Fairness, want) {
		t.Errorf("%+v", p.Fairness)
	}
	if !slices.ContainsFunc(p.Warnings, func(w compare.Warning) bool {
		return w.Code == compare.CodeHashKeysDiffer && strings.Contains(w.Text, "k1, k2")
	}) {
		t.Errorf("%+v", p.Warnings)
	}
}
