package loadgen

import (
	"testing"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/extract"
	"github.com/umascope/umascope/loadgen/folder"
)

// Alerts mute by the phases of a run, whose names are those of the vocabulary. Rooms of the load generator that
// know nothing of metrics have words of their own for them.
func TestPhasesAreCalledAsTheVocabularyCallsThem(t *testing.T) {
	for want, names := range map[string][]string{
		metric.PhaseLoad:    {extract.PhaseLoad},
		metric.PhaseReady:   {folder.PhaseReady, extract.PhaseReady},
		metric.PhaseWarmup:  {folder.PhaseWarmup, extract.PhaseWarmup},
		metric.PhaseMeasure: {folder.PhaseMeasure, extract.PhaseMeasure},
		metric.PhaseStop:    {folder.PhaseStop, extract.PhaseStop},
	} {
		for _, name := range names {
			if name != want {
				t.Errorf("%s, and in the vocabulary %s", name, want)
			}
		}
	}
}
