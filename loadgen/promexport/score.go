package promexport

import (
	"math"

	"github.com/umascope/umascope/loadgen/stats"
)

const (
	// fewestBefore is the least number of earlier runs for a score.
	fewestBefore = 5
	// asDeviation converts the median absolute deviation of normal values to their standard deviation.
	asDeviation = 1.4826
	// leastSpread is the least deviation of a metric, as a share of its median: without it, a tiny difference from runs
	// with equal values would have a huge score.
	leastSpread = 0.01
)

// cell is the set of properties in which runs must agree to be compared.
type cell struct {
	host, arm, scenario, engine, model string
	// The fields below are empty in the cell of the run limit; peers sets them, so that different workloads and modes are
	// not mixed.
	workload, mode string
	simulated      bool
}

// cell returns the cell of the run limit.
func (r Run) cell() cell {
	return cell{host: r.info.host, arm: r.info.arm, scenario: r.info.scenario, engine: r.info.engine, model: r.info.model}
}

// peers returns the cell of runs with the same workload.
func (r Run) peers() cell {
	c := r.cell()
	c.workload, c.mode, c.simulated = r.workload, r.mode, r.simulated
	return c
}

// score returns the distance of each metric of a run from those of the runs before it; a metric that fewer than five of
// them have has no score.
func score(r Run, before []Run) map[string]float64 {
	scores := map[string]float64{}
	for name, x := range r.metrics {
		var usual []float64
		for _, b := range before {
			if v, ok := b.metrics[name]; ok {
				usual = append(usual, v)
			}
		}
		if z, ok := zScore(x, usual); ok {
			scores[name] = z
		}
	}
	return scores
}

// zScore returns the distance of x from the median of others, in their deviations.
func zScore(x float64, others []float64) (float64, bool) {
	if len(others) < fewestBefore {
		return 0, false
	}
	middle := stats.Median(others)
	distances := make([]float64, len(others))
	for i, o := range others {
		distances[i] = math.Abs(o - middle)
	}
	spread := max(asDeviation*stats.Median(distances), leastSpread*math.Abs(middle))
	z := (x - middle) / spread
	// If all others are 0, they have no spread, and neither has a share of their median.
	return z, !math.IsNaN(z) && !math.IsInf(z, 0)
}
