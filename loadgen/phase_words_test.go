package loadgen

import (
	"testing"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Alerts mute by the phases of a run, whose names are those of the vocabulary. Rooms of the load generator that
// know nothing of metrics have words of their own for them.
func TestPhasesAreCalledAsTheVocabularyCallsThem(t *testing.T) {
	for want, names := range map[string][]string{
		metric.PhaseLoad:    {enginelog.PhaseLoad},
		metric.PhaseReady:   {rundir.PhaseReady, enginelog.PhaseReady},
		metric.PhaseWarmup:  {rundir.PhaseWarmup, enginelog.PhaseWarmup},
		metric.PhaseMeasure: {rundir.PhaseMeasure, enginelog.PhaseMeasure},
		metric.PhaseStop:    {rundir.PhaseStop, enginelog.PhaseStop},
	} {
		for _, name := range names {
			if name != want {
				t.Errorf("%s, and in the vocabulary %s", name, want)
			}
		}
	}
}
