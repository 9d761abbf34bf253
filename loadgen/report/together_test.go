package report

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// cabled is what a machine says of its ConnectX port and of its office network, in bytes a second.
func cabled(rdma, office float64, trouble string) func(at float64) string {
	return func(at float64) string {
		return fmt.Sprintf(`uma_infiniband_port_data_received_bytes_total{device="rocep1s0f1",port="1"} %g
uma_infiniband_port_data_transmitted_bytes_total{device="rocep1s0f1",port="1"} %g
uma_infiniband_port_up{device="rocep1s0f1",port="1"} 1
uma_infiniband_port_errors_total{device="rocep1s0f1",port="1",kind="out_of_sequence"} %s
uma_network_receive_bytes_total{device="enP7s7"} %g
uma_network_transmit_bytes_total{device="enP7s7"} %g
uma_network_receive_dropped_total{device="enP7s7"} %g
`, 1e12+rdma*at, 5e11+rdma/2*at, strings.ReplaceAll(trouble, "AT", fmt.Sprint(at)), office*at, office*at, 3*at)
	}
}

// two is a run on two machines, each with its page; spark-1 is its host.
func two(t *testing.T, first, second exporterPage) Input {
	t.Helper()
	in := input()
	in.Labels["host"] = "spark-1"
	in.Phases = []Phase{{"warmup", 0, 5e9}, {"measure", 5e9, 15e9}}
	pages := map[string]exporterPage{"spark-1": first, "spark-2": second}
	for name, page := range pages {
		if page.mode == "" {
			page.mode = "live"
		}
		if page.rest == nil {
			page.rest = nothing
		}
		if page.replace == nil && name == "spark-2" {
			page.replace = strings.NewReplacer("GPU-1", "GPU-9") // no two machines have the same
		}
		pages[name] = page
	}
	log, stats := sampled(t, 15*time.Second, pages, "spark-2", "spark-1")
	in.Telemetry, in.TelemetryStats, in.TelemetryRequested = log, &stats, true
	return in
}

func linked() exporterPage { return exporterPage{per: cabled(3e9, 1000, "0")} }

func TestARunOnTwoMachinesHasALedgerOfEachAndTheEnergyOfBoth(t *testing.T) {
	s := summarize(t, two(t, linked(), linked()), steady(40)...)
	if !s.Valid || len(s.Machines) != 2 {
		t.Fatalf("valid %v %v, %d machines", s.Valid, s.InvalidReasons, len(s.Machines))
	}
	for _, m := range s.Machines {
		if m.Memory == nil || m.Memory.LedgerAt == nil || len(m.Memory.LedgerAt.Ready) == 0 || len(m.Memory.LedgerAt.Peak) == 0 {
			t.Errorf("%s: no ledger", m.Source)
		}
		if m.Energy.JoulesPerOutputToken != nil {
			t.Errorf("%s: half of the energy over all of the tokens", m.Source)
		}
	}
	if s.Memory.Source != "spark-1" || !slices.Equal(s.Together.Hosts, []string{"spark-1", "spark-2"}) {
		t.Errorf("memory of %s, together %v", s.Memory.Source, s.Together.Hosts)
	}
	if j := s.Together.Joules; j == nil || math.Abs(*j-800) > 1e-6 || math.Abs(*s.Together.JoulesPerOutputToken-800./320) > 1e-9 {
		t.Errorf("together %+v", s.Together)
	}
	var text bytes.Buffer
	if err := Text(&text, s); err != nil || !strings.Contains(text.String(), " J on spark-1\n") || !strings.Contains(text.String(), " GiB on spark-1\n") {
		t.Errorf("it is not said whose memory and energy it is: %v\n%s", err, &text)
	}
	for _, check := range []string{"thermal", "power", "swap", "counters", "telemetry"} {
		if !slices.Contains(s.Checked, check) {
			t.Errorf("%s is not checked: %v", check, s.Checked)
		}
	}
	if one := summarize(t, machine(t, linked()), steady(40)...); one.Together != nil || one.Energy.JoulesPerOutputToken == nil {
		t.Error("one machine is several")
	}
}

