package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/figure"
)

// NeededText formats how many runs of each arm an inconclusive metric needs: for a difference as large as the observed
// one, and for the margin. It is empty where neither is within reach.
func (m Metrics) NeededText() string {
	var texts []string
	if m.NeedForEffect != nil {
		texts = append(texts, fmt.Sprintf("%d for a difference as large as this", *m.NeedForEffect))
	}
	if m.NeedN != nil {
		texts = append(texts, fmt.Sprintf("%d for the margin", *m.NeedN))
	}
	if len(texts) == 0 {
		return ""
	}
	return "runs of each arm needed: " + strings.Join(texts, ", ")
}

// PairsText describes how the metric that decides is tested, and whether the difference drifts; empty if its runs were
// not tested for a drift.
func (p Pair) PairsText() string {
	i := slices.IndexFunc(p.Metrics, func(m Metrics) bool { return m.Primary })
	if i < 0 || p.Order.Drift == nil {
		return ""
	}
	m := p.Metrics[i]
	text := "no pairs"
	if m.Paired {
		text = fmt.Sprintf("%d pairs", m.Pairs)
	}
	if m.PairsDropped > 0 {
		text += fmt.Sprintf(", %d dropped", m.PairsDropped)
	}
	for _, d := range []*PairDrift{p.Order.CommonDrift, p.Order.Drift} {
		if d != nil {
			text += "; " + d.text(m)
		}
	}
	return text
}

// text describes a drift of a metric, and which drift could not have been seen.
func (d *PairDrift) text(m Metrics) string {
	what := "the difference"
	if d.Common {
		what = "both arms"
	}
	switch {
	case d.P == nil:
		return "a drift of " + what + " could not have been seen: " + d.Note
	case d.Significant && d.Change != nil:
		return fmt.Sprintf("%s drifts by %s (p %.2g)", what, m.changeText(*d.Change), *d.P)
	case d.Detectable == nil:
		return fmt.Sprintf("no drift of %s found (p %.2g): none could have been seen", what, *d.P)
	}
	return fmt.Sprintf("no drift of %s found (p %.2g): less than %s could not have been seen", what, *d.P, m.amountText(*d.Detectable))
}

// changeText formats a change in the unit of the margin, with its sign; amountText without.
func (m Metrics) changeText(v float64) string {
	if m.Margin.Relative {
		return figure.Change(1 + v)
	}
	return figure.Unit(m.Unit).Text(v)
}

func (m Metrics) amountText(v float64) string {
	if m.Margin.Relative {
		return figure.Percent(v)
	}
	return figure.Unit(m.Unit).Text(v)
}
