package telemetry

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/metric"
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
	admitted := admit(page, nil, 40, 0)
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
	if all := admit(page, nil, 83, 0); len(all) != 83 {
		t.Errorf("%d of 83 admitted where there is room for all", len(all))
	}
	if none := admit(page, nil, 0, 0); len(none) != 0 {
		t.Errorf("%d admitted without room", len(none))
	}
}

// A campaign begins to sample before it starts the engine. On a machine with a few containers the first page alone has more
// series than there is room for.
func TestAnEngineThatComesLaterFindsRoomBesideManyCgroups(t *testing.T) {
	const engine = "uma_engine_kv_capacity_bytes{source=\"http://e/metrics\"} 1\numa_kvbm_blocks_total{source=\"http://e/metrics\",from=\"disk\",to=\"device\"} 1\n"
	var machine strings.Builder
	machine.WriteString("uma_memory_pool_bytes 1\n")
	for i := range SeriesLimit {
		fmt.Fprintf(&machine, "uma_cgroup_memory_stat_bytes{cgroup=\"/a\",stat=\"%d\"} 1\n", i)
	}
	for name, before := range map[string]struct {
		away bool
		page string
	}{
		"nobody expects it":  {away: true},
		"it does not answer": {page: "uma_engine_up{source=\"http://e/metrics\"} 0\n"},
		"KVBM does not":      {page: "uma_kvbm_up{source=\"http://e/metrics\"} 0\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				served := 0
				o := options(t, func(string, int) (string, error) {
					if served++; served == 1 {
						return machine.String() + before.page, nil
					}
					return machine.String() + engine, nil
				}, Source{Name: "spark", URL: "http://spark"})
				o.Away = before.away
				s := start(t, o)
				time.Sleep(500 * time.Millisecond)
				s.Rest(false)
				time.Sleep(2 * time.Second)
				stop(t, s)
				source := read(t, o.File).Sources[0]
				only(t, source, metric.EngineKVCapacityBytes)
				only(t, source, metric.KVBMBlocksTotal)
				if len(source.Series) != SeriesLimit {
					t.Errorf("%d series, want all that there is room for once the engine is there", len(source.Series))
				}
			})
		})
	}
}
