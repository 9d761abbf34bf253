package dashboards

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

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
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range files {
		var d struct {
			Panels []struct {
				Type, Title string
				FieldConfig struct{ Defaults struct{ Unit string } }
				Options     struct{ Stacking string }
			}
		}
		if err := json.Unmarshal(f.Content, &d); err != nil {
			t.Fatal(err)
		}
		for _, p := range d.Panels {
			if p.Type != "barchart" || p.FieldConfig.Defaults.Unit != "bytes" {
				continue
			}
			seen++
			if p.Options.Stacking != "normal" {
				t.Errorf("%s: bars of %s stand side by side", f.Name, p.Title)
			}
		}
	}
	if seen < 4 {
		t.Errorf("%d panels have bars of memory", seen)
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

// poolOf30 are the lines of the ledger, 1 to 15 bytes; two exporters of one host give one ledger.
func poolOf30(t *testing.T) string {
	t.Helper()
	var series strings.Builder
	for i, line := range metric.LedgerLines() {
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
	without := strings.ReplaceAll(poolOf30(t), metric.LineGPUProcess, "other_name")
	for name, c := range map[string]struct {
		series string
		want   map[string]float64
	}{
		"in the pool":           {poolOf30(t), map[string]float64{"pool": 120}},
		"in the pool as a node": {poolOf30(t) + own, map[string]float64{"pool": 120}},
		"of its own":            {without + own, map[string]float64{"pool": 119, "GPU 0": 80}},
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
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	ordered := 0
	for _, f := range files {
		var d struct {
			Panels []struct {
				Type, Title string
				Targets     []struct{ RefID, Expr string }
				Options     struct {
					SortBy []struct{ DisplayName string }
				}
				Transformations []struct {
					ID      string
					Options struct {
						RenameByName  map[string]string
						ExcludeByName map[string]bool
						Sort          []struct{ Field string }
					}
				}
			}
		}
		if err := json.Unmarshal(f.Content, &d); err != nil {
			t.Fatal(err)
		}
		for _, p := range d.Panels {
			if p.Type != "table" || len(p.Transformations) < 2 || p.Transformations[1].Options.RenameByName[string(metric.LabelLine)] == "" {
				continue
			}
			if len(p.Options.SortBy) == 1 && p.Options.SortBy[0].DisplayName == "Bytes" {
				continue // of one moment, by size
			}
			steps := p.Transformations[2:]
			if len(p.Options.SortBy) > 0 || len(steps) != 2 || steps[0].ID != "sortBy" || steps[0].Options.Sort[0].Field != "Order" || !steps[1].Options.ExcludeByName["Order"] {
				t.Errorf("%s: %s is in another order", f.Name, p.Title)
				continue
			}
			order, last := p.Targets[len(p.Targets)-1].Expr, -1
			for _, line := range metric.LedgerLines() {
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
	if !slices.Equal(names, metric.LedgerLines()) {
		t.Errorf("%v", places)
	}
}
