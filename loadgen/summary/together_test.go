package summary

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/summary/testrun"
)

func TestWhatIsWrongWithTheSecondMachineIsWrongWithTheRun(t *testing.T) {
	all := map[Code]testrun.Page{
		CodeThermalThrottle: {Per: func(at float64) string {
			return fmt.Sprintf("uma_gpu_clock_event_seconds_total{uuid=\"GPU-2\",reason=\"hw_slowdown\"} %g\n", at)
		}},
		CodeSwapIn: {Per: func(at float64) string {
			return fmt.Sprintf("uma_vmstat_swapped_in_bytes_total{x=\"1\"} %g\n", at*20*(1<<20))
		}},
		CodeCounterReset: {Per: func(at float64) string {
			return fmt.Sprintf("uma_gpu_energy_joules_total{uuid=\"GPU-2\"} %g\n", math.Abs(8-at))
		}},
		CodePowerDeliveryFault: {Replace: strings.NewReplacer("uma_gpu_sm_clock_hertz", "x1", "uma_gpu_power_watts", "x2", "uma_gpu_utilization_ratio", "x3", "CLOCK", "uma_gpu_sm_clock_hertz", "POWER", "uma_gpu_power_watts", "BUSY", "uma_gpu_utilization_ratio"),
			Extra: "CLOCK{uuid=\"GPU-1\"} 8e8\nPOWER{uuid=\"GPU-1\"} 9\nBUSY{uuid=\"GPU-1\"} 0.9\n"},
		CodeForeignGPUProcess: {Extra: `uma_gpu_process_memory_bytes{uuid="GPU-1",pid="1",comm="engine",cgroup="/e"} 5e10
uma_gpu_process_memory_bytes{uuid="GPU-1",pid="2",comm="train",cgroup="/t"} 4e9
`},
		CodeTelemetryLost: {Silent: func(s float64) bool { return s > 9.5 && s < 12.5 }},
	}
	for code, page := range all {
		in := two(t, testrun.Linked(), page)
		s := summarize(t, in, testrun.Steady(40)...)
		if got := codes(s); !slices.Equal(got, []Code{code}) || !strings.Contains(s.InvalidReasons[0].Detail, "spark-2: ") || strings.Contains(s.InvalidReasons[0].Detail, "spark-1") {
			t.Errorf("%s: %v", code, s.InvalidReasons)
		}
		if code == CodeTelemetryLost {
			continue
		}
		in.TelemetryRequested = false // the other machine is followed by nobody's wish
		if s := summarize(t, in, testrun.Steady(40)...); !s.Valid || s.Together != nil {
			t.Errorf("%s: a machine that nobody named is judged: %v", code, s.InvalidReasons)
		}
	}
}

func TestAMachineThatIsNotLiveIsNoPartOfTheEngine(t *testing.T) {
	hot := testrun.Page{Mode: "constructed", Per: func(at float64) string {
		return fmt.Sprintf("uma_gpu_clock_event_seconds_total{uuid=\"GPU-2\",reason=\"hw_slowdown\"} %g\n", at)
	}}
	if s := summarize(t, two(t, testrun.Linked(), hot), testrun.Steady(40)...); !s.Valid || s.Together != nil || s.Energy.JoulesPerOutputToken == nil {
		t.Errorf("valid %v, together %+v", s.InvalidReasons, s.Together)
	}
}

func TestTheEnergyOfAllIsUnknownWithoutThatOfOne(t *testing.T) {
	blind := testrun.Page{Replace: strings.NewReplacer("uma_gpu_energy", "other")}
	s := summarize(t, two(t, testrun.Linked(), blind), testrun.Steady(40)...)
	if s.Together == nil || s.Together.Joules != nil || s.Together.JoulesPerOutputToken != nil || s.Energy == nil {
		t.Errorf("together %+v, energy of the host %+v", s.Together, s.Energy)
	}
}

