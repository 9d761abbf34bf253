package loadgen

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/promexport"
	"github.com/umascope/umascope/loadgen/summary"
)

// checkMetric fails if the metric that a plan names does not exist.
func checkMetric(name string) error {
	if _, known := figure.FindCompared(name); !known {
		return fmt.Errorf("%q is no metric; near it are %s", name, strings.Join(compare.Near(name), ", "))
	}
	return nil
}

// checkMargin fails if the margin that a plan gives is not valid for its metric.
func checkMargin(metric, amount string) error {
	_, _, err := compare.ParseMargin(metric + "=" + amount)
	return err
}

// marginsOf returns the margins that a plan gives.
func marginsOf(planned *plan.Plan) map[string]figure.Margin {
	margins := map[string]figure.Margin{}
	for metric, amount := range planned.Margins {
		if name, m, err := compare.ParseMargin(metric + "=" + amount); err == nil { // the plan was checked before
			margins[name] = m
		}
	}
	return margins
}

// decidesOf returns the metrics and margins that decide the verdict on a campaign: those of its plan, else the
// defaults of the vocabulary for its scenarios.
func decidesOf(planned *plan.Plan) campaign.Decides {
	d := campaign.Decides{N: planned.Iterations, Primary: map[string]string{}, Margins: map[string]string{}}
	margins := marginsOf(planned)
	keep := func(metric string) {
		m, _ := figure.FindCompared(metric)
		margin, given := margins[metric]
		if !given {
			margin = m.Margin
		}
		d.Margins[metric] = margin.Text(m.Unit)
	}
	for _, s := range planned.Scenarios {
		primary := cmp.Or(planned.Primary, compare.DefaultPrimary(cmp.Or(s.Run["scenario"], planned.Flags["scenario"]), s.Record != nil))
		d.Primary[s.Name] = primary
		keep(primary)
	}
	for metric := range margins {
		keep(metric)
	}
	return d
}

// printDecides prints the metrics and margins that decide the verdict.
func printDecides(stdout io.Writer, d campaign.Decides) {
	for _, scenario := range slices.Sorted(maps.Keys(d.Primary)) {
		metric := d.Primary[scenario]
		fmt.Fprintf(stdout, "decides: %s of scenario %s, margin %s, n = %s\n", metric, scenario, d.Margins[metric], compare.Runs(d.N)+" of each arm")
	}
}

// wasCompared reports whether the campaign's arms were compared by campaign run or by compare --save. A comparison
// that was only printed leaves no file.
func wasCompared(dir string) bool {
	saved, _ := filepath.Glob(filepath.Join(dir, promexport.ComparisonsFolder, "*.json")) // the pattern is a constant and valid
	_, err := os.Stat(filepath.Join(dir, comparisonFile))
	return err == nil || len(saved) > 0
}

// compareCampaign compares the campaign's arms by the runs that exist, with the plan's settings. damaged names each
// run that was left out, with the reason.
func compareCampaign(planned *plan.Plan, dir string) (c compare.Comparison, runs []summary.Run, damaged []error, err error) {
	runs, skipped, err := summary.Load([]string{dir})
	if errors.Is(err, summary.ErrNoRun) {
		err = errNoArms
	}
	if err != nil {
		return c, nil, nil, err
	}
	damaged = slices.DeleteFunc(skipped, func(err error) bool { return errors.Is(err, summary.ErrUnfinished) || errors.Is(err, summary.ErrShare) })
	var observed []compare.Run
	var arms []string
	for _, r := range runs {
		one := compare.FromRun(r)
		observed = append(observed, one)
		if arm := one.Label("arm"); one.Valid && !slices.Contains(arms, arm) {
			arms = append(arms, arm)
		}
	}
	if len(arms) < 2 {
		return c, runs, damaged, errNoArms
	}
	o := compare.Options{By: "arm", Within: []string{"model", "scenario"}, Primary: planned.Primary, Margins: marginsOf(planned)}
	if slices.Contains(arms, planned.Arms[0].Name) {
		o.Baseline = planned.Arms[0].Name
	}
	c, err = compare.Compare(observed, o)
	return c, runs, damaged, err
}

// outliersOf returns the rounds of a campaign that have a run far from the other runs of its arm.
func outliersOf(planned *plan.Plan, dir string) ([]campaign.Outlier, error) {
	c, runs, _, err := compareCampaign(planned, dir)
	if errors.Is(err, errNoArms) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []campaign.Outlier
	for _, s := range c.Strata {
		for _, name := range c.Arms {
			found := s.Arms[name].NotRepeatable
			if found == nil {
				continue
			}
			for _, off := range found.Off {
				at := slices.IndexFunc(runs, func(r summary.Run) bool { return r.Manifest.Run == off.Run })
				round, err := strconv.Atoi(labelOf(runs[at], "round"))
				if err != nil {
					continue // its order has no rounds
				}
				all = append(all, campaign.Outlier{
					Model: s.Within["model"], Scenario: s.Within["scenario"], Round: round,
					Text: fmt.Sprintf("%s of %s is %+.1f %% from the median of the arm in %s", off.Run, name, 100*off.Distance, found.Metric),
				})
			}
		}
	}
	return all, nil
}

// printNotRepeatable prints the cells of a campaign whose runs do not repeat each other.
func printNotRepeatable(stdout io.Writer, dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, campaign.PlanFile))
	if err != nil {
		return err
	}
	planned, err := plan.Parse(campaign.PlanFile, text)
	if err != nil {
		return err
	}
	c, _, _, err := compareCampaign(planned, dir)
	if err != nil {
		return err
	}
	for _, s := range c.Strata {
		for _, name := range c.Arms {
			if found := s.Arms[name].NotRepeatable; found != nil {
				fmt.Fprintf(stdout, "not repeatable  %s, %s, %s: %s\n", printable(s.Within["model"]), printable(name), printable(s.Within["scenario"]), printable(found.Text()))
			}
		}
	}
	return nil
}
