package compare

import (
	"maps"
	"slices"

	"github.com/umascope/umascope/loadgen/figure"
)

// stratum compares every arm of a cell with the baseline.
func (c *comparing) stratum(cell *cell) Stratum {
	valid := validOf(cell.runs)
	s := Stratum{
		Within: cell.within, Arms: map[string]Arm{}, Pairs: []Pair{},
		Order: orderOf(cell.runs, c.options.By), KVModel: kvModelOf(valid), Warnings: []Warning{},
	}
	primary := c.primary(cell)
	base := cell.arm(c.arms[0])
	var rows [][]*row
	for _, name := range c.arms[1:] {
		if b := cell.arm(name); len(base.valid) > 0 && len(b.valid) > 0 {
			p, own := c.pair(cell, base, b, primary)
			s.Pairs, rows = append(s.Pairs, p), append(rows, own)
		}
	}
	verdicts(rows, c.options)
	for i := range s.Pairs {
		c.finish(&s.Pairs[i], cell, rows[i])
	}
	order := s.Order.grounds(s.Pairs)
	for name, a := range cell.arms {
		against := c.reuseGrounds(cell, name)
		if order != "" {
			against = slices.Insert(against, 0, order)
		}
		one := armOf(a, append(against, raisedGrounds(valid)...))
		if len(c.pooled(cell)) == 0 { // runs of several models do not repeat each other
			one.NotRepeatable = notRepeatableOf(a.sample(primary), primary.name)
		}
		s.Arms[name] = one
	}
	s.Warnings = append(s.Warnings, c.stratumWarnings(cell, s)...)
	return s
}

// primary returns the metric that decides in a cell: the requested one, else the first metric of its scenario that
// every arm has.
func (c *comparing) primary(cell *cell) key {
	wanted := primaries(commonScenario(cell.runs))
	apart := len(toolsOf(slices.Collect(maps.Values(cell.arms))...)) > 1
	if c.options.Primary != "" {
		wanted = []string{c.options.Primary}
	}
	for _, name := range wanted {
		for _, k := range []key{{name, false}, {name, true}} {
			if apart && k.byTool() {
				continue // the cell has no row of it
			}
			lacking := func(name string) bool {
				a := cell.arm(name)
				return len(a.valid) > 0 && len(a.sample(k).values) == 0
			}
			if !slices.ContainsFunc(c.arms, lacking) {
				return k
			}
		}
	}
	return key{}
}

// commonScenario returns the scenario of all runs; empty if they differ.
func commonScenario(runs []*Run) string {
	for _, r := range runs {
		if r.Scenario != runs[0].Scenario {
			return ""
		}
	}
	return runs[0].Scenario
}

// armOf returns an arm with its runs graded; against lists what is wrong with the runs together, in addition to what
// they differ in.
func armOf(a *arm, against []string) Arm {
	out := Arm{Runs: []RunRef{}, Metrics: seriesOf(a)}
	if ran := ranDiffers(a.valid); len(ran) > 0 {
		against = append(against, "what ran differs between runs of the arm: "+some(ran))
	}
	for _, r := range a.valid {
		out.Runs = append(out.Runs, refOf(r, against))
	}
	for _, r := range a.excluded {
		out.Excluded = append(out.Excluded, refOf(r, against))
	}
	return out
}

// pair compares an arm with the baseline. It leaves out the verdicts, which need all pairs of a stratum.
func (c *comparing) pair(cell *cell, a, b *arm, primary key) (Pair, []*row) {
	both := slices.DeleteFunc(slices.Clone(cell.runs), func(r *Run) bool {
		return r.Label(c.options.By) != a.name && r.Label(c.options.By) != b.name
	})
	blocks := blocksOf(cell.runs, c.options.By)
	p := Pair{
		A: a.name, B: b.name, Metrics: []Metrics{}, Fairness: fairnessOf(a.valid, b.valid),
		Order: PairOrder{Kind: orderOf(both, c.options.By).Kind},
	}
	p.setLedgers(a.valid, b.valid)
	var rows []*row
	apart := len(toolsOf(a, b)) > 1
	for _, k := range keys() {
		if apart && k.byTool() {
			continue // two tools define the same name differently
		}
		m, _ := figure.FindCompared(k.name)
		x, y := a.sample(k), b.sample(k)
		if len(x.values) == 0 || len(y.values) == 0 {
			continue
		}
		r := newRow(k, m, c.options, analysisOf(a, b, k))
		r.out.Primary = k == primary
		r.out.Outliers = append(r.out.Outliers, outliersOf(x, a.name, begins(blocks))...)
		r.out.Outliers = append(r.out.Outliers, outliersOf(y, b.name, begins(blocks))...)
		rows = append(rows, r)
		p.Order.add(k, a, b, blocks)
	}
	p.Order.judge()
	return p, rows
}

// finish tests the drift of the rows, copies them with their verdicts into the pair, and adds its caveats.
func (c *comparing) finish(p *Pair, cell *cell, rows []*row) {
	a, b := cell.arm(p.A), cell.arm(p.B)
	c.findDrifts(p, rows)
	for _, r := range rows {
		if p.Order.confounds(r, r.blockShift(a.drift(r.key).Significant, b.drift(r.key).Significant)) {
			r.confound()
		}
		r.doubt(a, b)
		r.out.Notes = r.notes
		p.Metrics = append(p.Metrics, r.out)
	}
	p.Warnings = c.pairWarnings(a, b, *p)
}

// confounds reports whether time could explain a verdict as well as the arms. In blocks time always could explain a
// difference, and it could hide one if a drift within the arms, shift, takes the interval out of the margin. In any other
// order only a drift of the metric does that was found.
func (o PairOrder) confounds(r *row, shift float64) bool {
	switch v := r.out.Verdict; {
	case o.Kind != OrderBlocked:
		return r.out.Drift != nil
	case v == Equivalent || v == Irrelevant:
		return shift > 0 && r.leavesMargin(shift)
	case v == Inconclusive:
		return shift >= min(-r.low, r.high)
	default:
		return v.IsDifference()
	}
}

func found(d *PairDrift) bool { return d != nil && d.Significant }

// confound replaces the verdict. More runs in the same order would not decide it.
func (r *row) confound() {
	r.out.VerdictIgnoringOrder, r.out.Verdict, r.out.Confounded = r.out.Verdict, Confounded, true
	r.out.NeedN, r.out.NeedForEffect = nil, nil
}

// add adds the effect of order on a metric, where it can be computed.
func (o *PairOrder) add(k key, a, b *arm, blocks []block) {
	for _, name := range []string{a.name, b.name} {
		if s, ok := afterSwitch(blocks, k, name); ok {
			o.AfterSwitch = append(o.AfterSwitch, s)
		}
	}
	if h, ok := halvesOf(k, a.sample(k), b.sample(k)); ok {
		o.Halves = append(o.Halves, h)
	}
}

// begins returns a function that reports whether a run is the first after a change of arms.
func begins(blocks []block) func(*Run) bool {
	return func(r *Run) bool {
		return slices.ContainsFunc(blocks, func(b block) bool { return b.changed && len(b.runs) > 0 && b.runs[0] == r })
	}
}
