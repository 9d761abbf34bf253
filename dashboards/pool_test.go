package dashboards

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// A single figure of memory leaves open what the rest of the pool is.
func TestNoPanelShowsASingleFigureOfMemory(t *testing.T) {
	forPanels(t, func(t *testing.T, p renderedPanel) {
		if p.Type == "stat" && p.FieldConfig.Defaults.Unit == "bytes" {
			t.Errorf("%s is one number", p.Title)
		}
	})
}

func TestBarsOfMemoryAreStacked(t *testing.T) {
	seen := 0
	for name, d := range renderAll(t) {
		for _, p := range d.Panels {
			if p.Type != "barchart" || p.FieldConfig.Defaults.Unit != "bytes" {
				continue
			}
			seen++
			if p.Options.Stacking != "normal" {
				t.Errorf("%s: bars of %s stand side by side", name, p.Title)
			}
		}
	}
	if seen < 4 {
		t.Errorf("%d panels have bars of memory", seen)
	}
}

// notAddingUp are the panels of bytes over time that are no parts of a whole, as page/panel, with the reason.
func notAddingUp() map[string]string {
	const (
		nested  = "cgroups contain each other"
		shared  = "pages that several processes map count for each"
		engine  = "a capacity by the word of engines"
		blocks  = "each size contains the next"
		oneLine = "one signed line of the ledger, which stands in the stack of all"
		noPool  = "swap space is no memory of the pool"
	)
	return map[string]string{
		"containers/Footprint":                              nested,
		"containers/Charged memory and GPU memory":          nested,
		"containers/Memory of the processes of a container": nested,
		"containers/Page cache by container":                nested,
		"containers/Kernel memory of no named kind":         nested,
		"containers/Swap by container":                      noPool,
		"containers/Memory of processes by kind":            shared,
		"kv-cache-and-storage/KV cache in bytes":            engine,
		"unified-memory/Free memory by size of block":       blocks,
		"unified-memory/Whose page cache":                   nested,
		"unified-memory/Unattributed over time":             oneLine,
	}
}

func TestMemoryOverTimeIsStacked(t *testing.T) {
	excused := notAddingUp()
	stacks := 0
	for name, d := range renderAll(t) {
		for _, p := range d.Panels {
			if p.Type != "timeseries" || p.FieldConfig.Defaults.Unit != "bytes" {
				continue
			}
			where := strings.TrimSuffix(name, ".json") + "/" + p.Title
			if p.FieldConfig.Defaults.Custom.Stacking.Mode == "normal" {
				stacks++
			} else if excused[where] == "" {
				t.Errorf("%s: lines of memory do not add up", where)
			} else {
				delete(excused, where)
			}
		}
	}
	for where := range excused {
		t.Errorf("%s is stacked, or is not there: no excuse is needed", where)
	}
	if stacks < 5 {
		t.Errorf("%d panels are stacks of memory over time", stacks)
	}
}

// Two exporters of one host give each process once; a process on two GPUs is one.
func TestGPUMemoryByProcessAddsUpToWhatItIsOf(t *testing.T) {
	of := poolOf30(t) + "  uma_memory_pool_bytes{host=\"h\",job=\"a\"} 120x40\n"
	process := `  uma_gpu_process_memory_bytes{host="h",job="a",uuid="u",pid="1",comm="vllm",cgroup="c"} 1x40
  uma_gpu_process_memory_bytes{host="h",job="b",uuid="u",pid="1",comm="vllm",cgroup="c"} 1x40
`
	own := `  uma_gpu_memory_used_bytes{host="h",uuid="u"} 5x40
  uma_gpu_memory_used_bytes{host="h",uuid="v"} 1x40
  uma_gpu_memory_total_bytes{host="h",uuid="u"} 80x40
  uma_gpu_memory_total_bytes{host="h",uuid="v"} 80x40
`
	without := strings.ReplaceAll(of, ledger.GPUProcess, "other_name")
	for name, c := range map[string]struct {
		series      string
		whole, free float64
	}{
		"in the pool":              {of + process, 120, 31},
		"in the pool as a node":    {of + process + own, 120, 31},
		"no process":               {of, 120, 31},
		"no list of processes":     {without, 120, 31},
		"of its own":               {without + process + own, 160, 154},
		"of its own, and not held": {without + own, 160, 154},
	} {
		whole := 0.0
		for _, f := range holdings() {
			for _, bytes := range answered(t, c.series, f.expr, metric.LabelPID) {
				whole += bytes
				if f.title == ledger.Free && bytes != c.free {
					t.Errorf("%s: %v bytes are free, want %v", name, bytes, c.free)
				}
			}
		}
		if whole != c.whole {
			t.Errorf("%s: %v bytes, want %v", name, whole, c.whole)
		}
	}
}

