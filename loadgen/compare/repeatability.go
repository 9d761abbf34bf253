package compare

import (
	"fmt"
	"math"
	"strings"

	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/stats"
)

// mostSpread is the limit of the spread of the runs of one arm, as a share: of their coefficient of variation, and of
// the distance of one run from their median.
const mostSpread = 0.05

// NotRepeatable describes an arm whose runs do not repeat each other in the metric that decides: their coefficient of
// variation, or the distance of a run from their median, is over the limit.
type NotRepeatable struct {
	Metric string `json:"metric"`
	N      int    `json:"n"`
	// CV is the coefficient of variation and Limit the largest one of repeatable runs, both as shares.
	CV    *float64 `json:"cv"`
	Limit float64  `json:"limit"`
	// Off are the runs that lie farther than the limit from the median of the arm, in the order of time; of two runs, from
	// the other.
	Off []OffRun `json:"off,omitempty"`
}

// OffRun is a run that lies far from the others of its arm.
type OffRun struct {
	Run string `json:"run"`
	// Distance is the distance from the median of the arm, as a signed share of it.
	Distance float64 `json:"distance"`
}

// notRepeatableOf checks the runs of an arm by a metric; nil if they repeat each other, or are fewer than two.
func notRepeatableOf(s sample, metric string) *NotRepeatable {
	d, err := stats.Describe(s.values)
	if err != nil || d.N < 2 {
		return nil
	}
	n := NotRepeatable{Metric: metric, N: d.N, CV: d.CV, Limit: mostSpread}
	middle := stats.Median(s.values)
	for i, v := range s.values {
		if d.N == 2 {
			middle = s.values[1-i] // of two runs, the distance is from the other
		}
		if distance := v/middle - 1; middle > 0 && math.Abs(distance) > n.Limit {
			n.Off = append(n.Off, OffRun{s.runs[i].ID, distance})
		}
	}
	if len(n.Off) == 0 && (n.CV == nil || *n.CV <= n.Limit) {
		return nil
	}
	return &n
}

// Text names the runs or the coefficient of variation of the arm that are over the limit.
func (n *NotRepeatable) Text() string {
	var texts []string
	if n.CV != nil && *n.CV > n.Limit {
		texts = append(texts, fmt.Sprintf("CV %s of %s is over %s", short2(*n.CV), title(n.Metric), figure.Percent(n.Limit)))
	}
	var off []string
	for _, o := range n.Off {
		off = append(off, fmt.Sprintf("%s (%+.1f %%)", o.Run, 100*o.Distance))
	}
	if len(off) > 0 {
		texts = append(texts, fmt.Sprintf("%s more than %s from the median of the arm in %s: %s", Runs(len(off)), figure.Percent(n.Limit), title(n.Metric), some(off)))
	}
	return strings.Join(texts, "; ")
}

// notRepeatableWarning returns the warning of an arm; none if its runs repeat each other.
func notRepeatableWarning(name string, a Arm) []Warning {
	if a.NotRepeatable == nil {
		return nil
	}
	return []Warning{warn(CodeNotRepeatable, "%s: %s", name, a.NotRepeatable.Text())}
}
