package demo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/summary"
)

var (
	morning = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
)

// design is a campaign that is made up: what a start finds in the page cache is what the starts before it have left, of
// which each start takes a part back.
type design struct {
	name, title string
	order       string // n and c
	drops       bool
	hostile     string
	invalid     int // the number of a run that is invalid, from 1 on; 0 is none
}

const (
	blockOrder = "nnnncccc"
	abbaOrder  = "nccnnccn"
)

func (d design) campaign(t *testing.T) Campaign {
	t.Helper()
	random := rand.New(rand.NewPCG(7, uint64(len(d.name))))
	c := Campaign{
		Name: d.name + d.hostile, Title: d.title + d.hostile, Design: "How the runs of " + d.name + " were made." + d.hostile,
		Section: Section{Commands: []string{"uma-load campaign run " + d.name + "/plan.yaml" + d.hostile}, Links: []Link{{"full comparison" + d.hostile, d.name + "/compare.html"}}},
	}
	left := map[string]float64{"weights of native": 0, "layers of the image": 0, "the container’s copy of the weights": 0, "home": 6 * gib}
	names := []string{"weights of native", "layers of the image", "the container’s copy of the weights", "home"}
	var runs []compare.Run
	for i, letter := range d.order {
		arm, reads, shmem := "native"+d.hostile, map[string]float64{names[0]: 20 * gib}, 0.
		if letter == 'c' {
			arm, reads, shmem = "container"+d.hostile, map[string]float64{names[1]: 9 * gib, names[2]: 20 * gib}, 2*gib
		}
		for _, name := range names {
			switch bytes, read := reads[name]; {
			case read:
				left[name] = bytes
			case d.drops:
				left[name] = 0
			default:
				left[name] *= .75
			}
		}
		s := Start{Arm: arm, At: morning.Add(time.Duration(i) * 6 * time.Minute), OccupiedWithoutKVBytes: (42+.1*random.NormFloat64())*gib + shmem}
		for _, name := range names {
			s.Cached = append(s.Cached, Part{name, left[name]})
			s.OccupiedWithoutKVBytes += left[name]
		}
		s.KVBytes = .9 * (119.7*gib - s.OccupiedWithoutKVBytes)
		c.Starts = append(c.Starts, s)
		runs = append(runs, d.run(i, arm, s))
		if i+1 == d.invalid {
			c.Invalid = append(c.Invalid, Invalid{runs[i].ID, arm, "client_lag: 80 ms" + d.hostile})
		}
	}
	comparison, err := compare.Compare(runs, compare.Options{By: "arm", Baseline: "native" + d.hostile})
	if err != nil {
		t.Fatal(err)
	}
	c.Comparison = &comparison
	return c
}

func (d design) run(i int, arm string, s Start) compare.Run {
	seen := s.OccupiedWithoutKVBytes + .02*gib*math.Sin(float64(i))
	kv := .9 * (119.7*gib - seen)
	cache, shmem := total(s.Cached), 0.
	if strings.HasPrefix(arm, "container") {
		shmem = 2 * gib
	}
	ledger := func(device float64) map[string]float64 {
		return map[string]float64{"gpu_process": device, "page_cache": cache, "shmem": shmem, "anon": 8 * gib, "free": 121.7*gib - device - cache - shmem - 8*gib}
	}
	at := morning.Add(time.Duration(i) * 5 * time.Second)
	r := compare.Run{
		ID: fmt.Sprintf("%s-%02d%s", d.name, i+1, d.hostile), Path: "runs/x", Scenario: "standard", Model: "simulated-14b", Engine: "vllm", Host: "spark-" + d.name,
		Labels: map[string]string{"arm": arm}, WorkloadSHA256: "w", StartedAt: at, EndedAt: at.Add(4 * time.Second), BootID: "b",
		Valid: i+1 != d.invalid, Mode: "simulated", Simulated: true,
		Metrics: map[string]float64{figure.MemoryOccupiedWithoutKV: seen, figure.KVCapacity: kv, figure.MemoryOccupiedWhenReady: seen + kv, figure.OutputTokensPerSecond: 120 + math.Sin(float64(3*i))},
		Ledger:  summary.Ledgers{Start: map[string]float64{"page_cache": cache / 2, "free": 121.7*gib - cache/2, "anon": 4 * gib}, Ready: ledger(24*gib + kv), Peak: ledger(26*gib + kv)},
		KV:      compare.KV{CapacityBytes: &kv, OccupiedWithoutKVBytes: &seen},
	}
	if !r.Valid {
		r.InvalidReasons = []string{"client_lag"}
	}
	return r
}

// whole is a page that lacks nothing.
func whole(t *testing.T) Page { return examplePage(t, "") }

