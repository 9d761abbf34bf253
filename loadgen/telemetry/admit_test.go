package telemetry

import (
	"fmt"
	"testing"
)

// A Spark with a few containers has more series than there is room for, and those of its drive come late in the
// vocabulary: the proof that an SSD was read must not be what is left out.
func TestFewSeriesOfAFamilyFindRoomBeforeMany(t *testing.T) {
	var page []observation
	family := func(name string, n int) {
		for i := range n {
			page = append(page, observation{name: name, key: fmt.Sprintf("%s %d", name, i)})
		}
	}
	family("uma_cgroup_memory_stat_bytes", 50)
	family("uma_cgroup_memory_events_total", 30)
	family("uma_engine_kv_used_ratio", 1)
	family("uma_nvme_read_bytes_total", 2)
	admitted := admit(page, 40)
	kept := map[string]int{}
	for _, o := range page {
		if admitted[o.key] {
			kept[o.name]++
		}
	}
	want := map[string]int{"uma_engine_kv_used_ratio": 1, "uma_nvme_read_bytes_total": 2, "uma_cgroup_memory_events_total": 30, "uma_cgroup_memory_stat_bytes": 7}
	if len(admitted) != 40 || fmt.Sprint(kept) != fmt.Sprint(want) {
		t.Errorf("%d admitted, %v, want %v", len(admitted), kept, want)
	}
	if all := admit(page, 83); len(all) != 83 {
		t.Errorf("%d of 83 admitted where there is room for all", len(all))
	}
	if none := admit(page, 0); len(none) != 0 {
		t.Errorf("%d admitted without room", len(none))
	}
}
