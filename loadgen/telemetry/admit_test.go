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

// TestTheLedgerAndSeriesOfEvidenceOfTwoHostsAreKept: each host has sixty containers, two thousand series. What its engine read from the
// SSD is shown by two families among them.
func TestTheLedgerAndSeriesOfEvidenceOfTwoHostsAreKept(t *testing.T) {
	const containers = 60
	page := func(host string) string {
		var b strings.Builder
		b.WriteString("uma_memory_pool_bytes 1\n")
		for line := range 14 {
			fmt.Fprintf(&b, "uma_memory_ledger_bytes{line=\"%d\"} 1\n", line)
		}
		for i := range containers {
			cgroup := fmt.Sprintf("/%s/%d", host, i)
			for kind := range 24 {
				fmt.Fprintf(&b, "uma_cgroup_memory_stat_bytes{cgroup=%q,kind=\"%d\"} 1\n", cgroup, kind)
			}
			for _, op := range []string{"read", "write"} {
				fmt.Fprintf(&b, "uma_cgroup_io_bytes_total{cgroup=%q,device=\"nvme0n1\",op=%q} 1\n", cgroup, op)
				fmt.Fprintf(&b, "uma_process_io_bytes_total{cgroup=%q,comm=\"e\",pid=\"%d\",op=%q} 1\n", cgroup, i+1, op)
			}
		}
		b.WriteString("uma_nvme_read_bytes_total{device=\"nvme0n1\"} 1\n")
		return b.String()
	}
	synctest.Test(t, func(t *testing.T) {
		o := options(t, func(host string, _ int) (string, error) { return page(host), nil }, Source{Name: "a", URL: "http://a"}, Source{Name: "b", URL: "http://b"})
		s := start(t, o)
		time.Sleep(1500 * time.Millisecond)
		stop(t, s)
		for _, source := range read(t, o.File).Sources {
			for _, want := range []struct {
				family metric.Definer
				series int
			}{
				{metric.MemoryLedgerBytes, 14}, {metric.CgroupIOBytesTotal, 2 * containers}, {metric.ProcessIOBytesTotal, 2 * containers}, {metric.NVMeReadBytesTotal, 1},
			} {
				if got := len(source.Find(want.family)); got != want.series {
					t.Errorf("%s: %d of %d series of %s", source.Name, got, want.series, want.family.Def().Name)
				}
			}
			if len(source.Dropped) != 0 {
				t.Errorf("%s: dropped %v", source.Name, source.Dropped)
			}
		}
	})
}

// TestTheLedgerAndSeriesOfEvidenceComeBeforeTheRestOfAHugeMachine: beyond the limit only what no figure rests on is dropped.
func TestTheLedgerAndSeriesOfEvidenceComeBeforeTheRestOfAHugeMachine(t *testing.T) {
	var page []observation
	family := func(name string, first bool, n int) {
		for i := range n {
			page = append(page, observation{name: name, key: fmt.Sprintf("%s %d", name, i), first: first})
		}
	}
	family("uma_cgroup_memory_events_total", false, 300)
	family("uma_cgroup_io_bytes_total", true, 400)
	family("uma_memory_ledger_bytes", true, 14)
	admitted := admit(page, nil, 500, 125)
	stay := map[string]int{}
	for _, o := range page {
		if admitted[o.key] {
			stay[o.name]++
		}
	}
	// Of 500, 125 are reserved for an engine: no room is left for families of many that are no witnesses.
	if want := (map[string]int{"uma_cgroup_io_bytes_total": 400, "uma_memory_ledger_bytes": 14}); fmt.Sprint(stay) != fmt.Sprint(want) {
		t.Errorf("kept %v, want %v", stay, want)
	}
	observations, err := parse([]byte("uma_memory_ledger_bytes{line=\"anon\"} 1\numa_cgroup_io_bytes_total{cgroup=\"/a\",device=\"d\",op=\"read\"} 1\numa_cgroup_memory_stat_bytes{cgroup=\"/a\",kind=\"anon\"} 1\n"), kept())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range observations {
		if o.first != (o.name != "uma_cgroup_memory_stat_bytes") {
			t.Errorf("%s is kept first: %v", o.name, o.first)
		}
	}
}
