package collector

import (
	"slices"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/nvml"
)

// TestTheArchitecturesInThePoolAreTheDrivers: the vocabulary and the driver's reader name them
// apart, because neither may import the other.
func TestTheArchitecturesInThePoolAreTheDrivers(t *testing.T) {
	for _, a := range []nvml.Architecture{nvml.Discrete, nvml.CoherentNUMA, nvml.CoherentDriver, nvml.Integrated, nvml.IntegratedCarved, nvml.Shimmed, nvml.ArchitectureUnset} {
		if slices.Contains(metric.ArchitecturesInPool(), string(a)) != a.InPool() {
			t.Errorf("%s: in the pool by one of the two only", a)
		}
	}
}
