package engine

import "testing"

// TestThePageOfMooncakesMaster goes by what its client did: 40 values of 4 MiB in a segment of 256 MiB, then 100 more; the
// master evicted 85.
func TestThePageOfMooncakesMaster(t *testing.T) {
	for file, used := range map[string]float64{"mooncake-0.3.13.post1.prom": 40 << 22, "mooncake-0.3.13.post1-evicted.prom": (140 - 85) << 22} {
		reading := translate(t, sample(t, file))
		if reading.Engine != "mooncake" || len(reading.UnknownLabels) > 0 || len(reading.Absent) > 0 {
			t.Errorf("%s: %+v", file, reading)
		}
		wantModel(t, file, reading.Models[0], "", map[string]float64{"host bytes": used, "host tier bytes": 256 << 20})
	}
	wantModel(t, "tiers", translate(t, `master_allocated_bytes 0
master_total_capacity_bytes 100
master_allocated_file_size_bytes 7
master_total_file_capacity_bytes 70
master_nof_allocated_bytes 0
master_total_nof_capacity_bytes 50
`).Models[0], "", map[string]float64{
		"host bytes": 0, "host tier bytes": 100, "disk bytes": 7, "disk tier bytes": 70, "external bytes": 0, "external tier bytes": 50,
	})
	wantModel(t, "no client", translate(t, "master_allocated_bytes 0\nmaster_total_capacity_bytes 0\n").Models[0], "", map[string]float64{})
}
