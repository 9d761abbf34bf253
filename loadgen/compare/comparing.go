package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Compare compares the arms of an experiment with its baseline, stratum by stratum.
func Compare(runs []Run, o Options) (Comparison, error) {
	if err := o.check(); err != nil {
		return Comparison{}, err
	}
	if err := distinct(runs); err != nil {
		return Comparison{}, err
	}
	all := prepared(runs)
	for _, name := range append([]string{o.By}, o.Within...) {
		flag := "--within"
		if name == o.By {
			flag = "--by"
		}
		if err := checkLabel(flag, name, all); err != nil {
			return Comparison{}, err
		}
	}
	labelled, warnings := withLabels(all, o)
	c := comparing{options: o, runs: labelled, cells: cellsOf(labelled, o)}
	if err := c.findArms(); err != nil {
		return Comparison{}, err
	}
	if err := c.checkWorkloads(); err != nil {
		return Comparison{}, err
	}
	out, err := c.compare(warnings)
	if err == nil {
		out.setPlanned(runs, o)
	}
	return out, err
}

// comparing is the state of a comparison while it is computed.
type comparing struct {
	options Options
	runs    []*Run
	cells   []*cell
	arms    []string // the baseline first
}

// distinct refuses two runs of one name: one of them would count twice or as the other.
func distinct(runs []Run) error {
	if len(runs) == 0 {
		return fmt.Errorf("there is no finished run to compare")
	}
	at := map[string]*Run{}
	for i := range runs {
		r := &runs[i]
		if first, twice := at[r.ID]; twice {
			return fmt.Errorf("%s: its run is called %q, and so is that of %s", cmp.Or(r.Path, "a run"), r.ID, cmp.Or(first.Path, "another"))
		}
		at[r.ID] = r
	}
	return nil
}

// withLabels drops runs that lack a requested label, with a warning.
func withLabels(runs []*Run, o Options) ([]*Run, []Warning) {
	var labelled []*Run
	warnings := []Warning{}
	missing := map[string][]string{}
	for _, r := range runs {
		lacks := slices.DeleteFunc(append([]string{o.By}, o.Within...), func(name string) bool { return r.Label(name) != "" })
		if len(lacks) == 0 {
			labelled = append(labelled, r)
			continue
		}
		missing[lacks[0]] = append(missing[lacks[0]], r.ID)
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		warnings = append(warnings, warn(CodeLabelMissing, "%s without a label %q left out: %s", Runs(len(missing[name])), name, some(missing[name])))
	}
	return labelled, warnings
}

// findArms names the arms, the baseline first and the others by name. Without a requested baseline it is the arm of the
// earliest run.
func (c *comparing) findArms() error {
	for _, r := range c.runs {
		if name := r.Label(c.options.By); !slices.Contains(c.arms, name) {
			c.arms = append(c.arms, name)
		}
	}
	if len(c.arms) == 0 {
		return fmt.Errorf("no run has all of the labels %s", strings.Join(append([]string{c.options.By}, c.options.Within...), ", "))
	}
	baseline := cmp.Or(c.options.Baseline, c.arms[0])
	if !slices.Contains(c.arms, baseline) {
		return fmt.Errorf("--baseline: no run has %s %q; there are %s", c.options.By, baseline, strings.Join(slices.Sorted(slices.Values(c.arms)), ", "))
	}
	if len(c.arms) == 1 {
		return fmt.Errorf("--by %s: all runs have %q: there is nothing to compare it with; name the folders of another arm too, or another --by", c.options.By, baseline)
	}
	c.arms = slices.DeleteFunc(c.arms, func(name string) bool { return name == baseline })
	slices.SortFunc(c.arms, naturally)
	c.arms = append([]string{baseline}, c.arms...)
	return nil
}

// checkWorkloads refuses a stratum whose runs have different workloads.
func (c *comparing) checkWorkloads() error {
	if c.options.AllowDifferentWorkload {
		return nil
	}
	for _, cell := range c.cells {
		if a, b := unlike(validOf(cell.runs)); a != nil {
			return fmt.Errorf("%s and %s did different work (workload_sha256 %s, %s)%s: %s; --allow-different-workload compares them all the same",
				cmp.Or(a.Path, a.ID), cmp.Or(b.Path, b.ID), short(a.WorkloadSHA256), short(b.WorkloadSHA256), in(cell.within), c.separate(cell)+c.withoutValid())
		}
	}
	return nil
}

// withoutValid names the arms whose runs are all invalid, which no advice about the others can be about.
func (c *comparing) withoutValid() string {
	names := slices.DeleteFunc(distinctOf(c.runs, func(r *Run) string { return r.Label(c.options.By) }), func(name string) bool {
		return slices.ContainsFunc(c.runs, func(r *Run) bool { return r.Valid && r.Label(c.options.By) == name })
	})
	if len(names) == 0 {
		return ""
	}
	return "; without a valid run, so left out: " + some(names)
}