// examplePage is one with a hostile text wherever somebody else's text stands.
func examplePage(t *testing.T, hostile string) Page {
	t.Helper()
	p := Page{
		Made: Made{Command: "uma-demo --seed 1" + hostile, Begun: morning, Ended: morning.Add(58 * time.Second)},
		Campaigns: []Campaign{
			design{name: "blocks", title: "As published: native first, then container", order: blockOrder, hostile: hostile}.campaign(t),
			design{name: "abba", title: "Forth and back", order: abbaOrder, hostile: hostile}.campaign(t),
			design{name: "equal", title: "Forth and back, every start alike", order: abbaOrder, drops: true, hostile: hostile, invalid: 3}.campaign(t),
		},
		Links: []Link{{"everything of this demo" + hostile, "demo-1/"}},
	}
	p.Rehydration = Rehydration{
		Section: Section{Commands: []string{"uma-load run --scenario eviction_replay" + hostile}, Links: []Link{{"the run", "demo-1/trials/evict/report.html"}}},
		Run: &summary.Summary{
			Run: "evict-1", Phases: map[string]summary.PhaseSummary{},
			Signals: evidence.Signals{
				SSDRehydrate: evidence.Signal{Grade: "proven", Figures: []evidence.Figure{
					observation("kvbm_blocks_from_disk", 1000, "blocks", 1, math.Inf(1), true), observation("kvbm_blocks_from_disk_bytes", 7.3*gib, "bytes", 7e6, math.Inf(1), true),
					observation("process_read"+hostile, 7.32*gib, "bytes", 5.1*gib, 11*gib, true), observation("device_read", 7.5*gib, "bytes", 6.9*gib, math.Inf(1), true),
				}},
				SSDOffload: evidence.Signal{Grade: "proven", Figures: []evidence.Figure{observation("kvbm_blocks_to_disk", 9000, "blocks", 1, math.Inf(1), true)}},
			},
		},
	}
	for phase, seconds := range map[string]float64{"warm_1": .181, "replay_1": .067} {
		first := &summary.Clocks{Send: &summary.Distribution{Mean: &seconds, P50: &seconds}}
		p.Rehydration.Run.Phases[phase+hostile] = summary.PhaseSummary{Requests: map[openai.Status]int{openai.StatusOK: 5}, Latency: &summary.Latency{TTFT: first}}
	}
	p.Rehydration.Run.Latency = &summary.Latency{TTFT: &summary.Clocks{}}
	p.Limits.Containers = []Container{{Host: "spark-blocks" + hostile, Limit: 64 * gib, Charged: 12.3 * gib, Held: 71 * gib}}
	p.Outputs = Outputs{Runs: []Judged{
		{Run: "wrong-1", Title: "An engine that brings back wrong blocks" + hostile, Wrong: true, Valid: true, Match: evidence.Signal{Grade: "contradicted", Reason: "outputs_differ", Figures: []evidence.Figure{observation("baseline_diverging", 0, "prompts", 0, 8, true), observation("replay_diverging", 8, "prompts", 0, 3, false)}}, Links: []Link{{"the run", "demo-1/trials/wrong/report.html"}}},
		{Run: "evict-1", Title: "The same engine, as it is", Valid: true, Match: evidence.Signal{Grade: "proven", Figures: []evidence.Figure{observation("replay_diverging", 0, "prompts", 0, 3, true)}}},
	}}
	p.Heat = exampleHeat(hostile)
	return p
}

func exampleHeat(hostile string) Heat {
	h := Heat{Host: "spark-heat"}
	temperature, frequency, watts := Curve{Title: "GPU temperature" + hostile, Unit: "°C"}, Curve{Title: "GPU clock", Unit: "GHz"}, Curve{Title: "GPU power", Unit: "W"}
	for i := range 120 {
		at, warm := morning.Add(time.Duration(i)*5*time.Second), 1-math.Exp(-float64(i)/30)
		if i > 80 {
			warm *= math.Exp(-float64(i-80) / 15)
		}
		if i == 50 || i == 51 || i == 52 || i == 53 {
			continue // nobody asked
		}
		temperature.Points = append(temperature.Points, Point{at, 40 + 58*warm})
		frequency.Points = append(frequency.Points, Point{at, 2.4 - .5*warm})
		watts.Points = append(watts.Points, Point{at, 20 + 70*warm})
	}
	h.Curves = []Curve{temperature, frequency, watts}
	h.Events = []Event{{Name: "the room is at 60 degrees, and everything works" + hostile, Alert: "GPUHot", Host: "spark-heat", From: morning.Add(20 * time.Second), Until: morning.Add(400 * time.Second)}}
	h.Firings = []Firing{
		{Alert: "GPUHot" + hostile, Severity: "warning", Host: "spark-heat", Summary: "GPU is at 93 degrees" + hostile, Runbook: "https://example.org/runbooks.md#gpuhot", Pending: morning.Add(200 * time.Second), From: morning.Add(260 * time.Second), Until: morning.Add(440 * time.Second)},
		{Alert: "GPUClockLow", Severity: "info", Host: "spark-heat", Summary: "clock is held down", Pending: morning.Add(420 * time.Second), From: morning.Add(500 * time.Second)},
	}
	return h
}

func observation(name string, value float64, unit string, lowest, highest float64, agrees bool) evidence.Figure {
	return evidence.Figure{Name: name, Value: value, Unit: unit, Expected: evidence.Range{lowest, highest}, Agrees: agrees}
}
