package evidence

import (
	"encoding/json"
	"math"
	"testing"
)

func TestTheBreakEvenLengthIsWhereReuseTakesAsLongAsComputing(t *testing.T) {
	// Computing takes 1 ms for 10 tokens, reuse 50 ms and a tenth of that.
	pairs := func(lengths ...float64) (all []Pair) {
		for _, n := range lengths {
			all = append(all, Pair{n, n / 10e3, 0.05 + n/100e3})
		}
		return all
	}
	swapped := func(of []Pair) (all []Pair) {
		for _, p := range of {
			all = append(all, Pair{p.Tokens, p.ReusedSeconds, p.ComputedSeconds})
		}
		return all
	}
	for name, c := range map[string]struct {
		pairs   []Pair
		outcome BreakEvenOutcome
		tokens  float64
	}{
		"longer prompts":      {pairs(100, 300, 900, 2000), FasterAbove, 0.05 / (0.1e-3 - 0.01e-3)},
		"shorter prompts":     {swapped(pairs(100, 300, 900, 2000)), FasterBelow, 0.05 / (0.1e-3 - 0.01e-3)},
		"all":                 {pairs(600, 800, 1000, 2000), AlwaysFaster, 0},
		"none":                {pairs(100, 200, 300, 400), AlwaysSlower, 0},
		"all of one length":   {pairs(6000, 6500, 7000, 7600), TooFewLengths, 0},
		"too few":             {pairs(100, 1000), TooFewLengths, 0},
		"lengths are unknown": {pairs(0, 0, 0, 0), TooFewLengths, 0},
	} {
		got := FindBreakEven(c.pairs)
		if got.Outcome != c.outcome || (got.Tokens != nil) != (c.tokens > 0) || got.Tokens != nil && math.Abs(*got.Tokens-c.tokens) > 1e-6 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := FindBreakEven(nil); got != nil {
		t.Errorf("no pair: %+v", got)
	}
}

func TestThePriceIsTheBytesWrittenForThoseThatCameBack(t *testing.T) {
	blocks := func(from, to, matched float64) Moved {
		return Moved{Seen: true, BlockBytes: 1000, FromDisk: known(from), FromHost: known(0), ToDisk: known(to), MatchedTokens: known(matched)}
	}
	spent := Spent{
		Reused: Reused{Requests: 4, PromptTokens: 1700, Cached: known(1600)}, ComputedSeconds: 0.1, ReusedSeconds: 0.3,
		Replayed: blocks(100, 0, 1600), Whole: blocks(100, 350, 1600), Lifetime: blocks(101, 820, 1700), Seconds: 86.4, EnduranceBytes: 35e9,
	}
	w := NewWorth(spent)
	for name, c := range map[string]struct {
		got  *float64
		want float64
	}{
		"prompt tokens": {w.PromptTokens, 1700}, "cached": {w.CachedTokens, 1600}, "from the SSD": {w.SSDTokens, 1600}, "time": {w.TimeRatio, 3},
		"written": {w.WrittenBytes, 350e3}, "read": {w.ReadBytes, 100e3}, "per byte": {w.WrittenPerReadByte, 3.5}, "per token": {w.WrittenPerTokenBytes, 350e3 / 1600.},
		"engine": {w.EngineRatio, 820. / 101}, "endurance a day": {w.EnduranceShare, 0.01},
	} {
		if c.got == nil || math.Abs(*c.got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	spent.Replayed.FromHost = known(3)
	if w := NewWorth(spent); w.SSDTokens != nil || w.WrittenPerTokenBytes != nil {
		t.Errorf("tokens of two tiers are called the SSD's: %+v", w)
	}
	spent.Whole.BlockBytes, spent.EnduranceBytes = 0, 0
	if w := NewWorth(spent); w.WrittenBytes != nil || *w.WrittenPerReadByte != 3.5 || w.EnduranceShare != nil {
		t.Errorf("a size of a block that is not known: %+v", w)
	}
	spent.Lifetime.FromDisk.Reset, spent.Whole.Gone = true, true
	if w := NewWorth(spent); w.EngineRatio != nil || w.WrittenPerReadByte != nil {
		t.Errorf("counters that cannot be used: %+v", w)
	}
	if NewWorth(Spent{}) != nil {
		t.Error("nothing was sent again, and yet it has a price")
	}
}

// Figures are finite, and a break-even length is within the lengths of the run.
func FuzzWorth(f *testing.F) {
	f.Add(100.0, 2000.0, 0.1, 0.2, 0.3, 0.05, 10.0, 80.0, 4096.0)
	f.Add(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
	f.Fuzz(func(t *testing.T, short, long, a, b, c, d, from, to, block float64) {
		for _, v := range []*float64{&short, &long, &a, &b, &c, &d, &from, &to, &block} {
			if !(*v >= 0 && *v < 1e12) || *v > 0 && *v < 1e-12 {
				*v = 0
			}
		}
		moved := Moved{Seen: true, BlockBytes: block, FromDisk: known(from), ToDisk: known(to), MatchedTokens: known(to)}
		w := NewWorth(Spent{
			Reused: Reused{Requests: 4, PromptTokens: short + long}, Pairs: []Pair{{short, a, b}, {long, c, d}, {short, b, c}, {long, d, a}},
			ComputedSeconds: a, ReusedSeconds: b, Replayed: moved, Whole: moved, Lifetime: moved, Seconds: c, EnduranceBytes: d,
		})
		if _, err := json.Marshal(w); err != nil {
			t.Errorf("%+v: %v", w, err) // a figure that is no number
		}
		if e := w.BreakEven; e.Tokens != nil && (*e.Tokens < e.LeastTokens || *e.Tokens > e.MostTokens) {
			t.Errorf("%+v at %v", e, *e.Tokens)
		}
	})
}
