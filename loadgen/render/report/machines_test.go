package report

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/summary/testrun"
	"github.com/umascope/umascope/loadgen/telemetry"
)

func TestARunOnTwoMachinesHasALedgerOfEachAndTheEnergyOfBoth(t *testing.T) {
	s := summarize(t, testrun.TwoMachines(t, testrun.Linked(), testrun.Linked(), testrun.Steady(40)...))
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
	if err := Text(&text, s); err != nil || !strings.Contains(text.String(), " J on spark-1\n") || !strings.Contains(text.String(), "memory on spark-1  ") {
		t.Errorf("it is not said whose memory and energy it is: %v\n%s", err, &text)
	}
	for _, check := range []string{"thermal", "power", "swap", "counters", "telemetry"} {
		if !slices.Contains(s.Checked, check) {
			t.Errorf("%s is not checked: %v", check, s.Checked)
		}
	}
	if one := summarize(t, testrun.OneMachine(t, testrun.Linked(), testrun.Steady(40)...)); one.Together != nil || one.Energy.JoulesPerOutputToken == nil {
		t.Error("one machine is several")
	}
}

func TestTrafficIsOfEachMachineByPort(t *testing.T) {
	s := summarize(t, testrun.TwoMachines(t, testrun.Linked(), testrun.Page{Per: testrun.Cabled(1e9, 0, "AT")}, testrun.Steady(40)...))
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
	html := rendered(t, page)
	for _, want := range []string{"RDMA rocep1s0f1/1", "27.9 GiB", "2.79 GiB/s"} {
		if !strings.Contains(md.String(), want) || !strings.Contains(html, want) {
			t.Errorf("no %q in the reports", want)
		}
	}
	if !strings.Contains(text.String(), "energy of all machines") || !strings.Contains(text.String(), "spark-1, spark-2") {
		t.Error(text.String())
	}
}

func TestTheFigureOfRDMAIsTheRateAndLeavesOpenWhatIsNotKnown(t *testing.T) {
	gap := testrun.Linked()
	gap.Silent = func(at float64) bool { return at > 7.5 && at < 9.5 }
	gap.Replace = strings.NewReplacer("data_transmitted", "other")
	log := pageOf(t, testrun.TwoMachines(t, gap, testrun.Page{Per: testrun.Cabled(0, 1000, "0")})).Telemetry
	source := log.Source("spark-1")
	at := track{log, source, 15, nil}
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
	if f := at.rdma(); !f.Drawn() || len(f.Legend) != 1 || f.Legend[0].Text != "received rocep1s0f1/1" || !strings.Contains(f.Title, "spark-1, live") {
		t.Errorf("figure %+v", f)
	}
	if f := (track{log, log.Source("spark-2"), 15, nil}).rdma(); f.Drawn() {
		t.Error("a figure of a link that moved nothing")
	}
	if back := at.perSecond([]telemetry.Point{{AtNS: 5e9, Value: 9}, {AtNS: 6e9, Value: 3}}); len(back) != 0 {
		t.Errorf("a rate of a counter that fell: %v", back)
	}
}
