package compare

import (
	"errors"
	"math"
	"slices"

	"github.com/umascope/umascope/loadgen/stats"
)

// block is runs of one arm that follow each other, with what came between left out of the figures.
type block struct {
	arm  string
	runs []*Run
	// changed says that another arm ran just before its first run, and that this run is valid.
	changed bool
}

// blocksOf parts the runs of a cell, invalid ones too, since they leave their traces in the machine.
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

// afterSwitch sets the first runs after a change of arms against the other runs of their arm.
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
	test, err := stats.Beside(rest, first)
	switch {
	case err == nil:
		s.P = &test.P
	case errors.Is(err, stats.ErrNoSpread): // whatever differs from values that never do
		rounding := 1e-9 * math.Abs(s.First)
		s.Stands = math.Abs(s.First-s.Rest) > rounding
	}
	return s, true
}

// judge says what of all that was looked at in a pair is no chance: of a hundred tests five are wrong.
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
		s.Stands = s.Stands || p <= significance
	}
	for i, p := range stats.Holm(halves) {
		o.Halves[i].Suspect = p <= significance
	}
}

// orOne is the p value of a test that could not be made.
func orOne(p *float64) float64 {
	if p == nil {
		return 1
	}
	return *p
}

// firsts counts in how many blocks, of those that follow a change of arms and have more than one run, the
// first run is the highest or the lowest, and by what chance that would be so in each.
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

// p is how likely as many first runs or more are the highest (or, if there are more of them, the lowest)
// when order means nothing: blocks are independent, each with its own chance. Both ways count.
func (f firsts) p() float64 {
	// of[j] is how likely j of the blocks so far begin with their highest run.
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

// extreme says what every first run is in its block: highest or lowest; empty if neither.
func extreme(blocks []block, k key, name string) string {
	var f firsts
	f.add(blocks, k, name)
	switch n := len(f.chances); {
	case n > 0 && f.highest == n:
		return "highest"
	case n > 0 && f.lowest == n:
		return "lowest"
	}
	return ""
}

// halvesOf sets the pairs in which a came first against those in which b did.
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
