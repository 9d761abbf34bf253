package promexport

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

const gib = 1 << 30

func distribution(n int, mean float64, quantiles ...*float64) *summary.Distribution {
	d := &summary.Distribution{N: n, Mean: &mean}
	for i, into := range []**float64{&d.P50, &d.P90, &d.P95, &d.P99, &d.P999} {
		if i < len(quantiles) {
			*into = quantiles[i]
		}
	}
	return d
}

// whole is a run that has every figure.
func whole(id string, minute int) (compare.Run, summary.Summary) {
	started := noon.Add(time.Duration(minute) * time.Minute)
	o := compare.Run{
		ID: id, Host: "spark-1", Scenario: "standard", Engine: "vllm", Model: "llama-8b", Labels: map[string]string{"arm": "native", "host": "spark-1", "round": "1"},
		StartedAt: started, EndedAt: started.Add(30 * time.Second), Valid: true, Mode: metric.ModeLive, WorkloadSHA256: "aa",
		Metrics: map[string]float64{figure.OutputTokensPerSecond: 120.5 + float64(minute)/10, figure.GPUPowerMean: 61.5},
	}
	return o, wholeSummary()
}

func wholeSummary() summary.Summary {
	s := summary.Summary{
		Requests: map[openai.Status]int{openai.StatusOK: 63, openai.StatusTimeout: 1},
		SLO:      &summary.SLOResult{SLO: "ttft=250ms", Good: 60, Requests: 64, Ratio: 0.9375},
		Latency: &summary.Latency{
			TTFT: &summary.Clocks{Send: distribution(63, 0.125, new(0.1), new(0.2), new(0.25)), Intended: distribution(63, 0.25, new(0.2))},
			TPOT: &summary.Clocks{Send: distribution(63, 0.01, new(0.009))},
			E2E:  &summary.Clocks{Send: distribution(3000, 2.5, new(2.4), new(3.), new(3.5), new(4.), new(5.)), Intended: distribution(3, 2.75)},
		},
		Memory: &summary.Memory{
			OccupiedWithoutKV: new(70.47 * gib), UnavailablePeak: new(114.8 * gib), AvailableMin: new(4.91 * gib),
			Pool: new(119.71 * gib), OccupiedPeak: new(116.21 * gib), FreeAtKVSizing: new(49.24 * gib), EngineReported: &rundir.EngineReport{Peak: new(70e9)},
			LedgerAt: new(ledgersOf(6)),
		},
		KV:       &summary.KV{CapacityBytes: new(44.31 * gib), CapacityTokens: new(363008.)},
		Thermal:  &summary.Thermal{StartCelsius: new(48.), MaxCelsius: new(71.), ThrottleSeconds: map[string]float64{metric.ReasonSWPowerCap: 12.5, metric.ReasonHWThermal: 0}},
		Energy:   &summary.Energy{Joules: 1845},
		Phases:   map[string]summary.PhaseSummary{"measure": {End: 30, Measured: true}},
		Warnings: []string{"clocks were held by the software power cap for 12.5 s of 30 s"},
		Signals: evidence.Signals{
			SSDOffload:   evidence.Signal{Grade: evidence.Proven},
			SSDRehydrate: evidence.Signal{Grade: evidence.Consistent, Reason: evidence.NoPrivilege},
			Reuse:        evidence.Signal{Grade: evidence.Proven},
			OutputMatch:  evidence.Unseen(evidence.NoBaseline),
		},
	}
	s.Throughput.OutputTokensPerSecond, s.Throughput.RequestsPerSecond = new(120.5), new(2.1)
	return s
}

// ledgersOf are those of a run that began with so many GiB of page cache: what the engine finds free is less
// by them, and so is what it takes.
func ledgersOf(cache float64) summary.Ledgers {
	return summary.Ledgers{Start: ledgerOf(0, cache, 110-cache), Ready: ledgerOf(104-cache, cache, 4.5), Peak: ledgerOf(104.5-cache, cache, 3.5)}
}

// ledgerOf is a pool of 119.71 GiB of which processes hold so many of the GPU, and so many are cache and free.
func ledgerOf(held, cache, free float64) map[string]float64 {
	lines := map[string]float64{
		ledger.GPUProcess: held, ledger.Free: free, ledger.Anon: 4, ledger.PageCache: cache, ledger.Managed: 0.25,
		ledger.SlabUnreclaimable: 0.5, ledger.PageTables: 0.25,
	}
	rest := 119.71
	for line, size := range lines {
		rest -= size
		lines[line] = size * gib
	}
	lines[ledger.Unattributed] = rest * gib
	return lines
}

func twoArms() compare.Comparison {
	return compare.Comparison{Schema: compare.Schema, By: "arm", Baseline: "native", Simulated: true, Strata: []compare.Stratum{{
		Within: map[string]string{"scenario": "standard", "model": "llama-8b"},
		Pairs: []compare.Pair{{A: "native", B: "container", Metrics: []compare.Metrics{
			{Name: figure.OutputTokensPerSecond, Ratio: new(0.97), RatioCI95: &compare.Interval{0.96, 0.98}, Verdict: compare.Worse, Confounded: true},
			{Name: figure.MemoryOccupiedWithoutKV, Ratio: new(1.4), Verdict: compare.Worse},
		}}},
	}}}
}

