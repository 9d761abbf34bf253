package summary

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary/testrun"
)

// machinesOf are the machines of a run with these inputs.
func machinesOf(in inputs) Machines {
	all := readings(in)
	return Machines{ofMeasuredHost(all), measuredMachines(in, all)}
}

// TestWhatAPartOfARunUsedIsOfItsSpansOnly: the measured spans together have the energy of the summary, and a span that
// is not measured has its own.
func TestWhatAPartOfARunUsedIsOfItsSpansOnly(t *testing.T) {
	in := phased(t, nil, [2]float64{7, 9}, [2]float64{17, 20})
	m := machinesOf(in)
	s := summarize(t, in, testrun.Steady(40)...)
	if u := m.Used(in.measured()); u == nil || !u.PerToken || u.Seconds != 5 || math.Abs(*u.Joules-s.Energy.Joules) > 1e-6 {
		t.Errorf("%+v of %+v, %+v", u, s.Energy, s.Memory)
	}
	if u := m.Used([]rundir.Span{{Name: "reuse_2", StartNS: 17e9, EndNS: 20e9}}); math.Abs(*u.Joules-300) > 1e-6 || u.Seconds != 3 {
		t.Errorf("%v J in %v s, want 300 in 3", *u.Joules, u.Seconds)
	}
	first, second := m.Used([]rundir.Span{{StartNS: 7e9, EndNS: 9e9}}), m.Used([]rundir.Span{{StartNS: 17e9, EndNS: 20e9}})
	if !(*first.MemoryLeft > *second.MemoryLeft && *second.MemoryLeft >= *s.Memory.AvailableMin) {
		t.Errorf("%v and then %v bytes are left, %v in the whole run", *first.MemoryLeft, *second.MemoryLeft, *s.Memory.AvailableMin)
	}
	if u := m.Used([]rundir.Span{{Name: "warmup", StartNS: 1e9, EndNS: 4e9}}); math.Abs(*u.Joules-30) > 1e-6 {
		t.Errorf("%v J of 3 s at 10 W", *u.Joules)
	}
	if u := m.Used([]rundir.Span{{StartNS: 20e9, EndNS: 31e9}}); u.Joules != nil {
		t.Errorf("%v J until after the last sample", *u.Joules)
	}
	if u := m.Used(nil); u != nil {
		t.Errorf("%+v of no span", u)
	}
	if u := (Machines{}).Used(in.measured()); u != nil {
		t.Errorf("%+v of no machine", u)
	}
}

func TestWhatSeveralMachinesUsedIsTheirSumOrUnknown(t *testing.T) {
	second := testrun.Page{Replace: strings.NewReplacer("GPU-1", "GPU-2")}
	in := two(t, testrun.Linked(), second)
	if u, s := machinesOf(in).Used(in.measured()), summarize(t, in, testrun.Steady(40)...); !u.PerToken || math.Abs(*u.Joules-*s.Together.Joules) > 1e-6 {
		t.Errorf("%v J, want %v", *u.Joules, *s.Together.Joules)
	}
	blind := testrun.Page{Replace: strings.NewReplacer("uma_gpu_energy", "other", "GPU-1", "GPU-2")}
	if in = two(t, testrun.Linked(), blind); machinesOf(in).Used(in.measured()).Joules != nil {
		t.Error("the energy of one machine stands for that of two")
	}
	again := testrun.Linked()
	again.Replace = strings.NewReplacer() // the same GPU by another name
	if in = two(t, testrun.Linked(), again); machinesOf(in).Used(in.measured()).Joules != nil {
		t.Error("the energy of one machine is counted twice")
	}
}

// TestEnergyOfAMachineThatIsNotLiveIsNotThatOfTheTokens, and a snapshot uses none.
func TestEnergyOfAMachineThatIsNotLiveIsNotThatOfTheTokens(t *testing.T) {
	for mode, uses := range map[string]bool{"live": true, "simulated": true, "replay": false, "constructed": false} {
		in := healthy(t, testrun.Page{Mode: mode})
		u := machinesOf(in).Used(in.measured())
		if (u.Joules != nil) != uses || u.PerToken != (mode == "live") || u.Mode != mode || u.MemoryLeft == nil {
			t.Errorf("%s: %+v", mode, u)
		}
	}
}

// TestMemoryLeftIsThatOfTheFullestDeviceWhereGPUsHaveTheirOwn.
func TestMemoryLeftIsThatOfTheFullestDeviceWhereGPUsHaveTheirOwn(t *testing.T) {
	discrete := func(free string) testrun.Page {
		return testrun.Page{Replace: strings.NewReplacer("uma_memory_cuda_free_bytes", "other"), Per: func(float64) string { return free }}
	}
	in := healthy(t, discrete(fmt.Sprintf("uma_gpu_memory_free_bytes{uuid=\"GPU-1\"} %g\numa_gpu_memory_free_bytes{uuid=\"GPU-2\"} %g\n", 3e9, 2e9)))
	if u := machinesOf(in).Used(in.measured()); u.MemoryLeft == nil || *u.MemoryLeft != 2e9 {
		t.Errorf("%v bytes left, want 2e9", u.MemoryLeft)
	}
	in = healthy(t, discrete(""))
	if u := machinesOf(in).Used(in.measured()); u.MemoryLeft != nil {
		t.Errorf("%v bytes left of a pool that GPUs have nothing of", *u.MemoryLeft)
	}
}
