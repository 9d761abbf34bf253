package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/figure"
)

// Facts that must be known for both arms before the arms can be called alike.
const (
	FactEngine      = "engine"
	FactFingerprint = "model fingerprint"
	FactKernel      = "kernel"
	FactDriver      = "GPU driver"
	FactBoot        = "boot"
	FactMemFree     = "MemFree at start"
	FactPageCache   = "page cache at start"
	FactTemperature = "GPU temperature at start"
	FactSwap        = "read back from swap"
	FactRan         = "what ran"
)

// FactProgram is the version of uma-load that made a run.
const FactProgram = "uma-load"

// Essentials returns these facts.
func Essentials() []string {
	return []string{FactEngine, FactFingerprint, FactKernel, FactDriver, FactBoot, FactMemFree, FactPageCache, FactTemperature, FactSwap, FactRan}
}

// fairnessUnknown warns of essential facts that no run of either arm records: no difference can be seen in them.
func (c *comparing) fairnessUnknown(out Comparison) []Warning {
	unknown := slices.DeleteFunc(Essentials(), func(item string) bool {
		for _, p := range out.pairs() {
			if !slices.ContainsFunc(p.Fairness, func(f Fairness) bool { return f.Item == item }) {
				return false
			}
		}
		return true
	})
	if len(unknown) == 0 {
		return nil
	}
	return []Warning{warn(CodeFairnessUnknown, "not known of either arm: %s; that they were alike in these is taken on trust", strings.Join(unknown, ", "))}
}

// Values shown for a fact that a run does not have: it is unknown, the run is from a version that did not record it, or
// the run was made without the option.
const (
	notKnown    = "not known"
	notRecorded = "not recorded"
	notGiven    = "not given"
)

// fairnessOf lists the facts of two arms side by side, in the order in which the runs have them.
func fairnessOf(a, b []*Run) []Fairness {
	all := []Fairness{}
	both := slices.Concat(a, b)
	keys := hashKeys(both)
	if len(keys) > 1 {
		x, y := slices.Sorted(slices.Values(hashKeys(a))), slices.Sorted(slices.Values(hashKeys(b)))
		all = append(all, Fairness{Item: "key of the hashes", A: cmp.Or(strings.Join(x, ", "), notRecorded), B: cmp.Or(strings.Join(y, ", "), notRecorded), Differs: !slices.Equal(x, y)})
	}
	for _, item := range itemsOf(both) {
		identified := anyFact(both, item, func(f Fact) bool { return f.Identified })
		x, y := factsOf(a, item, identified), factsOf(b, item, identified)
		hashed := anyFact(both, item, func(f Fact) bool { return f.Hash != "" })
		if x.runs == 0 || y.runs == 0 || hashed && len(keys) > 1 {
			continue // an arm that does not record what ran, or hashes that are not comparable
		}
		l := labelsOf(x, y)
		all = append(all, Fairness{Item: item, A: x.text(l), B: y.text(l), Differs: x.differs(y)})
	}
	return all
}

// itemsOf returns the items that runs have facts of. It keeps the order of each run; an item that only later runs have
// comes after the item that precedes it there.
func itemsOf(runs []*Run) []string {
	var items []string
	for _, r := range runs {
		at := 0
		for _, f := range r.Facts {
			if i := slices.Index(items, f.Item); i >= 0 {
				at = i + 1
				continue
			}
			items = slices.Insert(items, at, f.Item)
			at++
		}
	}
	return items
}

// facts holds the values of one item over the runs of an arm; for an item that identifies what ran, over the runs that
// record it.
type facts struct {
	all    []Fact
	runs   int
	absent string // the value shown for a run that does not have the item
}

func factsOf(runs []*Run, item string, identified bool) facts {
	f := facts{absent: notKnown}
	if item == FactRan {
		f.absent = notRecorded
	}
	if identified {
		runs, f.absent = recording(runs), notGiven
	}
	f.runs = len(runs)
	for _, r := range runs {
		if one, has := r.fact(item); has {
			f.all = append(f.all, one)
		}
	}
	return f
}

// numbers returns the quantities, if all facts are quantities.
func (f facts) numbers() []float64 {
	var all []float64
	for _, one := range f.all {
		if one.Number == nil || math.IsNaN(*one.Number) || math.IsInf(*one.Number, 0) {
			return nil
		}
		all = append(all, *one.Number)
	}
	return all
}

// counts returns the number of runs of each value.
func (f facts) counts() map[string]int {
	count := map[string]int{}
	for _, one := range f.all {
		count[one.token()]++
	}
	if missing := f.runs - len(f.all); missing > 0 && len(f.all) > 0 {
		count[f.absent] += missing
	}
	return count
}

// differs reports whether two arms differ: quantities by more than their tolerance in the mean, all other facts in
// their sets of values. A fact that is known in one arm only counts as different.
func (f facts) differs(g facts) bool {
	x, y := f.numbers(), g.numbers()
	if len(x) == 0 || len(y) == 0 {
		return !slices.Equal(slices.Sorted(maps.Keys(f.counts())), slices.Sorted(maps.Keys(g.counts())))
	}
	return math.Abs(mean(x)-mean(y)) > max(f.all[0].Tolerance, g.all[0].Tolerance)
}

// text formats the value of the runs of the arm: mean and range of quantities, else each value with its runs.
func (f facts) text(l labels) string {
	if len(f.all) == 0 {
		return f.absent
	}
	if x := f.numbers(); len(x) > 0 {
		unit := f.all[0].Unit
		low, high := inUnit(slices.Min(x), unit), inUnit(slices.Max(x), unit)
		if low == high {
			return low
		}
		return fmt.Sprintf("%s (%s to %s)", inUnit(mean(x), unit), low, high)
	}
	count := f.counts()
	if len(count) == 1 {
		return l.of(f.all[0].token())
	}
	var texts []string
	for token, runs := range count {
		texts = append(texts, fmt.Sprintf("%s (%s)", l.of(token), Runs(runs)))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

// inUnit formats a quantity of a fact in its unit.
func inUnit(v float64, unit string) string {
	switch unit {
	case "bytes":
		return figure.Bytes.Text(v)
	case "C":
		return figure.Celsius.Text(v)
	case "s":
		return figure.Seconds.Text(v)
	case "":
		return figure.Unit("").Text(v)
	}
	return figure.Unit("").Text(v) + " " + unit
}

// Runs formats a number of runs: "1 run", "2 runs".
func Runs(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}
