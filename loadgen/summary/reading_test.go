package summary

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary/testrun"
	"github.com/umascope/umascope/loadgen/telemetry"
)

const kvPages = `uma_engine_kv_capacity_bytes{source="127.0.0.1:8000/metrics",model="m"} 32212254720
uma_engine_kv_capacity_tokens{source="127.0.0.1:8000/metrics",model="m"} 250000
`

func TestTheKVCacheIsThatOfTheEnginesPage(t *testing.T) {
	s := summarize(t, machine(t, testrun.Page{Extra: kvPages}), testrun.Steady(40)...)
	if s.KV == nil || !near(s.KV.CapacityBytes, 30*testrun.GiB) || !near(s.KV.CapacityTokens, 250000) || s.KV.Source != "127.0.0.1:8000/metrics" {
		t.Fatalf("KV cache %+v", s.KV)
	}
	// At ready, 5 s: pool - free is all but what is free.
	free := (119.7 - 70 - 6 - 9 - 1.4 - 1.1) * testrun.GiB
	if got, want := *s.Memory.OccupiedWithoutKV, 119.7*testrun.GiB-free-30*testrun.GiB; got < want*.99999 || got > want*1.00001 {
		t.Errorf("%v bytes occupied without KV cache, want %v", got, want)
	}
	if s.Memory.FreeAtKVSizing != nil {
		t.Error("the run did not see the engine load and knows what was free then")
	}
}

func TestWhatThePhasesBeforeSawIsNoFigureOfTheMeasuredOnes(t *testing.T) {
	// Warm-up until 5 s: hotter, fuller, with less free memory; and busy without working.
	warmup := func(at float64, before, after string) string {
		if at < 5 {
			return before
		}
		return after
	}
	page := testrun.Page{
		Replace: strings.NewReplacer("uma_gpu_temperature", "other_temperature", "uma_gpu_memory_held", "other_held", "uma_gpu_sm_clock", "other_clock",
			"TEMPERATURE", "uma_gpu_temperature_celsius", "HELD", "uma_gpu_memory_held_bytes", "CLOCK", "uma_gpu_sm_clock_hertz",
			"uma_gpu_power", "other_power", "POWER", "uma_gpu_power_watts", "uma_gpu_utilization", "other_utilization", "BUSY", "uma_gpu_utilization_ratio"),
		Per: func(at float64) string {
			return warmup(at, "TEMPERATURE 90\nHELD 9e10\nCLOCK 1e9\nPOWER 9\nBUSY 0.9\n", "TEMPERATURE 60\nHELD 5e10\nCLOCK 2e9\nPOWER 60\nBUSY 0.9\n")
		},
	}
	s := summarize(t, machine(t, page), testrun.Steady(40)...)
	if !near(s.Thermal.StartCelsius, 60) || !near(s.Thermal.MaxCelsius, 60) || !near(s.Memory.GPUHeldPeak, 5e10) || !s.Valid {
		t.Errorf("thermal %+v, held %v, reasons %v", s.Thermal, *s.Memory.GPUHeldPeak, s.InvalidReasons)
	}
	if !strings.Contains(strings.Join(s.Warnings, "\n"), "software power cap for 3.33 s of 10 s") {
		t.Errorf("warnings %q", s.Warnings)
	}
}

func TestAGPUThatSleepsThroughTheWarmUpIsWarnedAbout(t *testing.T) {
	for name, test := range map[string]struct {
		state func(at float64) int
		want  *float64
		told  bool
	}{
		"asleep until it measures": {func(at float64) int { return map[bool]int{true: 8, false: 0}[at < 7] }, new(8.), true},
		"awake within the warm-up": {func(at float64) int { return map[bool]int{true: 8, false: 0}[at < 3] }, new(0.), false},
		"a GeForce card computes":  {func(float64) int { return 2 }, new(2.), false},
	} {
		page := testrun.Page{Per: func(at float64) string {
			return fmt.Sprintf("uma_gpu_performance_state{uuid=\"GPU-1\"} %d\n", test.state(at))
		}}
		s := summarize(t, machine(t, page), testrun.Steady(40)...)
		if got := s.Thermal.WarmupPerformanceState; got == nil || *got != *test.want {
			t.Errorf("%s: fastest state %v, want %v", name, got, *test.want)
		}
		if told := strings.Contains(strings.Join(s.Warnings, "\n"), "performance state P8"); told != test.told {
			t.Errorf("%s: warnings %q", name, s.Warnings)
		}
	}
	if s := summarize(t, machine(t, testrun.Page{}), testrun.Steady(40)...); s.Thermal.WarmupPerformanceState != nil {
		t.Error("a state that the driver does not tell is there")
	}
}

