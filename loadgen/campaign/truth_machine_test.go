package campaign_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/rundir"
)

// truthPlan is that of all campaigns here, but for its order.
const truthPlan = `
schema: umascope.plan/1
name: truth
order: %s
iterations: %d
models: [{name: model}]
arms:
  - {name: native, processes: [{name: engine, argv: [serve]}]}
  - {name: container, processes: [{name: engine, argv: [serve]}]}
scenarios: [{name: steady, run: {scenario: chat}}]
flags: {endpoint: "http://127.0.0.1:8000"}
gates: {cooldown: 5m}
on_invalid: {repeat: 9}
`

// made is a run that a campaign has made.
type made struct {
	name, arm, pair string
	start, end      time.Time
	valid           bool
}

// carryOut carries a plan out by the runner itself, on a virtual clock: engines load for two minutes, runs
// take eight to twelve, and one of twenty is invalid and repeated in its slot.
func carryOut(t *testing.T, order plan.Order, seed uint64, dir string) (runs []made) {
	random := rand.New(rand.NewPCG(seed, 1))
	p, err := plan.Parse("truth.yaml", fmt.Appendf(nil, truthPlan, order, rounds))
	if err != nil {
		t.Fatal(err)
	}
	measure := func(ctx context.Context, o campaign.Order) campaign.Result {
		if _, err := o.Engine.Before(ctx, func(string) {}, func(string, time.Time) {}); err != nil {
			t.Fatal(err)
		}
		defer o.Engine.After(ctx)
		run := made{name: o.Run, arm: o.Labels["arm"], pair: o.Labels["pair"], start: time.Now(), valid: random.Float64() > .05}
		time.Sleep(8*time.Minute + time.Duration(random.Int64N(int64(4*time.Minute))))
		run.end = time.Now()
		runs = append(runs, run)
		if !run.valid {
			return campaign.Result{Status: campaign.Invalid}
		}
		return campaign.Result{Status: campaign.Finished}
	}
	c := campaign.Campaign{Plan: p, SHA256: "truth", Dir: dir, Log: slog.New(slog.DiscardHandler), Operations: campaign.Operations{
		Name:    func(s plan.Slot) string { return fmt.Sprintf("%s-%d-%d", s.Arm, s.Iteration, len(runs)) },
		Measure: measure,
		Up: func(context.Context, plan.Arm, string) (campaign.Engine, error) {
			time.Sleep(2 * time.Minute)
			return campaign.Engine{Lost: context.Background(), Down: func(context.Context) error { return nil }}, nil
		},
		Leftovers: func(context.Context, plan.Arm, string) ([]string, error) { return nil, nil },
		Down:      func(context.Context, plan.Arm, string) error { return nil },
		PageCache: func(context.Context, plan.PageCache) rundir.PageCache { return rundir.PageCache{} },
		Machine:   func(context.Context, *plan.Cell) campaign.Machine { return campaign.Machine{} },
	}}
	synctest.Test(t, func(t *testing.T) {
		invocation, err := c.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer invocation.Close()
		if out, err := invocation.Run(t.Context()); err != nil || out.State != campaign.Complete {
			t.Fatalf("%v, %v", out, err)
		}
	})
	return runs
}

// carriedOut are the campaigns of all seeds. Their folders lie in memory where there is such a place: a
// journal waits for its disk after every line.
func carriedOut(t *testing.T, order plan.Order) [][]made {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "truth")
	if err != nil {
		dir = t.TempDir()
	}
	defer os.RemoveAll(dir)
	all := make([][]made, seeds)
	for i := range all {
		all[i] = carryOut(t, order, uint64(i), filepath.Join(dir, fmt.Sprint(i)))
	}
	return all
}

// machine is made up: two arms on it differ by what is set here, and by nothing else.
type machine struct {
	// slower is how much less of its throughput the candidate gives.
	slower float64
	// cv is the spread of a run's throughput and latency, relative; latency its seconds to the first token,
	// of no interest if it is 0.
	cv, latency float64
	// heavier is how much more memory the candidate takes, in GiB; memorySD the spread of a run.
	heavier, memorySD float64
	// carried is the memory, in GiB, that is still taken from the other arm when arms change, such as its
	// page cache; it decays with the time constant fading.
	carried float64
	fading  time.Duration
	// slowing is the share of its throughput that the machine loses in an hour, whatever runs.
	slowing float64
}

const gib = 1 << 30

// figures are what the runs of a campaign would have measured on the machine.
func (m machine) figures(campaign []made, seed uint64) []compare.Run {
	random := rand.New(rand.NewPCG(seed, 2))
	began := campaign[0].start
	changed := began
	var runs []compare.Run
	for i, run := range campaign {
		if i > 0 && run.arm != campaign[i-1].arm {
			changed = run.start
		}
		up, held := run.start.Sub(began), run.start.Sub(changed)
		speed, memory := 120*math.Pow(1-m.slowing, up.Hours()), 70+m.memorySD*random.NormFloat64()
		if run.arm == candidate {
			speed *= 1 - m.slower
			memory += m.heavier
		}
		if changed.After(began) && m.carried > 0 { // the first arm follows none
			memory += m.carried * math.Exp(-held.Seconds()/m.fading.Seconds())
		}
		metrics := map[string]float64{
			figure.OutputTokensPerSecond:   speed * math.Exp(m.cv*random.NormFloat64()),
			figure.MemoryOccupiedWithoutKV: gib * memory,
		}
		if m.latency > 0 {
			metrics[figure.TimeToFirstToken] = m.latency * math.Exp(m.cv*random.NormFloat64())
		}
		runs = append(runs, compare.Run{
			ID: run.name, Labels: map[string]string{"arm": run.arm}, Pair: run.pair,
			Model: "model", Scenario: "chat", WorkloadSHA256: "same", Valid: run.valid,
			StartedAt: run.start, EndedAt: run.end, Mode: "simulated", Simulated: true, Metrics: metrics,
		})
	}
	return runs
}
