package loadgen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/summary"
)

const powerHelp = `Compute how many runs of each arm a campaign needs.

  uma-load campaign power --cv 1.5% --margin 2%
  uma-load campaign power --cv 1.5% --margin 2% --difference 5% --power 90%
  uma-load campaign power --from runs/pilot --metric output_tokens_per_second

Two things are wanted of it: that arms that are alike are shown to be within a margin, and that a difference is found if there is one. Both depend on how much runs of one arm differ, their coefficient of variation; without --cv it is taken from earlier runs, within their arms.

Runs of one arm show that they differ little only if they are many: with --from the CV has its confidence interval, and the high end is what to plan with.`

// defaultArmLabel is the label that distinguishes arms, unless --by names another. Runs without it belong to one arm.
const defaultArmLabel = "arm"

// powerLine holds the flags of campaign power.
type powerLine struct {
	cv, margin, difference, power, alpha float64
	from                                 []string
	metric, by                           string
}

// powerVerb adds the sub-command power to campaign.
func powerVerb(campaign *kingpin.CmdClause) verb {
	l := &powerLine{}
	clause := campaign.Command("power", powerHelp)
	share := terminal.ShareWithin(1e-4, 0.9999)
	terminal.Flag(clause, "cv", "How much runs of one arm differ: their standard deviation as a share of their mean.", "", &l.cv, terminal.ShareWithin(1e-4, 10)).PlaceHolder("1.5%")
	terminal.Flag(clause, "margin", "Within which two arms are as good as equal.", "2%", &l.margin, share)
	terminal.Flag(clause, "difference", "What shall be found if it is there; as much as --margin, if not given.", "", &l.difference, terminal.ShareWithin(1e-4, 10)).PlaceHolder("2%")
	terminal.Flag(clause, "power", "How often either shall succeed.", "80%", &l.power, share)
	terminal.Flag(clause, "alpha", "How often a verdict may be wrong.", "5%", &l.alpha, terminal.ShareWithin(1e-4, 0.5))
	terminal.Flags(clause, "from", "Earlier runs, or a folder that has them below, to take the CV from; may be repeated.", &l.from, terminal.Text, terminal.AsGiven).PlaceHolder("DIR")
	terminal.Flag(clause, "metric", "With --from: which figure of the runs.", figure.OutputTokensPerSecond, &l.metric, parseMetric)
	terminal.Flag(clause, "by", "With --from: the label that separates the arms.", defaultArmLabel, &l.by, terminal.Text).PlaceHolder("LABEL")
	return verb{clause, func(_ context.Context, p Program) error { return l.run(p.Stdout, p.Stderr) }}
}

// parseMetric accepts metrics that runs are compared by.
func parseMetric(text string) (string, error) {
	if _, known := figure.FindCompared(text); !known {
		return "", fmt.Errorf("%q is no metric; near it are %s", text, terminal.Join(compare.Near(text)))
	}
	return text, nil
}

// run carries out campaign power.
func (l *powerLine) run(stdout, stderr io.Writer) error {
	cv := l.cv
	switch {
	case cv > 0 && len(l.from) > 0:
		return usage(errors.New("--cv and --from: one of the two"))
	case cv == 0 && len(l.from) == 0:
		return usage(errors.New("--cv: give how much runs differ, such as 1.5%, or take it from earlier ones by --from"))
	case cv == 0:
		spread, err := l.spread(stderr)
		if err != nil {
			return usage(fmt.Errorf("--from: %w", err))
		}
		if _, err := fmt.Fprintf(stdout, "%s of runs with equal %s, model, engine, scenario and host: CV %s, 95 %% interval %s to %s (%d groups, %d degrees of freedom)\n\n",
			l.metric, l.by, showPercent(spread.CV), showPercent(spread.Low), showPercent(spread.High), spread.Groups, spread.Freedom); err != nil {
			return err
		}
		cv = spread.CV
	}
	answer, err := plan.AskSampleSize(plan.SampleSizeQuestion{
		CV: cv, Margin: l.margin, Difference: cmp.Or(l.difference, l.margin), Power: l.power, Alpha: l.alpha,
	})
	if err != nil {
		return usage(err)
	}
	return answer.Write(stdout)
}

// showPercent formats a share as a percentage with three significant digits.
func showPercent(share float64) string { return strconv.FormatFloat(100*share, 'g', 3, 64) + " %" }

// spread returns the variation of the valid runs within their arms.
func (l *powerLine) spread(stderr io.Writer) (plan.Spread, error) {
	runs, skipped, err := summary.Load(l.from)
	if err != nil {
		return plan.Spread{}, err
	}
	reportLeftOut(stderr, skipped)
	type cell struct{ arm, model, engine, scenario, host string }
	groups := map[cell][]float64{}
	var order []cell // a fixed order, since sums of floats depend on it
	labelled := l.by == defaultArmLabel
	for _, r := range runs {
		o := compare.FromRun(r)
		labelled = labelled || o.Labels[l.by] != ""
		v, there := o.Metrics[l.metric]
		if !there || !o.Valid {
			continue
		}
		c := cell{o.Labels[l.by], o.Model, o.Engine, o.Scenario, o.Host}
		if groups[c] == nil {
			order = append(order, c)
		}
		groups[c] = append(groups[c], v)
	}
	if !labelled {
		return plan.Spread{}, fmt.Errorf("no run has a label %q, which --by names", l.by)
	}
	values := make([][]float64, len(order))
	for i, c := range order {
		values[i] = groups[c]
	}
	spread, err := plan.PoolSpread(values)
	if errors.Is(err, plan.ErrNoRepeats) {
		err = fmt.Errorf("%w: of %d runs none has another valid one of its arm with a figure %s", err, len(runs), l.metric)
	}
	return spread, err
}
