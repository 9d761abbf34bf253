package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Methods that test the difference of two arms.
const (
	MethodBalancedPairs = "balanced_pairs"  // pairs of both orders: the mean of the two halves' means
	MethodPairs         = "pairs"           // plain pairs: one of the orders has less than three pairs
	MethodWelch         = "welch"           // unpaired runs
	MethodWelchOfStarts = "welch_of_starts" // unpaired runs, those of one start of the engine averaged
)

// leastPairs is the smallest number of pairs that are analysed as pairs, and of pairs of each order that are analysed
// as a half: fewer give less information than the unpaired runs.
const leastPairs = 3

// analysis holds the method that tests a metric of two arms, and the values it tests.
type analysis struct {
	method string
	// a and b are the values that enter every figure; with pairs, the runs of one pair have the same index.
	a, b    sample
	aFirst  []bool // by pair
	dropped int    // pairs that cannot be used
	notes   []string
}

func (an analysis) paired() bool { return an.method == MethodBalancedPairs || an.method == MethodPairs }

// analysisOf selects the test of a metric: by pairs if there are at least three and most runs are in one, else by
// Welch.
func analysisOf(a, b *arm, k key) analysis {
	x, y := a.sample(k), b.sample(k)
	apart := analysis{method: MethodWelch, a: x, b: y}
	if x.sharesStarts() || y.sharesStarts() {
		of := func(arm string, s sample) string {
			return fmt.Sprintf("%s of %s in %d starts", Runs(len(s.runs)), arm, s.starts())
		}
		apart.method, apart.a, apart.b = MethodWelchOfStarts, x.byStart(), y.byStart()
		apart.notes = append(apart.notes, fmt.Sprintf("runs that share a start of the engine are averaged: %s, %s", of(a.name, x), of(b.name, y)))
		return apart
	}
	p := pairsOf(x.runs, y.runs)
	p.countDropped(a, b)
	if n := len(p.a); n < leastPairs || 2*n <= max(len(x.runs), len(y.runs)) {
		if n+len(p.rebooted)+len(p.several) > 0 { // the plan had pairs
			apart.dropped = p.dropped()
			apart.notes = append(p.notes(), fmt.Sprintf("not tested by pairs, of which there are %d", n))
		}
		return apart
	}
	an := analysis{method: MethodPairs, a: x.at(p.a), b: y.at(p.b), dropped: p.dropped(), notes: p.notes()}
	if left := len(x.runs) + len(y.runs) - 2*len(p.a); left > 0 {
		an.notes = append(an.notes, fmt.Sprintf("%s in no pair, and in no figure", Runs(left)))
	}
	halves, known := map[bool]int{}, true
	for i, r := range an.a.runs {
		first := r.StartedAt.Before(an.b.runs[i].StartedAt)
		an.aFirst = append(an.aFirst, first)
		halves[first]++
		known = known && !r.StartedAt.IsZero() && !an.b.runs[i].StartedAt.IsZero()
	}
	if known && min(halves[true], halves[false]) >= leastPairs {
		an.method = MethodBalancedPairs
	}
	return an
}

// pairing holds the runs of two arms that share a pair, by index, and the pairs that cannot be used.
type pairing struct {
	a, b   []int    // indexes of the runs of each pair
	labels []string // of the pairs
	// rebooted are pairs with a reboot between their runs: a boot of the machine is a block, and runs of two boots share
	// no conditions. several have more than one valid run of an arm.
	rebooted, several []string
	alone             []string // pairs without a valid run of both arms
}

// pairsOf pairs the runs of two arms.
func pairsOf(a, b []*Run) pairing {
	partners, count := map[string][]int{}, map[string]int{}
	for j, r := range b {
		partners[r.Pair] = append(partners[r.Pair], j)
	}
	for _, r := range a {
		count[r.Pair]++
	}
	var p pairing
	for i, r := range a {
		at := partners[r.Pair]
		switch {
		case r.Pair == "" || len(at) == 0:
		case len(at) > 1 || count[r.Pair] > 1:
			if !slices.Contains(p.several, r.Pair) {
				p.several = append(p.several, r.Pair)
			}
		case !r.SameBoot(b[at[0]]):
			p.rebooted = append(p.rebooted, r.Pair)
		default:
			p.a, p.b, p.labels = append(p.a, i), append(p.b, at[0]), append(p.labels, r.Pair)
		}
	}
	return p
}

// countDropped counts the pairs of which an arm has no valid run with the figure, so that the comparison shows how many
// planned pairs are missing.
func (p *pairing) countDropped(a, b *arm) {
	paired := map[string]bool{"": true}
	for _, label := range p.labels {
		paired[label] = true
	}
	for _, label := range append(slices.Clone(p.rebooted), p.several...) {
		paired[label] = true
	}
	for _, r := range slices.Concat(a.valid, a.excluded, b.valid, b.excluded) {
		if !paired[r.Pair] {
			paired[r.Pair] = true
			p.alone = append(p.alone, r.Pair)
		}
	}
}

func (p pairing) dropped() int { return len(p.rebooted) + len(p.several) + len(p.alone) }

func (p pairing) notes() []string {
	var why []string
	for _, one := range []struct {
		pairs []string
		why   string
	}{{p.alone, "without a valid run of both arms"}, {p.rebooted, "with a reboot between"}, {p.several, "with several valid runs of an arm"}} {
		if len(one.pairs) > 0 {
			why = append(why, fmt.Sprintf("%d %s", len(one.pairs), one.why))
		}
	}
	if len(why) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d pairs dropped: %s", p.dropped(), p.dropped()+len(p.a), strings.Join(why, ", "))}
}

// at returns the sample at some indexes.
func (s sample) at(places []int) sample {
	var picked sample
	for _, i := range places {
		picked.runs, picked.values = append(picked.runs, s.runs[i]), append(picked.values, s.values[i])
	}
	return picked
}

// startOf identifies a start of an engine for the runs of one model and scenario.
type startOf struct{ start, model, scenario string }

func (r *Run) startOf() startOf { return startOf{r.start, r.Label(labelModel), r.Label(labelScenario)} }

// starts counts the starts of the engine.
func (s sample) starts() int {
	seen := map[startOf]bool{}
	for _, r := range s.runs {
		seen[r.startOf()] = true
	}
	return len(seen)
}

func (s sample) sharesStarts() bool { return s.starts() < len(s.runs) }

// byStart returns one value for each start of the engine: the mean of its runs.
func (s sample) byStart() sample {
	var averaged sample
	count := map[startOf]int{}
	place := map[startOf]int{}
	for i, r := range s.runs {
		of := r.startOf()
		if count[of] == 0 {
			place[of] = len(averaged.runs)
			averaged.runs, averaged.values = append(averaged.runs, r), append(averaged.values, 0)
		}
		count[of]++
		averaged.values[place[of]] += (s.values[i] - averaged.values[place[of]]) / float64(count[of])
	}
	return averaged
}

// findStarts sets, for runs in the order of their start, the start of the engine that served each. A run that found its
// engine up shares the start of the previous run of the same arm and model.
func findStarts(runs []*Run) {
	type engine struct{ campaign, arm, model, host string }
	last := map[engine]string{}
	for _, r := range runs {
		of := engine{r.Labels["campaign"], r.Labels["arm"], r.Label(labelModel), r.Host}
		r.start = r.ID
		if r.EngineKept {
			r.start = cmp.Or(last[of], r.ID)
		}
		last[of] = r.start
	}
}