// compared is what compare makes of ten runs of each of two arms that took turns, and of which the second
// falls: in one stratum for each model.
func compared(t *testing.T, models ...string) compare.Comparison {
	t.Helper()
	var runs []compare.Run
	for _, model := range models {
		for i := range 20 {
			r, _ := whole(fmt.Sprintf("%s-%02d", model, i), i)
			arm, larger := "native", 0.
			if i%4 == 1 || i%4 == 2 {
				arm, larger = "container", 1
			}
			r.Model, r.Labels, r.Simulated = model, map[string]string{"arm": arm}, true
			r.Metrics = map[string]float64{
				figure.OutputTokensPerSecond: 120 + float64(i%3)/10 - larger*float64(i)/5, figure.MemoryOccupiedWithoutKV: (70.5 + 8*larger + float64(i%3)/10) * gib,
			}
			r.Ledger = ledgersOf(6 + 8*larger)
			r.Facts = []compare.Fact{
				{Item: compare.FactKernel, Value: "6.14.0-1015-nvidia"},
				{Item: compare.FactPageCache, Number: new((6 + 8*larger) * gib), Tolerance: gib, Unit: "bytes"},
			}
			runs = append(runs, r)
		}
	}
	c, err := compare.Compare(runs, compare.Options{By: "arm", Within: []string{"scenario", "model"}, Baseline: "native"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// upgraded is what compare makes of runs before and after a driver was changed: too few to say
// anything, and one of them invalid.
func upgraded(t *testing.T) compare.Comparison {
	t.Helper()
	var runs []compare.Run
	for i, driver := range []string{"580", "580", "580", "580", "590", "590", "590"} {
		r, _ := whole(fmt.Sprint("run-", i), i)
		r.Labels = map[string]string{"driver": driver}
		r.Metrics = map[string]float64{figure.OutputTokensPerSecond: 120 + 4*float64(i*i%5), figure.GPUPowerMean: 61 + float64(i%2)/10}
		runs = append(runs, r)
	}
	hot, _ := whole("hot", 8)
	hot.Valid, hot.InvalidReasons, hot.Labels = false, []string{string(summary.CodeThermalThrottle)}, map[string]string{"driver": "590"}
	c, err := compare.Compare(append(runs, hot), compare.Options{By: "driver", Within: []string{"scenario", "model"}, Baseline: "580"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// golden has every series.
func golden(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	for i := range 7 {
		o, s := whole(fmt.Sprintf("run-%d", i), i)
		b.put(Of(o, s))
	}
	b.put(Of(compare.Run{ID: "bare", StartedAt: noon, Simulated: true, Mode: metric.ModeConstructed}, summary.Summary{}))
	o, s := whole("hot", 8)
	o.Valid, o.Labels = false, map[string]string{"arm": "container", "host": "spark-1"}
	s.InvalidReasons = []summary.Reason{{Code: summary.CodeThermalThrottle, Detail: "3.1 s of 30 s"}}
	s.Thermal.MaxCelsius, s.Thermal.ThrottleSeconds = new(93.), map[string]float64{metric.ReasonHWThermal: 3.1}
	b.put(Of(o, s))
	o, s = whole("spark", 9)
	o.Imported, o.Mode, o.Host, o.Model, o.Scenario, o.Labels = "benchmark-spark", "", "spark-2", "deepseek", "benchmark-spark", map[string]string{"arm": "native", "host": "spark-2"}
	o.Metrics = map[string]float64{figure.ToolOutputTokensPerSecond: 119.25, figure.ToolRequestsPerSecond: 0.9375}
	s = summary.Summary{
		Tool: &rundir.ToolReport{Program: "trtllm-bench", Values: []spec.Reported{
			enginelog.NewValue(spec.OutputTokensPerSecond, "", 119.25), enginelog.NewValue(spec.RequestsPerSecond, "", 0.9375)}},
		Memory: &summary.Memory{EngineReported: &rundir.EngineReport{Peak: new(70e9), KV: new(44e9), KVTokens: new(86720.), Source: "all.json"}},
	}
	b.put(Of(o, s))
	b.PerCell = 2
	for i, err := range []error{summary.ErrUnfinished, errors.New("half\x1b[2J a page")} {
		path := filepath.Join(b.Root, fmt.Sprint("broken", i))
		b.runs[path], b.errs[path] = Run{}, err
	}
	savedAt(t, noon.Add(time.Hour), saved(t, b.Root, "driver-upgrade", upgraded(t)))
	savedAt(t, noon.Add(2*time.Hour), saved(t, b.Root, "native-container", compared(t, "llama-8b")))
	return b
}
