package compare

import (
	"math"
	"slices"

	"github.com/umascope/umascope/loadgen/figure"
)

// setFigures adds the run's figures, how far they may be off because of the client, and the names of those that an engine
// reported and uma-load did not measure.
func (r *Run) setFigures(from observed) {
	r.Metrics, r.Doubts = map[string]float64{}, map[string]float64{}
	s, imported := &from.Summary, from.Manifest.Imported != nil
	for _, f := range figure.Compared() {
		// Nothing was measured of an imported run: the figures of its engine stand in the rows of the measured ones.
		if imported && figure.ByEngine(f.Name) && f.Name != figure.EngineReportedNonTorch {
			continue
		}
		if !r.setFigure(f.Name, f.Get(s)) || f.Doubt == nil {
			continue
		}
		if doubt := f.Doubt(s); doubt != nil && *doubt > 0 {
			r.Doubts[f.Name] = *doubt
		}
	}
	if _, sized := r.Metrics[figure.KVCapacity]; imported && sized {
		r.EngineReported = append(r.EngineReported, figure.KVCapacity)
	}
	if imported && s.Memory != nil && s.Memory.EngineReported != nil && r.setFigure(figure.MemoryOccupiedWithoutKV, s.Memory.EngineReported.Peak) {
		r.EngineReported = append(r.EngineReported, figure.MemoryOccupiedWithoutKV)
	}
	r.addOccupiedWhenReady()
	slices.Sort(r.EngineReported)
}

// setFigure adds a number that is present and finite.
func (r *Run) setFigure(name string, value *float64) bool {
	if value == nil || math.IsNaN(*value) || math.IsInf(*value, 0) {
		return false
	}
	r.Metrics[name] = *value
	return true
}
