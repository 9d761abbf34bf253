package promexport

import (
	"fmt"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

func TestALoadThatWasNotOursHasNoRequests(t *testing.T) {
	_, s := whole("recorded", 0)
	s.Latency, s.SLO = nil, &summary.SLOResult{}
	for _, f := range Of(compare.Run{ID: "recorded"}, s).series {
		if f.family == &metric.RunRequests || f.family == &metric.RunGoodputRatio {
			t.Errorf("%s%q %v: nobody counted it", f.family.Def().Name, f.labels, f.value)
		}
	}
}

func TestWhatWasCountedAndIsNothingIsZero(t *testing.T) {
	_, s := whole("r", 0)
	s.SLO.Ratio, s.Energy.Joules = 0, 0
	zeros := map[string]bool{}
	for _, f := range Of(compare.Run{ID: "r"}, s).series {
		if f.value == 0 {
			zeros[f.family.Def().Name+strings.Join(f.labels, "|")] = true
		}
	}
	for _, want := range []string{"uma_run_goodput_ratior", "uma_run_energy_joulesr", "uma_run_throttle_secondsr|hw_thermal", "uma_run_ledger_bytesr|start|gpu_process"} {
		if !zeros[want] {
			t.Errorf("%s is missing among %v", want, zeros)
		}
	}
}

// What another tool wrote down of an engine was not measured here: it has no series of what was.
func TestEngineReportedFiguresOfAnImportedRunAreNoMeasurement(t *testing.T) {
	b := newBench(t)
	for i := range fewestBefore + 1 {
		o, s := whole(fmt.Sprint("r", i), i)
		o.Imported, o.Mode = "benchmark-spark", ""
		o.Metrics = map[string]float64{figure.MemoryOccupiedWithoutKV: 70 + float64(i), figure.KVCapacity: 44, "gpu_max_celsius": 71}
		o.EngineReported = []string{figure.KVCapacity, figure.MemoryOccupiedWithoutKV}
		s.Memory = &summary.Memory{EngineReported: &rundir.EngineReport{Peak: new(70e9), KV: new(44e9)}}
		b.put(Of(o, s))
	}
	page := b.page(t)
	for _, absent := range []string{"\numa_run_kv_capacity", "\numa_run_memory", `metric="memory_occupied_without_kv_bytes"`, `metric="kv_capacity_bytes"`} {
		if strings.Contains(page, absent) {
			t.Errorf("%q is on the page of what was measured:\n%s", absent, page)
		}
	}
	for _, there := range []string{`uma_run_zscore{metric="engine_reported_memory_occupied_without_kv_bytes",run="r5"}`, `uma_run_zscore{metric="gpu_max_celsius",run="r5"} 0`, `uma_run_engine_reported_peak_bytes{run="r5"} 7e+10`} {
		if !strings.Contains(page, "\n"+there) {
			t.Errorf("%s is missing in\n%s", there, page)
		}
	}
}

func TestSeriesOfADamagedSummaryAreBounded(t *testing.T) {
	_, s := whole("r", 0)
	for i := range 1000 {
		name := fmt.Sprint("\x1b[2J", i)
		s.Thermal.ThrottleSeconds[name], s.Memory.LedgerAt.Start[name] = 1, 1
		s.InvalidReasons = append(s.InvalidReasons, summary.Reason{Code: summary.Code(name)})
	}
	figures := Of(compare.Run{ID: "r"}, s).series
	for _, f := range figures {
		if strings.ContainsRune(strings.Join(f.labels, ""), 0x1b) {
			t.Errorf("%q", f.labels)
		}
	}
	if len(figures) > mostLabels+mostFigures {
		t.Errorf("%d figures", len(figures))
	}
}