func TestWhatIsWrongWithTheSecondMachineIsWrongWithTheRun(t *testing.T) {
	all := map[Code]exporterPage{
		CodeThermalThrottle: {per: func(at float64) string {
			return fmt.Sprintf("uma_gpu_clock_event_seconds_total{uuid=\"GPU-2\",reason=\"hw_slowdown\"} %g\n", at)
		}},
		CodeSwapIn: {per: func(at float64) string {
			return fmt.Sprintf("uma_vmstat_swapped_in_bytes_total{x=\"1\"} %g\n", at*20*(1<<20))
		}},
		CodeCounterReset: {per: func(at float64) string {
			return fmt.Sprintf("uma_gpu_energy_joules_total{uuid=\"GPU-2\"} %g\n", math.Abs(8-at))
		}},
		CodePowerDeliveryFault: {replace: strings.NewReplacer("uma_gpu_sm_clock_hertz", "x1", "uma_gpu_power_watts", "x2", "uma_gpu_utilization_ratio", "x3", "CLOCK", "uma_gpu_sm_clock_hertz", "POWER", "uma_gpu_power_watts", "BUSY", "uma_gpu_utilization_ratio"),
			extra: "CLOCK{uuid=\"GPU-1\"} 8e8\nPOWER{uuid=\"GPU-1\"} 9\nBUSY{uuid=\"GPU-1\"} 0.9\n"},
		CodeForeignGPUProcess: {extra: `uma_gpu_process_memory_bytes{uuid="GPU-1",pid="1",comm="engine",cgroup="/e"} 5e10
uma_gpu_process_memory_bytes{uuid="GPU-1",pid="2",comm="train",cgroup="/t"} 4e9
`},
		CodeTelemetryLost: {silent: func(s float64) bool { return s > 9.5 && s < 12.5 }},
	}
	for code, page := range all {
		in := two(t, linked(), page)
		s := summarize(t, in, steady(40)...)
		if got := codes(s); !slices.Equal(got, []Code{code}) || !strings.Contains(s.InvalidReasons[0].Detail, "spark-2: ") || strings.Contains(s.InvalidReasons[0].Detail, "spark-1") {
			t.Errorf("%s: %v", code, s.InvalidReasons)
		}
		if code == CodeTelemetryLost {
			continue
		}
		in.TelemetryRequested = false // the other machine is followed by nobody's wish
		if s := summarize(t, in, steady(40)...); !s.Valid || s.Together != nil {
			t.Errorf("%s: a machine that nobody named is judged: %v", code, s.InvalidReasons)
		}
	}
}

func TestAMachineThatIsNotLiveIsNoPartOfTheEngine(t *testing.T) {
	hot := exporterPage{mode: "constructed", per: func(at float64) string {
		return fmt.Sprintf("uma_gpu_clock_event_seconds_total{uuid=\"GPU-2\",reason=\"hw_slowdown\"} %g\n", at)
	}}
	if s := summarize(t, two(t, linked(), hot), steady(40)...); !s.Valid || s.Together != nil || s.Energy.JoulesPerOutputToken == nil {
		t.Errorf("valid %v, together %+v", s.InvalidReasons, s.Together)
	}
}

func TestTheEnergyOfAllIsUnknownWithoutThatOfOne(t *testing.T) {
	blind := exporterPage{replace: strings.NewReplacer("uma_gpu_energy", "other")}
	s := summarize(t, two(t, linked(), blind), steady(40)...)
	if s.Together == nil || s.Together.Joules != nil || s.Together.JoulesPerOutputToken != nil || s.Energy == nil {
		t.Errorf("together %+v, energy of the host %+v", s.Together, s.Energy)
	}
}

