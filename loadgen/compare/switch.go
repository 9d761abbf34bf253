package compare

import (
	"errors"
	"math"
	"slices"

	"github.com/umascope/umascope/loadgen/stats"
)

// block holds the valid runs of one arm that no run of another arm separates; an invalid run of the arm itself does not
// end the block.
type block struct {
	arm  string
	runs []*Run
	// changed is true if another arm ran just before its first run, and this run is valid.
	changed bool
}

// blocksOf splits the runs of a cell into blocks. An invalid run begins a block like a valid one, since it affects the
// state of the machine.
func blocksOf(runs []*Run, by string) []block {
	var blocks []block
	for _, r := range runs {
		if r.StartedAt.IsZero() {
			return nil
		}
		name, last := r.Label(by), len(blocks)-1
		if last < 0 || blocks[last].arm != name {
			blocks = append(blocks, block{arm: name, changed: last >= 0 && r.Valid})
			last++
		}
		if r.Valid {
			blocks[last].runs = append(blocks[last].runs, r)
		}
	}
	return blocks
}

// afterSwitch compares the first runs after a change of arms with the other runs of their arm.
func afterSwitch(blocks []block, k key, name string) (AfterSwitch, bool) {
	var first, rest []float64
	for _, b := range blocks {
		if b.arm != name {
			continue
		}
		for i, r := range b.runs {
			v, known := r.metric(k)
			switch {
			case !known:
			case i == 0 && b.changed:
				first = append(first, v)
			default:
				rest = append(rest, v)
			}
		}
	}
	if len(first) == 0 || len(rest) == 0 {
		return AfterSwitch{}, false
	}
	s := AfterSwitch{Metric: k.name, Arm: name, First: mean(first), Rest: mean(rest), N: len(first)}
	s.Extreme = extreme(blocks, k, name)
	test, err := stats.MeanAgainst(rest, first)
	switch {
	case err == nil:
		s.P = &test.P
	case errors.Is(err, stats.ErrNoSpread): // any value differs from values that never vary
		rounding := 1e-9 * math.Abs(s.First)
		s.StandsOut = math.Abs(s.First-s.Rest) > rounding
	}
	return s, true
}

// judge marks the effects of order that are significant among all tests of a pair: of a hundred tests, five are
// significant by chance.
func (o *PairOrder) judge() {
	var first, halves []float64
	for _, s := range o.AfterSwitch {
		first = append(first, orOne(s.P))
	}
	for _, h := range o.Halves {
		halves = append(halves, orOne(h.P))
	}
	for i, p := range stats.Holm(first) {
		s := &o.AfterSwitch[i]
		s.StandsOut = s.StandsOut || p <= significance
	}
	for i, p := range stats.Holm(halves) {
		o.Halves[i].Suspect = p <= significance
	}
}

// orOne returns a p value, or 1 for a test that could not be run.
func orOne(p *float64) float64 {
	if p == nil {
		return 1
	}
	return *p
}

// firsts counts the blocks, of those that follow a change of arms and have more than one run, whose first run is the
// highest or the lowest, and holds the probability of that by chance for each.
type firsts struct {
	highest, lowest int
	chances         []float64
}

func (f *firsts) add(blocks []block, k key, name string) {
	for _, b := range blocks {
		var values []float64
		for i, r := range b.runs {
			v, known := r.metric(k)
			if i == 0 && !known {
				break
			}
			if known {
				values = append(values, v)
			}
		}
		if b.arm != name || !b.changed || len(values) < 2 {
			continue
		}
		f.chances = append(f.chances, 1/float64(len(values)))
		if slices.Max(values[1:]) < values[0] {
			f.highest++
		}
		if slices.Min(values[1:]) > values[0] {
			f.lowest++
		}
	}
}

// p returns the probability that as many first runs or more are the highest (or, if there are more of them, the lowest)
// when order has no effect: blocks are independent, each with its own probability. The test is two-sided.
func (f firsts) p() float64 {
	// of[j] is the probability that j of the blocks so far begin with their highest run.
	of := []float64{1}
	for _, chance := range f.chances {
		next := make([]float64, len(of)+1)
		for j, p := range of {
			next[j] += p * (1 - chance)
			next[j+1] += p * chance
		}
		of = next
	}
	var p float64
	for j := max(f.highest, f.lowest); j < len(of); j++ {
		p += of[j]
	}
	return min(2*p, 1)
}

// extreme returns the place of the first run in every block: highest or lowest; empty if neither, and for one block of
// two runs, where it is always one of them.
func extreme(blocks []block, k key, name string) string {
	var f firsts
	f.add(blocks, k, name)
	switch n := len(f.chances); {
	case n == 1 && f.chances[0] == 0.5:
		return ""
	case n > 0 && f.highest == n:
		return "highest"
	case n > 0 && f.lowest == n:
		return "lowest"
	}
	return ""
}

// halvesOf compares the pairs in which a came first with those in which b did.
func halvesOf(k key, a, b sample) (Halves, bool) {
	h := Halves{Metric: k.name}
	var first, second []float64 // differences
	pairs := pairsOf(a.runs, b.runs)
	for n, i := range pairs.a {
		j := pairs.b[n]
		if a.runs[i].StartedAt.Before(b.runs[j].StartedAt) {
			first = append(first, b.values[j]-a.values[i])
		} else {
			second = append(second, b.values[j]-a.values[i])
		}
	}
	if len(first) == 0 || len(second) == 0 {
		return h, false
	}
	h.AB, h.BA = pointer(mean(first)), pointer(mean(second))
	if test, err := stats.Welch(first, second); err == nil {
		h.P = &test.P
	}
	return h, true
}
