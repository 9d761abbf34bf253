package summary

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/umascope/umascope/loadgen/evidence"
)

// answer has n tokens; another one goes from token at on.
func answer(n, at int) string {
	return strings.Repeat(" same", at) + strings.Repeat(" else", n-at)
}

// pairs are so many of 64 tokens, of which the first few diverge at a token.
func pairs(n, diverging, at int) []OutputPair {
	all := make([]OutputPair, n)
	for i := range all {
		all[i] = OutputPair{answer(64, 64), answer(64, 64), 64}
		if i < diverging {
			all[i].Second = answer(64, at)
		}
	}
	return all
}

func TestOutputsAreHeldAgainstTheEnginesOwnDrift(t *testing.T) {
	for name, c := range map[string]struct {
		baseline, replayed []OutputPair
		grade              evidence.Grade
		reason             evidence.Reason
	}{
		"all equal":                             {pairs(8, 0, 0), pairs(32, 0, 0), evidence.Proven, ""},
		"equal though the engine drifts":        {pairs(8, 3, 20), pairs(32, 0, 0), evidence.Proven, ""},
		"as much as the baseline":               {pairs(8, 2, 20), pairs(32, 8, 20), evidence.Consistent, ""},
		"more, but within chance":               {pairs(8, 1, 20), pairs(32, 10, 20), evidence.Consistent, ""},
		"more than chance":                      {pairs(8, 0, 0), pairs(32, 31, 20), evidence.Contradicted, evidence.OutputsDiffer},
		"one prompt, from its first token":      {pairs(8, 0, 0), pairs(32, 1, 0), evidence.Contradicted, evidence.OutputsDiffer},
		"early, where the baseline is too":      {pairs(8, 2, 3), pairs(32, 8, 3), evidence.Consistent, ""},
		"token 8 is not early":                  {pairs(8, 0, 0), pairs(32, 1, 8), evidence.Consistent, ""},
		"no baseline":                           {nil, pairs(32, 32, 0), evidence.NotObservable, evidence.NoBaseline},
		"nothing replayed":                      {pairs(8, 0, 0), nil, evidence.NotObservable, evidence.NoBaseline},
		"an engine that never repeats itself":   {pairs(8, 8, 20), pairs(32, 32, 20), evidence.NotObservable, evidence.DriftTooLarge},
		"too few to tell drift from a bad tier": {pairs(2, 0, 0), pairs(2, 2, 20), evidence.NotObservable, evidence.DriftTooLarge},
		"half, where none of few do":            {pairs(8, 0, 0), pairs(16, 8, 20), evidence.NotObservable, evidence.TooFewPrompts},
		"most, where none of two do":            {pairs(2, 0, 0), pairs(16, 12, 20), evidence.NotObservable, evidence.TooFewPrompts},
		"a third, which may be half":            {pairs(8, 0, 0), pairs(16, 5, 20), evidence.NotObservable, evidence.TooFewPrompts},
		"two equal answers":                     {pairs(8, 0, 0), pairs(2, 0, 0), evidence.NotObservable, evidence.TooFewPrompts},
		"three equal answers":                   {pairs(8, 0, 0), pairs(3, 0, 0), evidence.Proven, ""},
		"a quarter, which is not half":          {pairs(8, 0, 0), pairs(16, 4, 20), evidence.Consistent, ""},
		"few of many, and rarely by chance":     {pairs(1000, 0, 0), pairs(1000, 6, 20), evidence.NotObservable, evidence.TooFewPrompts},
	} {
		t.Run(name, func(t *testing.T) {
			got := MatchOutputs(CompareOutputs(c.baseline), CompareOutputs(c.replayed), true)
			if got.Grade != c.grade || got.Reason != c.reason {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestWhatMayItselfHaveComeFromACacheProvesNothing(t *testing.T) {
	baseline, equal, wrong := CompareOutputs(pairs(8, 0, 0)), CompareOutputs(pairs(32, 0, 0)), CompareOutputs(pairs(32, 32, 0))
	if got := MatchOutputs(baseline, equal, false); got.Grade != evidence.Consistent || got.Reason != evidence.CountersAbsent {
		t.Errorf("the same: %+v", got)
	}
	if got := MatchOutputs(baseline, wrong, false); got.Grade != evidence.Contradicted || got.Reason != evidence.OutputsDiffer {
		t.Errorf("others, of which one must be wrong: %+v", got)
	}
}

// The witness says how many would have been drift, so that a reader sees how near it was.
func TestTheMostThatMayDivergeIsWhereTheVerdictTurns(t *testing.T) {
	for _, baseline := range []OutputDrift{{Pairs: 8}, {Pairs: 8, Diverging: 3}, {Pairs: 30, Diverging: 1}} {
		most := int(mostDiverging(baseline, 32))
		for diverging := range 33 {
			got := MatchOutputs(baseline, OutputDrift{Pairs: 32, Diverging: diverging}, true)
			if contradicted := got.Grade == evidence.Contradicted; contradicted != (diverging > most) {
				t.Errorf("%+v: %d of 32 may diverge, and of %d: %+v", baseline, most, diverging, got)
			}
		}
	}
	if most := mostDiverging(OutputDrift{Pairs: 400}, 5); most != 1 {
		t.Errorf("%v may diverge where four hundred did not", most)
	}
	if most := mostDiverging(OutputDrift{Pairs: 1000}, 5); most != 0 {
		t.Errorf("%v may diverge where a thousand did not", most)
	}
}

func TestADivergenceIsWhereTheAnswersPart(t *testing.T) {
	for _, c := range []struct {
		pair  OutputPair
		token int
	}{
		{OutputPair{answer(64, 64), answer(64, 0), 64}, 0},
		{OutputPair{answer(64, 64), answer(64, 40), 64}, 40},
		{OutputPair{answer(64, 64), answer(10, 10), 64}, 10}, // one that is cut
		{OutputPair{answer(10, 10), answer(64, 64), 10}, 10},
		{OutputPair{"", "x", 0}, 0},
		{OutputPair{"abcdefghijklmnopx", "abcdefghijklmnopy", 0}, 4}, // four characters a token
		{OutputPair{"aé", "aè", 2}, 0},                               // not inside a character
	} {
		token, differs := c.pair.diverges()
		if !differs || token != c.token {
			t.Errorf("%q, %q: token %d, want %d", c.pair.First, c.pair.Second, token, c.token)
		}
	}
}

// OutputDrift is the same thing in the baseline and in the replay, whatever its size; a bad tier is not.
func TestDriftIsTakenForABadTierAsRarelyAsChanceAllows(t *testing.T) {
	const seeds = 500
	for _, ratio := range []float64{0, 0.05, 0.3, 0.7, 1} {
		mistaken, missed := 0, 0
		for seed := range uint64(seeds) {
			random := rand.New(rand.NewPCG(seed, 1))
			pass := func(n int) []OutputPair {
				diverging := 0
				for range n {
					if random.Float64() < ratio {
						diverging++
					}
				}
				return pairs(n, diverging, earlyTokens+random.IntN(40))
			}
			baseline := CompareOutputs(pass(8))
			if MatchOutputs(baseline, CompareOutputs(pass(32)), true).Grade == evidence.Contradicted {
				mistaken++
			}
			if MatchOutputs(baseline, CompareOutputs(pairs(32, 32, 0)), true).Grade != evidence.Contradicted {
				missed++
			}
		}
		if mistaken > 2*seeds/100 || missed > 0 {
			t.Errorf("drift in %v of the answers: taken for wrong %d times, wrong answers missed %d times, of %d", ratio, mistaken, missed, seeds)
		}
	}
}

func FuzzCompareNeverFindsMoreThanThereIs(f *testing.F) {
	f.Add("a b c", "a b d", 3)
	f.Add("", "", 0)
	f.Add("\xff\xfe", "\xff", -4)
	f.Add("é", "è", 1)
	f.Fuzz(func(t *testing.T, first, second string, tokens int) {
		d := CompareOutputs([]OutputPair{{first, second, max(0, tokens)}, {first, first, 1}})
		switch {
		case d.Pairs != 2 || d.Early > d.Diverging:
			t.Errorf("%+v", d)
		case first == second && (d.Diverging != 0 || d.Earliest != -1):
			t.Errorf("equal answers diverge: %+v", d)
		case first != second && (d.Diverging != 1 || d.Earliest < 0):
			t.Errorf("different answers do not: %+v", d)
		}
		if utf8.ValidString(first) && tokens > 0 && d.Earliest > max(0, tokens) {
			t.Errorf("diverges at token %d of %d", d.Earliest, tokens)
		}
	})
}

// A cache that gives wrong answers to half of the prompts must not be called consistent: whatever the engine's own drift, and
// also where the baseline is as small as people make it.
func TestACacheThatIsWrongHalfOfTheTimeIsSeldomConsistent(t *testing.T) {
	const seeds = 1000
	for _, own := range []float64{0, 0.1, 0.3} {
		for _, sizes := range [][2]int{{2, 8}, {4, 16}, {8, 16}, {8, 32}} {
			consistent := 0
			for seed := range uint64(seeds) {
				random := rand.New(rand.NewPCG(seed, 2))
				diverging := func(n int, ratio float64) OutputDrift {
					d := OutputDrift{Pairs: n, Earliest: -1}
					for range n {
						if random.Float64() < ratio {
							d.Diverging, d.Earliest = d.Diverging+1, 2*earlyTokens
						}
					}
					return d
				}
				if MatchOutputs(diverging(sizes[0], own), diverging(sizes[1], own+0.5), true).Grade == evidence.Consistent {
					consistent++
				}
			}
			if consistent > 10*seeds/100 { // 5 in 100 but for what an approximate interval of few prompts misses
				t.Errorf("drift in %v, %v prompts: consistent %d times of %d", own, sizes, consistent, seeds)
			}
		}
	}
}