// An exporter in a container and one beside it, or a machine by two of its addresses: its energy must not count twice.
func TestAMachineUnderTwoNamesIsWarnedAbout(t *testing.T) {
	again := testrun.Linked()
	again.Replace = strings.NewReplacer()
	s := summarize(t, two(t, testrun.Linked(), again), testrun.Steady(40)...)
	if s.Together == nil || s.Together.Joules != nil || s.Energy == nil {
		t.Errorf("together %+v, energy of the host %+v", s.Together, s.Energy)
	}
	said := func(w string) bool { return strings.Contains(w, "spark-1 and spark-2 show the same GPU") }
	if !slices.ContainsFunc(s.Warnings, said) {
		t.Errorf("%q", s.Warnings)
	}
	if s := summarize(t, two(t, testrun.Linked(), testrun.Linked()), testrun.Steady(40)...); slices.ContainsFunc(s.Warnings, said) {
		t.Errorf("%q", s.Warnings)
	}
}

// What a counter lost when it began anew is not known, and a stretch is not the whole.
func TestTrafficThatIsNotKnownIsAbsent(t *testing.T) {
	fell := testrun.Page{Per: func(at float64) string {
		return fmt.Sprintf("uma_network_receive_bytes_total{device=\"a\"} %g\numa_network_transmit_bytes_total{device=\"a\"} %g\n", math.Abs(8-at), at)
	}}
	s := summarize(t, machine(t, fell), testrun.Steady(40)...)
	if n := s.Machines[0].Network; !s.Valid || len(n.Ports) != 1 || n.Ports[0].ReceivedBytes != nil || *n.Ports[0].SentBytes != 10 {
		t.Errorf("valid %v, %+v", s.Valid, n)
	}
	border := testrun.Linked()
	border.Silent = func(at float64) bool { return at == 15 }
	if s := summarize(t, machine(t, border), testrun.Steady(40)...); s.Machines[0].Network != nil {
		t.Error("traffic over a time whose end was not seen")
	}
	if s := summarize(t, machine(t, testrun.Page{}), testrun.Steady(40)...); s.Machines[0].Network != nil {
		t.Error("a network where none is told of")
	}
}

func TestTheSlowWayBetweenMachinesIsWarnedOf(t *testing.T) {
	const says = "the machines of the engine may talk over the slow way"
	slow := testrun.Page{Per: testrun.Cabled(0, 50e6, "0")}
	down := testrun.Page{Per: testrun.Cabled(0, 50e6, "0"), Replace: strings.NewReplacer(`uma_infiniband_port_up{device="rocep1s0f1",port="1"} 1`, `uma_infiniband_port_up{device="rocep1s0f1",port="1"} 0`)}
	uncounted := testrun.Page{Per: testrun.Cabled(0, 50e6, "0"), Replace: strings.NewReplacer("uma_infiniband_port_data_", "other_")}
	untold := uncounted
	untold.Replace = strings.NewReplacer("uma_infiniband_port_data_", "other_", "uma_infiniband_port_errors", "more")
	for name, c := range map[string]struct {
		in   inputs
		want int
	}{
		"both slow":            {two(t, slow, slow), 2},
		"by RDMA":              {two(t, testrun.Linked(), testrun.Linked()), 0},
		"no link":              {two(t, down, down), 0},
		"nobody counts there":  {two(t, uncounted, uncounted), 0},
		"nothing but the link": {two(t, untold, untold), 0},
		"one machine":          {machine(t, slow), 0},
	} {
		if got := strings.Count(strings.Join(summarize(t, c.in, testrun.Steady(40)...).Warnings, "\n"), says); got != c.want {
			t.Errorf("%s: warned %d times, want %d", name, got, c.want)
		}
	}
}

// Telemetry is dated by the clock of whoever asks: what a machine says at a moment that its own clock calls another is said
// at that moment.
func TestAMachineWithAnotherClockIsReadAtTheSameMoments(t *testing.T) {
	late := testrun.Linked()
	late.Per = func(at float64) string {
		return strings.ReplaceAll(testrun.Cabled(3e9, 1000, "0")(at), "\n", fmt.Sprintf(" %.0f\n", 1e12+(at-3600)*1000)) // dated an hour ago
	}
	in := two(t, testrun.Linked(), late)
	s := summarize(t, in, testrun.Steady(40)...)
	if a, b := s.Machines[0].Network, s.Machines[1].Network; b == nil || len(a.Ports) != len(b.Ports) || *a.Ports[0].ReceivedBytes != *b.Ports[0].ReceivedBytes {
		t.Errorf("%+v and %+v", a, b)
	}
	if a, b := in.Telemetry.Source("spark-1").Samples, in.Telemetry.Source("spark-2").Samples; !slices.Equal(a, b) {
		t.Errorf("sampled at %v and %v", a, b)
	}
}
