package summary

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary/testrun"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// drives serves the counters of two drives: one reads 100 bytes a second until second 10, the other writes 7 throughout.
func drives(at float64) string {
	return fmt.Sprintf("uma_nvme_read_bytes_total{device=\"nvme0n1\"} %g\numa_disk_written_bytes_total{device=\"sda\"} %g\n",
		100*math.Min(at, 10), 7*at)
}

func TestEachPhaseSaysWhatGPUsAndDrivesDid(t *testing.T) {
	in := input(t)
	in.Phases = []rundir.Span{{Name: "warmup", StartNS: 0, EndNS: 10e9}, {Name: "measure", StartNS: 10e9, EndNS: 20e9}}
	page := testrun.Page{Mode: "live", Rest: testrun.Rest, Per: drives}
	in.Telemetry = testrun.Sampled(t, map[string]testrun.Page{"spark": page}, []telemetry.Phase{{Name: "warmup"}, {Name: "measure", AtNS: 10e9}}, 20*time.Second)
	s := summarize(t, in, testrun.Steady(40)...)
	want := func(what string, got *float64, want float64) {
		t.Helper()
		if got == nil || math.Abs(*got-want) > 1e-6 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	warmup, measure := s.Phases["warmup"].Work, s.Phases["measure"].Work
	want("read in the warm-up", warmup.Drives["nvme0n1"].Read, 1000)
	want("read in the measurement", measure.Drives["nvme0n1"].Read, 0)
	want("written in the measurement", measure.Drives["sda"].Written, 70)
	want("written in the run", s.Work.WrittenBytes(), 70)
	want("read in the run", s.Work.ReadBytes(), 0)
	if measure.Drives["sda"].Read != nil {
		t.Errorf("a counter that is not there: %v", *measure.Drives["sda"].Read)
	}
	if *warmup.GPUUtilizationMean >= *measure.GPUUtilizationMean {
		t.Errorf("the load grows: utilization %v then %v", *warmup.GPUUtilizationMean, *measure.GPUUtilizationMean)
	}
	if held := *s.Phases["measure"].GPUHeldPeak; held != *s.Memory.GPUHeldPeak || held <= *s.Phases["warmup"].GPUHeldPeak {
		t.Errorf("GPU-held %v in the warm-up, then %v, %v in the run", *s.Phases["warmup"].GPUHeldPeak, held, *s.Memory.GPUHeldPeak)
	}
	want("utilization of the run", s.Work.GPUUtilizationMean, *measure.GPUUtilizationMean)
}

func TestADriveWithoutCountersOfAPhaseHasNoBytes(t *testing.T) {
	for name, page := range map[string]testrun.Page{
		"the counter started again": {Mode: "live", Rest: testrun.Rest, Per: func(at float64) string { return drives(math.Mod(at, 7)) }},
		"a snapshot":                {Mode: "replay", Rest: testrun.Rest, Per: drives},
	} {
		t.Run(name, func(t *testing.T) {
			s := summarize(t, machine(t, page), testrun.Steady(40)...)
			if s.Work == nil || len(s.Work.Drives) != 0 {
				t.Errorf("work %+v", s.Work)
			}
		})
	}
}