func TestPagesThatAgreeAreOneKVCacheAndOthersNone(t *testing.T) {
	frontend := strings.ReplaceAll(kvPages, "127.0.0.1:8000", "127.0.0.1:9000")
	s := summarize(t, machine(t, testrun.Page{Extra: kvPages + frontend}), testrun.Steady(40)...)
	if s.KV == nil || !near(s.KV.CapacityBytes, 30*testrun.GiB) {
		t.Errorf("two pages that agree: %+v", s.KV)
	}
	s = summarize(t, machine(t, testrun.Page{Extra: kvPages + strings.ReplaceAll(frontend, "250000", "125000")}), testrun.Steady(40)...)
	if s.KV != nil || s.Memory.OccupiedWithoutKV != nil || !strings.Contains(strings.Join(s.Warnings, "\n"), "KV caches of different size") {
		t.Errorf("two pages that disagree: %+v, warnings %q", s.KV, s.Warnings)
	}
	if s := summarize(t, machine(t, testrun.Page{}), testrun.Steady(40)...); s.KV != nil || s.Memory.OccupiedWithoutKV != nil {
		t.Errorf("no page: %+v", s.KV)
	}
}

func TestWhatWasFreeWhenTheKVCacheWasSized(t *testing.T) {
	for name, test := range map[string]struct {
		pause bool
		want  *float64
	}{
		"taken after the weights":  {true, ptr(80 * testrun.GiB)},
		"weights and cache in one": {false, nil},
	} {
		free := testrun.LoadingEngine(test.pause)
		page := testrun.Page{Mode: "live", Rest: testrun.Rest, Extra: kvPages, Per: func(at float64) string {
			return fmt.Sprintf("FREE %g\n", free(at)*testrun.GiB)
		}, Replace: strings.NewReplacer("uma_memory_cuda_free_bytes", "healthy", "FREE", "uma_memory_cuda_free_bytes")}
		log := testrun.Sampled(t, map[string]testrun.Page{"spark": page}, []telemetry.Phase{{Name: "load"}, {Name: "measure", AtNS: 10e9}}, 15*time.Second)
		in := input(t)
		in.Telemetry, in.Phases = log, []rundir.Span{{Name: "load", StartNS: 0, EndNS: 10e9}, {Name: "measure", StartNS: 10e9, EndNS: 15e9}}
		s := summarize(t, in, testrun.Steady(40)...)
		if got := s.Memory.FreeAtKVSizing; (got == nil) != (test.want == nil) || (got != nil && *got != *test.want) {
			t.Errorf("%s: %s, want %s", name, format.Optional(got, format.Bytes), format.Optional(test.want, format.Bytes))
		}
	}
}

func TestAProcessThatIsNotTheEnginesIsForeignWhenItHoldsMuch(t *testing.T) {
	process := func(pid int, comm, cgroup string, bytes float64) string {
		return fmt.Sprintf("uma_gpu_process_memory_bytes{uuid=\"GPU-1\",pid=\"%d\",comm=%q,cgroup=%q} %g\n", pid, comm, cgroup, bytes)
	}
	engine := process(10, "engine", "/docker/a", 60*testrun.GiB) + process(11, "worker", "/docker/a", testrun.GiB)
	for name, test := range map[string]struct {
		page   string
		limits []string
		want   []Code
	}{
		"workers of the engine":       {page: engine},
		"a small one":                 {page: engine + process(12, "Xorg", "/user.slice", 255<<20)},
		"a large one":                 {page: engine + process(12, "python", "/user.slice", 257<<20), want: []Code{CodeForeignGPUProcess}},
		"allowed by an own limit":     {page: engine + process(12, "python", "/user.slice", 257<<20), limits: []string{"foreign_gpu_process=1024MiB"}},
		"no cgroups, another name":    {page: process(10, "engine", "/", 60*testrun.GiB) + process(12, "python", "/", testrun.GiB), want: []Code{CodeForeignGPUProcess}},
		"no cgroups, several workers": {page: process(10, "engine", "/", 60*testrun.GiB) + process(12, "engine", "/", testrun.GiB)},
	} {
		in := machine(t, testrun.Page{Extra: test.page})
		var err error
		if in.Limits, err = ParseLimits(test.limits); err != nil {
			t.Fatal(err)
		}
		s := summarize(t, in, testrun.Steady(40)...)
		if got := codes(s); !slices.Equal(got, test.want) || !slices.Contains(s.Checked, "gpu_processes") {
			t.Errorf("%s: %v, checked %v", name, s.InvalidReasons, s.Checked)
		}
	}
}

func TestARunThatWasStoppedIsNeverValid(t *testing.T) {
	in := input(t)
	in.Stopped = "interrupted before its plan ended"
	s := summarize(t, in, testrun.Steady(40)...)
	if got := codes(s); s.Valid || !slices.Equal(got, []Code{CodeIncomplete}) {
		t.Errorf("valid %v, reasons %v", s.Valid, s.InvalidReasons)
	}
}