// separate advises how to compare a cell whose runs did different work: by a label whose every value has one workload,
// or by the folders of those that did the same in several arms.
func (c *comparing) separate(cell *cell) string {
	valid := validOf(cell.runs)
	for _, name := range labelNames(valid) {
		if _, within := cell.within[name]; !within && name != c.options.By && c.separates(name, valid) {
			return "--within " + strings.Join(append(slices.Clone(c.options.Within), name), ",") + " sets like against like"
		}
	}
	for _, work := range Works(valid) {
		if len(distinctOf(work, func(r *Run) string { return r.Label(c.options.By) })) > 1 {
			return "name the folders of runs that did the same: " + some(distinctOf(work, func(r *Run) string { return cmp.Or(r.Path, r.ID) }))
		}
	}
	return "no two arms did the same: run both with the same flags"
}

// separates reports whether the runs with each value of a label did the same work, and those of some value in several
// arms.
func (c *comparing) separates(name string, runs []*Run) bool {
	byValue := map[string][]*Run{}
	for _, r := range runs {
		if r.Label(name) == "" {
			return false
		}
		byValue[r.Label(name)] = append(byValue[r.Label(name)], r)
	}
	arms := 0
	for _, group := range byValue {
		if a, _ := unlike(group); a != nil {
			return false
		}
		arms = max(arms, len(distinctOf(group, func(r *Run) string { return r.Label(c.options.By) })))
	}
	return arms > 1
}

// unlike returns two runs of different workloads; nil if all known workloads agree.
func unlike(runs []*Run) (a, b *Run) {
	if works := Works(runs); len(works) > 1 {
		return works[0][0], works[1][0]
	}
	return nil, nil
}

// Works groups runs by their workload, in the order of the first run of each. Only runs of one group may be compared;
// a run of unknown workload is in none.
func Works(runs []*Run) [][]*Run {
	var works [][]*Run
	for _, r := range runs {
		if r.WorkloadSHA256 == "" {
			continue
		}
		i := slices.IndexFunc(works, func(w []*Run) bool { return w[0].WorkloadSHA256 == r.WorkloadSHA256 })
		if i < 0 {
			i = len(works)
			works = append(works, nil)
		}
		works[i] = append(works[i], r)
	}
	return works
}

func short(sum string) string { return sum[:min(12, len(sum))] }

// in returns the suffix that names a stratum: " in model x, scenario y"; empty for the only one.
func in(within map[string]string) string {
	if len(within) == 0 {
		return ""
	}
	return " in " + Cell(within)
}

// Cell names a stratum by its labels: model x, scenario y.
func Cell(within map[string]string) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(within)) {
		texts = append(texts, name+" "+within[name])
	}
	return strings.Join(texts, ", ")
}

func (c *comparing) compare(warnings []Warning) (Comparison, error) {
	out := Comparison{
		Schema: Schema, By: c.options.By, Within: append([]string{}, c.options.Within...),
		Baseline: c.arms[0], Arms: c.arms, Strata: []Stratum{},
	}
	for _, cell := range c.cells {
		out.Strata = append(out.Strata, c.stratum(cell))
	}
	compared := false
	for _, p := range out.pairs() {
		compared = compared || len(p.Metrics) > 0
	}
	if !compared {
		return Comparison{}, c.nothingCommon()
	}
	if c.options.Primary != "" && !decided(out) {
		return Comparison{}, fmt.Errorf("--primary %s: in no stratum do all arms have it", c.options.Primary)
	}
	out.KVModel = kvModelOf(c.valid())
	out.Simulated = slices.ContainsFunc(c.runs, func(r *Run) bool { return r.Simulated || simulatedMode(r.Mode) })
	out.Warnings = append(warnings, c.warnings(out)...)
	return out, nil
}

// decided reports whether any pair has a primary metric.
func decided(out Comparison) bool {
	for _, p := range out.pairs() {
		if slices.ContainsFunc(p.Metrics, func(m Metrics) bool { return m.Primary }) {
			return true
		}
	}
	return false
}

// valid returns the valid runs of all strata.
func (c *comparing) valid() []*Run {
	return validOf(c.runs)
}

// nothingCommon returns the error that explains why no arms can be compared.
func (c *comparing) nothingCommon() error {
	var has []string
	for _, name := range c.arms {
		names := map[string]bool{}
		valid, by := 0, ""
		for _, cell := range c.cells {
			for _, r := range cell.arm(name).valid {
				valid++
				if r.Tool != "" {
					by = " by the definitions of " + r.Tool
				}
				for metric := range r.Metrics {
					names[metric] = true
				}
			}
		}
		what := some(slices.Sorted(maps.Keys(names)))
		if valid == 0 {
			what = "no valid run"
		}
		has = append(has, fmt.Sprintf("%s has %s%s", name, cmp.Or(what, "no figure"), by))
	}
	return fmt.Errorf("the arms have no metric in common in any stratum: %s", strings.Join(has, "; "))
}

// some lists a few names and counts the others.
func some(names []string) string {
	const shown = 5
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
