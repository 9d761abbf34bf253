package summary

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary/testrun"
	"github.com/umascope/umascope/loadgen/telemetry"
	"github.com/umascope/umascope/loadgen/traffic"
)

const mib = 1 << 20

// tenMinutes of memory, sampled once a second: noise of 40 MiB of which neighbours share 0.9, on something that grows.
func tenMinutes(seed uint64, grown func(second float64) float64) (moments, values []float64) {
	random := rand.New(rand.NewPCG(seed, 7))
	noise := 40. * mib * random.NormFloat64()
	for second := range 600 {
		moments = append(moments, float64(second))
		values = append(values, 2*testrun.GiB+noise+grown(float64(second)))
		noise = .9*noise + math.Sqrt(1-.9*.9)*40*mib*random.NormFloat64()
	}
	return moments, values
}

// Leaks of a known slope are found, with it in the interval; where there is none, or memory is taken once, none is.
func TestALeakIsFoundAndNoiseIsNone(t *testing.T) {
	const runs = 400
	least := leastGrowthOfPool * 119.7 * testrun.GiB // 2.04 MiB a minute
	for _, c := range []struct {
		name        string
		grown       func(second float64) float64
		slope       float64 // MiB a minute
		least, most float64 // share of the runs in which it grows
	}{
		{"nothing", func(float64) float64 { return 0 }, 0, 0, .01},
		{"a leak of 60 MiB/min", func(s float64) float64 { return s * mib }, 60, .99, 1},
		{"a leak of 20 MiB/min", func(s float64) float64 { return s / 3 * mib }, 20, .9, 1},
		{"less than counts", func(s float64) float64 { return s / 60 * mib }, 1, 0, .02},
		{"a gibibyte that is taken once", func(s float64) float64 { return map[bool]float64{true: testrun.GiB}[s > 300] }, math.NaN(), 0, .02},
		{"a cache that fills up", func(s float64) float64 { return testrun.GiB * (1 - math.Exp(-s/40)) }, math.NaN(), 0, .1},
		{"memory that is given back", func(s float64) float64 { return -s * mib }, -60, 0, 0},
	} {
		found, held := 0., 0.
		for seed := range uint64(runs) {
			g := Growth{}
			moments, values := tenMinutes(seed, c.grown)
			g.judge(moments, values, least)
			if g.Verdict == Grows {
				found++
			}
			if MiBPerMinute(g.CI95[0]) <= c.slope && c.slope <= MiBPerMinute(g.CI95[1]) {
				held++
			}
		}
		t.Logf("%s: found in %.4f, slope in the interval in %.3f", c.name, found/runs, held/runs)
		if found/runs < c.least || found/runs > c.most || !math.IsNaN(c.slope) && held/runs < .9 {
			t.Errorf("%s: found in %.4f of %d runs, slope in the interval in %.3f", c.name, found/runs, runs, held/runs)
		}
	}
}

// followed is a run of one machine whose memory is as a page says.
func followed(t *testing.T, total time.Duration, page testrun.Page) inputs {
	t.Helper()
	in := input(t)
	in.Phases = []rundir.Span{{Name: "warmup", EndNS: 5e9}, {Name: "measure", StartNS: 5e9, EndNS: total.Nanoseconds()}}
	in.Telemetry = testrun.Sampled(t, map[string]testrun.Page{"spark": page}, []telemetry.Phase{{Name: "warmup"}, {Name: "measure", AtNS: 5e9}}, total)
	in.EqualLoad = true
	return in
}

func TestTheGrowthOfARunIsItsOwn(t *testing.T) {
	leak := func(at float64) float64 { return testrun.Rest(at) + at*2*mib + math.Sin(at)*mib }
	s := summarize(t, followed(t, 4*time.Minute, testrun.Page{Mode: "live", Rest: leak}), testrun.Steady(40)...)
	verdicts := map[string]Growth{}
	for _, g := range s.Growth {
		verdicts[g.Quantity] = g
	}
	if g := verdicts["unattributed"]; g.Verdict != Grows || math.Abs(MiBPerMinute(*g.BytesPerSecond)-120) > 1 || g.Samples < 230 {
		t.Errorf("%+v", g)
	}
	// GPU-held memory rises in the first half minute and stays.
	if g := verdicts["gpu_held"]; g.Verdict != DoesNotGrow {
		t.Errorf("%+v", g)
	}
	if all := strings.Join(s.Warnings, "\n"); !strings.Contains(all, "telemetry of spark: unattributed memory grows at equal load by 120 MiB/min (95 % interval") || strings.Contains(all, "GPU-held") || !s.Valid {
		t.Errorf("warnings %q", s.Warnings)
	}
	for name, alter := range map[string]func(*inputs){
		"the load is not the same": func(in *inputs) { in.EqualLoad = false },
		"samples in":               func(in *inputs) { in.RampNS = int64(3 * time.Minute) },
	} {
		in := followed(t, 4*time.Minute, testrun.Page{Mode: "live", Rest: leak})
		alter(&in)
		for _, g := range summarize(t, in, testrun.Steady(40)...).Growth {
			if g.Verdict != GrowthNotObservable || !strings.Contains(g.Reason, name) || g.BytesPerSecond != nil {
				t.Errorf("%s: %+v", name, g)
			}
		}
	}
	if s := summarize(t, input(t), testrun.Steady(40)...); s.Growth != nil {
		t.Errorf("growth without telemetry: %+v", s.Growth)
	}
}

func TestLoadIsEqualWhereItsLevelStays(t *testing.T) {
	for want, phases := range map[bool][]rundir.PlannedPhase{
		true: {
			{Name: "measure", Process: traffic.ArrivalProcess{Arrival: traffic.Closed, Ramp: time.Second}}, {Name: "measure", Process: traffic.ArrivalProcess{Arrival: traffic.Poisson, RatePerSecond: 3}},
		},
		false: {
			{Name: "measure", Process: traffic.ArrivalProcess{Arrival: traffic.Closed, Stages: []traffic.Stage{{}}}}, {Name: "measure", Process: traffic.ArrivalProcess{Arrival: traffic.Recorded, Trace: &traffic.Trace{}}},
			{Name: "A", Process: traffic.ArrivalProcess{Arrival: traffic.Closed}}, {Name: "warmup", Process: traffic.ArrivalProcess{Arrival: traffic.Closed}},
		},
	} {
		for _, p := range phases {
			if equalLoad(p) != want {
				t.Errorf("%s", fmt.Sprint(p))
			}
		}
	}
}
