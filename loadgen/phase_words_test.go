package loadgen

import (
	"testing"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Alerts mute by the phases of a run, whose names are those of the vocabulary. Rooms of the load generator that
// know nothing of metrics have words of their own for them.
func TestPhasesAreCalledAsTheVocabularyCallsThem(t *testing.T) {
	for want, names := range map[string][]string{
		metric.PhaseLoad:    {spec.PhaseLoad},
		metric.PhaseReady:   {rundir.PhaseReady, spec.PhaseReady},
		metric.PhaseWarmup:  {rundir.PhaseWarmup, spec.PhaseWarmup},
		metric.PhaseMeasure: {rundir.PhaseMeasure, spec.PhaseMeasure},
		metric.PhaseStop:    {rundir.PhaseStop, spec.PhaseStop},
	} {
		for _, name := range names {
			if name != want {
				t.Errorf("%s, and in the vocabulary %s", name, want)
			}
		}
	}
}