// An exporter in a container and one beside it, or a machine by two of its addresses: its energy must not count twice.
func TestAMachineUnderTwoNamesIsSaid(t *testing.T) {
	again := linked()
	again.replace = strings.NewReplacer()
	s := summarize(t, two(t, linked(), again), steady(40)...)
	if s.Together == nil || s.Together.Joules != nil || s.Energy == nil {
		t.Errorf("together %+v, energy of the host %+v", s.Together, s.Energy)
	}
	said := func(w string) bool { return strings.Contains(w, "spark-1 and spark-2 show the same GPU") }
	if !slices.ContainsFunc(s.Warnings, said) {
		t.Errorf("%q", s.Warnings)
	}
	if s := summarize(t, two(t, linked(), linked()), steady(40)...); slices.ContainsFunc(s.Warnings, said) {
		t.Errorf("%q", s.Warnings)
	}
}

func TestTrafficIsOfEachMachineByPort(t *testing.T) {
	s := summarize(t, two(t, linked(), exporterPage{per: cabled(1e9, 0, "AT")}), steady(40)...)
	for _, c := range []struct {
		machine         string
		received, ports float64
	}{{"spark-1", 30e9, 2}, {"spark-2", 10e9, 2}} {
		for _, m := range s.Machines {
			if m.Source != c.machine {
				continue
			}
			port := m.Network.Ports[0]
			if float64(len(m.Network.Ports)) != c.ports || port.Device != "rocep1s0f1" || port.Port != "1" || math.Abs(*port.ReceivedBytes-c.received) > 1 || math.Abs(*port.SentBytes-c.received/2) > 1 || m.Network.Seconds != 10 {
				t.Errorf("%s: %+v", c.machine, m.Network)
			}
			if office := m.Network.Ports[1]; office.Port != "" || office.Errors["dropped on the way in"] != 30 {
				t.Errorf("%s: %+v", c.machine, office)
			}
		}
	}
	warnings := strings.Join(s.Warnings, "\n")
	if !strings.Contains(warnings, "telemetry of spark-2: RDMA rocep1s0f1/1 had trouble while it was measured: out_of_sequence 10") || strings.Contains(warnings, "spark-1: RDMA") || strings.Contains(warnings, "enP7s7") {
		t.Error(warnings)
	}
	var md, text bytes.Buffer
	page := Page{Title: "r", Summary: s}
	if err := Markdown(&md, s); err != nil {
		t.Fatal(err)
	}
	if err := Text(&text, s); err != nil {
		t.Fatal(err)
	}
	checkTables(t, md.String())
	html := render(t, page)
	for _, want := range []string{"RDMA rocep1s0f1/1", "27.9 GiB", "2.79 GiB/s"} {
		if !strings.Contains(md.String(), want) || !strings.Contains(html, want) {
			t.Errorf("no %q in the reports", want)
		}
	}
	if !strings.Contains(text.String(), "energy of all machines") || !strings.Contains(text.String(), "spark-1, spark-2") {
		t.Error(text.String())
	}
}

// What a counter lost when it began anew is not known, and a stretch is not the whole.
func TestTrafficThatIsNotKnownIsAbsent(t *testing.T) {
	fell := exporterPage{per: func(at float64) string {
		return fmt.Sprintf("uma_network_receive_bytes_total{device=\"a\"} %g\numa_network_transmit_bytes_total{device=\"a\"} %g\n", math.Abs(8-at), at)
	}}
	s := summarize(t, machine(t, fell), steady(40)...)
	if n := s.Machines[0].Network; !s.Valid || len(n.Ports) != 1 || n.Ports[0].ReceivedBytes != nil || *n.Ports[0].SentBytes != 10 {
		t.Errorf("valid %v, %+v", s.Valid, n)
	}
	border := linked()
	border.silent = func(at float64) bool { return at == 15 }
	if s := summarize(t, machine(t, border), steady(40)...); s.Machines[0].Network != nil {
		t.Error("traffic over a time whose end was not seen")
	}
	if s := summarize(t, machine(t, exporterPage{}), steady(40)...); s.Machines[0].Network != nil {
		t.Error("a network where none is told of")
	}
}

