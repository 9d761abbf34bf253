package link

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/hostfs"
)

const gigabit = 1e9 / 8

// spark is the path between two sound Sparks, by one of the two interfaces of a port.
func spark() Path {
	pcie := hostfs.PCIeLink{Lanes: new(uint64(4)), LanesMax: new(uint64(4)), Generation: new(uint64(5)), GenerationMax: new(uint64(5))}
	card := func(name, rdma string) Interface {
		return Interface{Name: name, MTU: 9000, RDMA: rdma, Up: true, BytesPerSecond: 200 * gigabit, PCIe: pcie, Queueing: []string{"mq", "fq_codel"}}
	}
	return Path{
		To: netip.MustParseAddr("192.168.100.2"), By: card("enp1s0f0np0", "rocep1s0f0"), Fabric: []Interface{card("enP2p1s0f0np0", "roceP2p1s0f0")},
		Rates: []Rate{
			{Streams: 1, BytesPerSecond: 40 * gigabit, PathMTU: 9000, Segments: 1e6},
			{Streams: 8, BytesPerSecond: 105 * gigabit, PathMTU: 9000, Segments: 4e6, Repeated: 40},
		},
	}
}

func slowed(p *Path, gigabits float64) {
	for i := range p.Rates {
		p.Rates[i].BytesPerSecond = gigabits * gigabit
	}
}

// TestEachFaultIsNamed is the list of the causes of a slow ConnectX that owners report.
func TestEachFaultIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		fault      func(*Path)
		text, want string // the sentence, and the only cause; "" for none
	}{
		"sound": {func(*Path) {}, "105 Gb/s of at most 126 Gb/s: as fast as such a path is", ""},
		"started badly": {func(p *Path) { slowed(p, 12.9) }, "12.9 Gb/s of at most 126 Gb/s: slow",
			"link, PCIe and counters look right"},
		"slow without a cause": {func(p *Path) { slowed(p, 50) }, "50.0 Gb/s of at most 126 Gb/s: slow", ""},
		"MTU here": {func(p *Path) {
			slowed(p, 40)
			p.By.MTU, p.Rates[0].PathMTU, p.Rates[1].PathMTU = 1500, 1500, 1500
		}, "slow", "the MTU of enp1s0f0np0 is 1500: that needs 6 times the packets of 9000"},
		"MTU there": {func(p *Path) { slowed(p, 40); p.Rates[0].PathMTU, p.Rates[1].PathMTU = 1500, 1500 }, "slow",
			"packets of the path have at most 1500 bytes, enp1s0f0np0 allows 9000"},
		"narrow": {func(p *Path) { slowed(p, 55); p.By.PCIe.Lanes = new(uint64(2)) }, "55.0 Gb/s of at most 63.0 Gb/s: held back",
			"enp1s0f0np0 has 2 PCIe lanes of 4: at most 63.0 Gb/s"},
		"old generation": {func(p *Path) { slowed(p, 24); p.By.PCIe.Generation = new(uint64(3)) }, "24.0 Gb/s of at most 31.5 Gb/s: held back",
			"the PCIe link of enp1s0f0np0 runs at generation 3 of 5: at most 31.5 Gb/s"},
		"office network": {func(p *Path) {
			slowed(p, 9.4)
			p.Fabric, p.By = []Interface{p.By}, Interface{Name: "enP7s7", MTU: 1500, Up: true, BytesPerSecond: 10 * gigabit}
		}, "9.4 Gb/s of at most 126 Gb/s: slow", "the route to 192.168.100.2 leaves by enP7s7, not by the ConnectX (enp1s0f0np0, up)"},
		"slow cable": {func(p *Path) { slowed(p, 37); p.By.BytesPerSecond = 40 * gigabit }, "37.0 Gb/s of at most 40.0 Gb/s: held back",
			"the link of enp1s0f0np0 runs at 40.0 Gb/s"},
		"shaped": {func(p *Path) { slowed(p, 12); p.By.Queueing = []string{"tbf", "fq_codel"} }, "slow", "traffic shaping (tbf) is set on enp1s0f0np0"},
		"loss": {func(p *Path) { slowed(p, 20); p.Rates[1].Repeated = 80_000 }, "slow",
			"80000 segments (1.6 %) were lost or late and sent again"},
		"damaged frames": {func(p *Path) { slowed(p, 20); p.NewErrors = 12 }, "slow", "enp1s0f0np0 counted 12 damaged or dropped frames"},
		"nothing known":  {func(p *Path) { p.By, p.Fabric = Interface{Name: "eth0", MTU: 1400, Up: true}, nil }, "the speed of the link is not known", ""},
		"not measured":   {func(p *Path) { p.Rates = nil }, "not measured; the path shows no cause", ""},
		"not measured, narrow": {func(p *Path) { p.Rates, p.By.PCIe.Lanes = nil, new(uint64(2)) }, "not measured; the path shows a cause",
			"enp1s0f0np0 has 2 PCIe lanes of 4"},
	} {
		t.Run(name, func(t *testing.T) {
			path := spark()
			test.fault(&path)
			verdict := path.Judge()
			var causes []string
			for _, finding := range verdict.Findings {
				if finding.Fix == "" {
					t.Errorf("no fix of %s", finding.Text)
				}
				if finding.Cause {
					causes = append(causes, finding.Text)
				}
			}
			if !strings.Contains(verdict.Text, test.text) {
				t.Errorf("%q is not in %q", test.text, verdict.Text)
			}
			if got := strings.Join(causes, "; "); !strings.HasPrefix(got, test.want) || len(causes) > 1 || (test.want == "") != (len(causes) == 0) {
				t.Errorf("causes %q, want only %q", got, test.want)
			}
		})
	}
}

// TestACauseThatDoesNotExplainTheRateIsNotTheOnlyOne: a bad start hides behind an MTU and behind two lanes.
func TestACauseThatDoesNotExplainTheRateIsNotTheOnlyOne(t *testing.T) {
	for _, fault := range []func(*Path){
		func(p *Path) { p.By.MTU, p.Rates[0].PathMTU, p.Rates[1].PathMTU = 1500, 1500, 1500 },
		func(p *Path) { p.By.PCIe.Lanes = new(uint64(2)) },
	} {
		path := spark()
		slowed(&path, 13)
		fault(&path)
		findings := path.Judge().Findings
		if len(findings) < 2 || !findings[0].Cause || !findings[1].Cause || !strings.Contains(findings[1].Text, "started badly") {
			t.Errorf("%+v", findings)
		}
	}
}

func TestHintsOfASoundPath(t *testing.T) {
	var hints []string
	for _, finding := range spark().Judge().Findings {
		hints = append(hints, finding.Text+": "+finding.Fix)
	}
	want := []string{
		"one stream carries 40.0 Gb/s, 8 carry 105 Gb/s: a single stream is bound by one CPU: use several streams, or RDMA",
		"a port of a GB10 machine is two interfaces, and this path uses one; also up: enP2p1s0f0np0: give NCCL both: NCCL_IB_HCA=rocep1s0f0,roceP2p1s0f0",
	}
	if strings.Join(hints, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", hints)
	}
}

func TestAnInterfaceInALine(t *testing.T) {
	path := spark()
	if got, want := path.By.Describe(), "enp1s0f0np0, RDMA rocep1s0f0, 200 Gb/s, MTU 9000, PCIe 5 x4 of 5 x4 (126 Gb/s)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := (Interface{Name: "eth0", MTU: 1500}).Describe(), "eth0, MTU 1500, down"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