func TestMemoryOfTwoRunsAddsUpToThePool(t *testing.T) {
	series := strings.Split(strings.Trim(poolOf30(t), "\n "), "\n")
	a := stored(t, map[string]string{"host": "h", "run_a": "a", "run_b": "b", "shift": "300"}, append(series,
		`uma_run_active{host="h",run="a",arm="native",scenario="s"} 1x10 _x30`,
		`uma_run_active{host="h",run="b",arm="container",scenario="s"} _x20 1x10`)...)
	for run, parts := range map[string][]figure{"a": poolOfA(), "b": poolDuring(isRunB())} {
		pool := map[string]float64{}
		for _, p := range parts {
			for _, sample := range a.samples(t, p.expr, 6*time.Minute) {
				pool[sample.Metric.Get(string(metric.LabelRun))] += sample.F
			}
		}
		if want := map[string]float64{run: 136}; !maps.Equal(pool, want) {
			t.Errorf("run %s: %v, want %v", run, pool, want)
		}
	}
}

// sums adds up the figures of a board by one label.
func sums(t *testing.T, series string, figures []figure, label metric.Label) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for _, f := range figures {
		for name, value := range answered(t, series, f.expr, label) {
			all[name] += value
		}
	}
	return all
}

// poolOf30 are the lines of the ledger, 1 to 16 bytes; two exporters of one host give one ledger.
func poolOf30(t *testing.T) string {
	t.Helper()
	var series strings.Builder
	for i, line := range ledger.Names() {
		for _, job := range []string{"a", "b"} {
			fmt.Fprintf(&series, "  uma_memory_ledger_bytes{host=\"h\",job=%q,line=%q} %dx40\n", job, line, i+1)
		}
	}
	return series.String()
}

// What is held for the GPU is shown of GPUs with memory of their own too; where that is a NUMA node, it is in the pool.
func TestTheMemoryOfThisMomentAddsUpToThePoolAndToWhatGPUsHave(t *testing.T) {
	own := `  uma_gpu_info{host="h",uuid="u",gpu="0",name="x"} 1x40
  uma_gpu_memory_used_bytes{host="h",uuid="u",job="x"} 5x40
  uma_gpu_memory_total_bytes{host="h",uuid="u",job="x"} 80x40
`
	without := strings.ReplaceAll(poolOf30(t), ledger.GPUProcess, "other_name")
	for name, c := range map[string]struct {
		series string
		want   map[string]float64
	}{
		"in the pool":           {poolOf30(t), map[string]float64{"pool": 136}},
		"in the pool as a node": {poolOf30(t) + own, map[string]float64{"pool": 136}},
		"of its own":            {without + own, map[string]float64{"pool": 135, "GPU 0": 80}},
	} {
		if found := sums(t, c.series, memoriesNow(), metric.LabelName); !maps.Equal(found, c.want) {
			t.Errorf("%s: %v, want %v", name, found, c.want)
		}
	}
}