func TestTheSlowWayBetweenMachinesIsWarnedOf(t *testing.T) {
	const says = "the machines of the engine may talk over the slow way"
	slow := exporterPage{per: cabled(0, 50e6, "0")}
	down := exporterPage{per: cabled(0, 50e6, "0"), replace: strings.NewReplacer(`uma_infiniband_port_up{device="rocep1s0f1",port="1"} 1`, `uma_infiniband_port_up{device="rocep1s0f1",port="1"} 0`)}
	uncounted := exporterPage{per: cabled(0, 50e6, "0"), replace: strings.NewReplacer("uma_infiniband_port_data_", "other_")}
	untold := uncounted
	untold.replace = strings.NewReplacer("uma_infiniband_port_data_", "other_", "uma_infiniband_port_errors", "more")
	for name, c := range map[string]struct {
		in   Input
		want int
	}{
		"both slow":            {two(t, slow, slow), 2},
		"by RDMA":              {two(t, linked(), linked()), 0},
		"no link":              {two(t, down, down), 0},
		"nobody counts there":  {two(t, uncounted, uncounted), 0},
		"nothing but the link": {two(t, untold, untold), 0},
		"one machine":          {machine(t, slow), 0},
	} {
		if got := strings.Count(strings.Join(summarize(t, c.in, steady(40)...).Warnings, "\n"), says); got != c.want {
			t.Errorf("%s: warned %d times, want %d", name, got, c.want)
		}
	}
}

// Telemetry is dated by the clock of whoever asks: what a machine says at a moment that its own clock calls another is said
// at that moment.
func TestAMachineWithAnotherClockIsReadAtTheSameMoments(t *testing.T) {
	late := linked()
	late.per = func(at float64) string {
		return strings.ReplaceAll(cabled(3e9, 1000, "0")(at), "\n", fmt.Sprintf(" %.0f\n", 1e12+(at-3600)*1000)) // dated an hour ago
	}
	in := two(t, linked(), late)
	s := summarize(t, in, steady(40)...)
	if a, b := s.Machines[0].Network, s.Machines[1].Network; b == nil || len(a.Ports) != len(b.Ports) || *a.Ports[0].ReceivedBytes != *b.Ports[0].ReceivedBytes {
		t.Errorf("%+v and %+v", a, b)
	}
	if a, b := in.Telemetry.Source("spark-1").Samples, in.Telemetry.Source("spark-2").Samples; !slices.Equal(a, b) {
		t.Errorf("sampled at %v and %v", a, b)
	}
}

func TestTheFigureOfRDMAIsTheRateAndLeavesOpenWhatIsNotKnown(t *testing.T) {
	gap := linked()
	gap.silent = func(at float64) bool { return at > 7.5 && at < 9.5 }
	gap.replace = strings.NewReplacer("data_transmitted", "other")
	in := two(t, gap, exporterPage{per: cabled(0, 1000, "0")})
	source := in.Telemetry.Source("spark-1")
	at := track{in.Telemetry, source, 15, nil}
	var counted []telemetry.Point
	for _, series := range source.Find(metric.InfiniBandPortDataReceivedBytesTotal) {
		counted = slices.Collect(series.Points())
	}
	rates := at.perSecond(counted)
	for _, p := range rates {
		if math.Abs(p.Value-3e9) > 10 || p.AtNS == 10e9 {
			t.Errorf("%v a second at %v", p.Value, p.AtNS)
		}
	}
	moments := slices.CompactFunc(counted, func(a, b telemetry.Point) bool { return a.AtNS == b.AtNS }) // a border may be a sample's moment
	if len(rates) != len(moments)-2 || len(rates) < 10 {
		t.Errorf("%d rates of samples at %d moments with a gap", len(rates), len(moments))
	}
	if f := at.rdma(); f == nil || len(f.Legend) != 1 || f.Legend[0].Text != "received rocep1s0f1/1" || !strings.Contains(f.Title, "spark-1, live") {
		t.Errorf("figure %+v", f)
	}
	if f := (track{in.Telemetry, in.Telemetry.Source("spark-2"), 15, nil}).rdma(); f != nil {
		t.Error("a figure of a link that moved nothing")
	}
	if back := at.perSecond([]telemetry.Point{{AtNS: 5e9, Value: 9}, {AtNS: 6e9, Value: 3}}); len(back) != 0 {
		t.Errorf("a rate of a counter that fell: %v", back)
	}
}
