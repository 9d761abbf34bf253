package promexport

import (
	"math"
	"slices"

	"github.com/umascope/umascope/loadgen/stats"
)

const (
	// fewest runs that say what is usual.
	fewestBefore = 5
	// asDeviation makes the median absolute deviation of normal values their standard deviation.
	asDeviation = 1.4826
	// leastSpread is the least deviation of a metric, as a share of its median: runs that happen to agree to
	// the last digit do not make a difference of nothing stand out.
	leastSpread = 0.01
)

// cell is what runs have in common that may be held against each other.
type cell struct {
	host, arm, scenario, engine, model string
	// The rest is not needed to find the newest of a cell, but keeps apart what must not be mixed.
	workload, mode string
	simulated      bool
}

// cell is that of the limit of runs.
func (r Run) cell() cell {
	return cell{host: r.info.host, arm: r.info.arm, scenario: r.info.scenario, engine: r.info.engine, model: r.info.model}
}

// peers is the cell of runs that did the same.
func (r Run) peers() cell {
	c := r.cell()
	c.workload, c.mode, c.simulated = r.workload, r.mode, r.simulated
	return c
}

// score is how far each metric of a run is from those of the runs before it; there is none of a metric
// that fewer than five of them have.
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

// zScore is the distance of x from the median of others in deviations of theirs.
func zScore(x float64, others []float64) (float64, bool) {
	if len(others) < fewestBefore {
		return 0, false
	}
	middle := median(others)
	distances := make([]float64, len(others))
	for i, o := range others {
		distances[i] = math.Abs(o - middle)
	}
	spread := max(asDeviation*median(distances), leastSpread*math.Abs(middle))
	z := (x - middle) / spread
	// Others that are all 0 have no spread, and no share of their median is one.
	return z, !math.IsNaN(z) && !math.IsInf(z, 0)
}

func median(values []float64) float64 {
	return stats.Quantile(slices.Sorted(slices.Values(values)), 0.5)
}
