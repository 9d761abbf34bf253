package promexport

import (
	"testing"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/summary"
)

// An alert asks whether a host draws less than in its earlier runs: the power of two machines would always be more.
func TestTheEnergyIsThatOfAllMachinesAndThePowerThatOfTheHost(t *testing.T) {
	of := func(s summary.Summary) map[string]float64 {
		found := map[string]float64{}
		s.Phases = map[string]summary.PhaseSummary{"measure": {End: 10, Measured: true}}
		for _, f := range Of(compare.Run{ID: "r"}, s).series {
			found[f.family.Def().Name] = f.value
		}
		return found
	}
	energy, power := metric.RunEnergyJoules.Def().Name, metric.RunGPUPowerWatts.Def().Name
	together := &summary.Together{Hosts: []string{"a", "b"}, Joules: new(1300.)}
	if got := of(summary.Summary{Energy: &summary.Energy{Joules: 500}, Together: together}); got[energy] != 1300 || got[power] != 50 {
		t.Errorf("two machines: %v", got)
	}
	if got := of(summary.Summary{Energy: &summary.Energy{Joules: 500}}); got[energy] != 500 || got[power] != 50 {
		t.Errorf("one machine: %v", got)
	}
	if got := of(summary.Summary{Energy: &summary.Energy{Joules: 500}, Together: &summary.Together{Hosts: together.Hosts}}); got[energy] != 0 || got[power] != 50 {
		t.Errorf("the energy of the other machine is not known: %v", got)
	}
	if got := of(summary.Summary{Together: together}); got[energy] != 1300 || got[power] != 0 {
		t.Errorf("the host's own is not known: %v", got)
	}
}
