package compare

import (
	"fmt"
	"slices"
	"strings"
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

// PairsText describes the test of the metric that decides, and whether the differences of pairs drift; empty for runs
// that are not tested by pairs.
func (p Pair) PairsText() string {
	i := slices.IndexFunc(p.Metrics, func(m Metrics) bool { return m.Primary })
	if i < 0 || !p.Metrics[i].Paired || p.Order.Drift == nil {
		return ""
	}
	m, d := p.Metrics[i], p.Order.Drift
	text := fmt.Sprintf("%d pairs", m.Pairs)
	if m.PairsDropped > 0 {
		text += fmt.Sprintf(", %d dropped", m.PairsDropped)
	}
	switch {
	case d.P == nil:
		return text + "; drift of the difference " + d.Note
	case d.Significant:
		return text + fmt.Sprintf("; the difference drifts%s (p %.2g)", p.driftText(d), *d.P)
	}
	return text + fmt.Sprintf("; no drift of the difference (p %.2g)", *d.P)
}