// twoArms are three runs of one arm and one of the other; a run without a KV cache that is known is in no bar.
const twoArms = `  uma_comparison_info{comparison="c",compared_by="arm"} 1x40
  uma_run_label{run="a1",name="arm",value="native"} 1x40
  uma_run_label{run="a2",name="arm",value="native"} 1x40
  uma_run_label{run="a3",name="arm",value="native"} 1x40
  uma_run_label{run="b1",name="arm",value="container"} 1x40
  uma_run_info{host="h",run="a1",model="m"} 1x40
  uma_run_info{host="h",run="a2",model="m"} 1x40
  uma_run_info{host="h",run="a3",model="m"} 1x40
  uma_run_info{host="h",run="b1",model="m"} 1x40
  uma_run_valid{run="a1"} 1x40
  uma_run_valid{run="a2"} 1x40
  uma_run_valid{run="a3"} 1x40
  uma_run_valid{run="b1"} 1x40
  uma_run_memory_pool_bytes{run="a1"} 100x40
  uma_run_memory_pool_bytes{run="a2"} 100x40
  uma_run_memory_pool_bytes{run="a3"} 100x40
  uma_run_memory_pool_bytes{run="b1"} 100x40
  uma_run_memory_occupied_without_kv_bytes{run="a1"} 30x40
  uma_run_memory_occupied_without_kv_bytes{run="a2"} 41x40
  uma_run_memory_occupied_without_kv_bytes{run="a3"} 99x40
  uma_run_memory_occupied_without_kv_bytes{run="b1"} 35x40
  uma_run_kv_capacity_bytes{run="a1"} 50x40
  uma_run_kv_capacity_bytes{run="a2"} 37x40
  uma_run_kv_capacity_bytes{run="b1"} 60x40
  uma_comparison_mean{comparison="c",candidate="container",arm="native",metric="engine_reported_peak_bytes",model="m"} 20x40
  uma_comparison_mean{comparison="c",candidate="container",arm="native",metric="engine_reported_kv_bytes",model="m"} 55x40
  uma_comparison_mean{comparison="c",candidate="container",arm="native",metric="engine_reported_peak_bytes",model="imported"} 7x40
`

func TestBarsOfRunsAndOfModelsAddUpToThePool(t *testing.T) {
	ask := func(figures []figure, label metric.Label) map[string]float64 {
		a := stored(t, map[string]string{"host": "h", "runs": ".+", "comparison": "c", "baseline": "native", "candidate": "container"}, strings.Split(strings.Trim(twoArms, "\n "), "\n")...)
		all := map[string]float64{}
		for _, f := range figures {
			for _, sample := range a.samples(t, f.expr, 60e9) {
				all[sample.Metric.Get(string(label))] += sample.F
			}
		}
		return all
	}
	for name, c := range map[string]struct {
		got, want map[string]float64
	}{
		"baseline arm":     {ask(whenReadyOfRuns("$baseline"), metric.LabelRun), map[string]float64{"a1": 100, "a2": 100}},
		"candidate arm":    {ask(whenReadyOfRuns("$candidate"), metric.LabelRun), map[string]float64{"b1": 100}},
		"by model":         {ask(whenReadyByModel(), metric.LabelModel), map[string]float64{"m, baseline arm": 100, "m, candidate arm": 100}},
		"by engines' word": {ask(byWordOfEngines(), metric.LabelModel), map[string]float64{"m, baseline arm": 100, "imported, baseline arm": 7}},
	} {
		if !maps.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}

// Tables of several moments or runs can be laid beside each other only in one order; Grafana would sort by name.
func TestTablesByLineOfTheLedgerHaveTheOrderOfTheVocabulary(t *testing.T) {
	ordered := 0
	for name, d := range renderAll(t) {
		for _, p := range d.Panels {
			if p.Type != "table" || len(p.Transformations) < 2 || p.Transformations[1].Options.RenameByName[string(metric.LabelLine)] == "" {
				continue
			}
			if len(p.Options.SortBy) == 1 && p.Options.SortBy[0].DisplayName == "Bytes" {
				continue // of one moment, by size
			}
			steps := p.Transformations[2:]
			if len(p.Options.SortBy) > 0 || len(steps) != 2 || steps[0].ID != "sortBy" || steps[0].Options.Sort[0].Field != "Order" || !steps[1].Options.ExcludeByName["Order"] {
				t.Errorf("%s: %s is in another order", name, p.Title)
				continue
			}
			order, last := p.Targets[len(p.Targets)-1].Expr, -1
			for _, line := range ledger.Names() {
				at := strings.Index(order, `line="`+line+`"`)
				if at <= last {
					t.Errorf("%s: %s is not in its place in %s", p.Title, line, order)
				}
				last = at
			}
			ordered++
		}
	}
	if ordered < 3 {
		t.Errorf("%d tables are by line", ordered)
	}
}

func TestThePlaceOfALineIsThatOfTheVocabulary(t *testing.T) {
	places := answered(t, poolOf30(t), placesOfLines(func(line string) expr.Expr {
		return each(metric.MemoryLedgerBytes, expr.Is(metric.LabelLine, line)).Max(expr.By(metric.LabelLine))
	}), metric.LabelLine)
	names := slices.SortedFunc(maps.Keys(places), func(a, b string) int { return int(places[a] - places[b]) })
	if !slices.Equal(names, ledger.Names()) {
		t.Errorf("%v", places)
	}
}
