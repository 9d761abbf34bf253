package summary

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary/testrun"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// phased is a run of 30 s whose GPU draws 100 W from the first to the second of each pair of seconds, and 10 W else. Its phases
// reuse_1 and reuse_2 begin at 5 s and 15 s and carry load in those seconds only.
func phased(t *testing.T, silent func(seconds float64) bool, loads ...[2]float64) inputs {
	t.Helper()
	joules := func(at float64) float64 {
		total := 10 * at
		for _, l := range loads {
			total += 90 * min(max(at-l[0], 0), l[1]-l[0])
		}
		return total
	}
	page := testrun.Page{Mode: "live", Rest: testrun.Rest, Silent: silent, Replace: strings.NewReplacer("uma_gpu_energy_joules_total{uuid=\"GPU-1\"}", "other"),
		Per: func(at float64) string {
			return fmt.Sprintf("uma_gpu_energy_joules_total{uuid=\"GPU-9\"} %g\n", joules(at))
		}}
	in := input(t)
	in.Telemetry = testrun.Sampled(t, map[string]testrun.Page{"spark": page},
		[]telemetry.Phase{{Name: "warmup"}, {Name: "reuse_1", AtNS: 5e9}, {Name: "reuse_2", AtNS: 15e9}}, 30*time.Second)
	in.Phases = []rundir.Span{{Name: "warmup", EndNS: 5e9}}
	for i, l := range loads {
		in.Phases = append(in.Phases, rundir.Span{Name: fmt.Sprintf("reuse_%d", i+1), StartNS: int64(l[0] * 1e9), EndNS: int64(l[1] * 1e9)})
	}
	return in
}

// The machine is watched for a moment before and after the load of each phase. What it draws then went into no request.
func TestEnergyLeavesOutThePausesBetweenPhases(t *testing.T) {
	s := summarize(t, phased(t, nil, [2]float64{7, 9}, [2]float64{17, 20}), testrun.Steady(40)...)
	if s.Energy == nil || math.Abs(s.Energy.Joules-500) > 1e-6 || math.Abs(*s.Energy.JoulesPerOutputToken-500./(40*8)) > 1e-6 {
		t.Errorf("%+v of 500 J in 5 s of load", s.Energy)
	}
}

// A phase that ends between two samples has its share of what was counted between them.
func TestEnergyBetweenTwoSamplesIsSharedByTime(t *testing.T) {
	s := summarize(t, phased(t, nil, [2]float64{7.25, 9}, [2]float64{17, 20.5}), testrun.Steady(40)...)
	// From 7 to 8 s are 77.5 J, of which 0.75, and from 20 to 21 s are 55 J, of which 0.5 count.
	if want := .75*77.5 + 100 + 300 + .5*55; s.Energy == nil || math.Abs(s.Energy.Joules-want) > 1e-6 {
		t.Errorf("%+v, want %v J", s.Energy, want)
	}
}

func TestEnergyIsUnknownWhereTheSampleAtTheEndOfALoadFailed(t *testing.T) {
	silent := func(at float64) bool { return at > 19.5 && at < 20.5 }
	if s := summarize(t, phased(t, silent, [2]float64{7, 9}, [2]float64{17, 20.25}), testrun.Steady(40)...); s.Energy != nil {
		t.Errorf("%+v", s.Energy)
	}
}
