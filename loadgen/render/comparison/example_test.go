package comparison

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/summary"
)

const gib = float64(1 << 30)

// experiment is runs that are made up: arms of which the second needs more memory, sized by the rule
// that most engines have, and is as fast.
type experiment struct {
	models  []string
	arms    []string
	runs    int  // of each arm and model
	blocked bool // the arms one after the other, or forth and back
	loads   []int
	hostile string
}

func (e experiment) make() []compare.Run {
	random := rand.New(rand.NewPCG(3, 5))
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	loads := e.loads
	if loads == nil {
		loads = []int{0}
	}
	var runs []compare.Run
	for _, load := range loads {
		for m, model := range e.models {
			for i, arm := range e.order() {
				runs = append(runs, e.run(random, at, model, m, arm, load, i))
				at = at.Add(13 * time.Minute)
			}
		}
	}
	return runs
}

// order is that of the arms, by their index.
func (e experiment) order() []int {
	var order []int
	for i := range e.runs * len(e.arms) {
		round, place := i/len(e.arms), i%len(e.arms)
		switch {
		case e.blocked:
			order = append(order, i/e.runs)
		case round%2 == 1:
			order = append(order, len(e.arms)-1-place)
		default:
			order = append(order, place)
		}
	}
	return order
}

func (e experiment) run(random *rand.Rand, at time.Time, model string, m, arm, load, i int) compare.Run {
	noise := func(sd float64) float64 { return 1 + sd*random.NormFloat64() }
	without := (70 + 22*float64(arm) + 2*random.NormFloat64()) * gib
	speed := 119.7 * noise(.004)
	labels := map[string]string{"arm": e.arms[arm], "iteration": fmt.Sprint(i)}
	if load > 0 {
		labels["concurrency"] = fmt.Sprint(load)
		speed = 119.7 * math.Pow(float64(load), .7) * noise(.01) * (1 - .05*float64(arm))
	}
	start := map[string]float64{"anon": 3 * gib, "page_cache": (5 + 15*float64(arm)) * gib, "free": (110 - 15*float64(arm)) * gib}
	peak := map[string]float64{"anon": 6 * gib, "gpu_process": (94 - 14*float64(arm)) * gib, "page_cache": (5 + 15*float64(arm)) * gib, "free": 8 * gib, "unattributed": -gib * float64(arm)}
	return compare.Run{
		ID: fmt.Sprintf("%s-%d-%d-%02d%s", model, load, arm, i, e.hostile), Path: "runs/x", Labels: labels, Scenario: "default", Model: model + e.hostile, Engine: "vllm", Host: "spark-1",
		WorkloadSHA256: "w", StartedAt: at, EndedAt: at.Add(8 * time.Minute), BootID: "b", Valid: i != 3, InvalidReasons: []string{"client_lag"}[:boolInt(i == 3)],
		Mode: "live",
		Metrics: map[string]float64{
			figure.OutputTokensPerSecond: speed, figure.TimeToFirstToken: .18 * noise(.02) * math.Max(1, float64(load)/4), figure.TimePerOutputToken: .0083 * noise(.004), figure.RequestDuration: 2.4 * noise(.01),
			figure.MemoryOccupiedWithoutKV: without, figure.KVCapacity: .9 * (119.71*gib - without), figure.MemoryOccupiedWhenReady: without + .9*(119.71*gib-without),
			"gpu_end_celsius": 60 + float64(m) + 2*random.Float64(),
		},
		Facts: []compare.Fact{
			{Item: "engine", Value: "vllm 0.33" + e.hostile}, {Item: "container image", Value: []string{"none", "sha256:4f1c" + e.hostile}[min(arm, 1)]},
			{Item: "page cache at start", Value: figure.Bytes.Text(start["page_cache"]), Number: pointer(start["page_cache"]), Tolerance: gib, Unit: "bytes"},
		},
		Ledger: summary.Ledgers{Start: start, Ready: peak, Peak: peak},
		KV:     compare.KV{CapacityBytes: pointer(.9 * (119.71*gib - without)), OccupiedWithoutKVBytes: pointer(without)},
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func pointer(v float64) *float64 { return &v }

func compared(t *testing.T, e experiment, o compare.Options) compare.Comparison {
	t.Helper()
	if o.By == "" {
		o.By = "arm"
	}
	c, err := compare.Compare(e.make(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// published is three models in two arms, in blocks.
func published() experiment {
	return experiment{models: []string{"deepseek-7b", "qwen-72b", "gpt-oss-120b"}, arms: []string{"native", "container"}, runs: 10, blocked: true}
}
