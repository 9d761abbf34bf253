package link

import (
	"fmt"
	"strings"
)

// Thresholds of a path.
const (
	// slowShare is the share of what link and PCIe can carry below which a path is slow. Owners reach 92 to 110 Gb/s of
	// the 126 of one interface of a GB10 machine.
	slowShare = 0.6
	// aloneShare is the share of many streams below which one stream is a limit of its own.
	aloneShare = 0.6
	// jumboMTU is the MTU that owners set on the ConnectX (dgx-spark-playbooks issue 25).
	jumboMTU = 9000
	// fastBytesPerSecond is a link from which on the MTU matters: 25 Gb/s.
	fastBytesPerSecond = 25e9 / 8
	// repeatedShare is the share of segments sent again that is no chance.
	repeatedShare = 0.001
	// mtuLeaves is the share of the most that an MTU of 1500 leaves at least. Owners still reach 96 Gb/s with it: an MTU
	// does not explain 13.
	mtuLeaves = 0.5
	// A ConnectX that started badly ends between 8 and 25 Gb/s while link and PCIe look right (dgx-spark-playbooks pull
	// request 108).
	badStartLeast, badStartMost = 8e9 / 8, 25e9 / 8
)

// Finding is a cause, or something to know, with what to do.
type Finding struct {
	// Cause reports that it explains a slow path; otherwise it is a hint.
	Cause     bool
	Text, Fix string
}

// Verdict is a sentence and its findings, causes first.
type Verdict struct {
	Text     string
	Slow     bool
	Findings []Finding
}

// Judge explains the path. It compares with what link and PCIe can carry; where neither is known, as of a virtual
// interface, only causes that show themselves are found.
func (p Path) Judge() Verdict {
	var v Verdict
	most, best := p.most(), p.best()
	if best != nil && most > 0 {
		v.Slow = best.BytesPerSecond < slowShare*most
	}
	explained := false
	for _, c := range p.causes() {
		v.Findings = append(v.Findings, Finding{true, c.text, c.fix})
		explained = explained || best != nil && best.BytesPerSecond >= slowShare*c.leaves
	}
	v.Text = p.sentence(best, most, v.Slow, len(v.Findings) > 0)
	if v.Slow && !explained {
		v.Findings = append(v.Findings, p.unexplained(best))
	}
	v.Findings = append(v.Findings, p.hints()...)
	return v
}

// cause is a fault that the path shows, and the rate that it leaves: a much lower one has another cause too.
type cause struct {
	text, fix string
	leaves    float64 // bytes a second; 0 if it explains any rate
}

// most is the most that the path can carry: where it leaves by another interface, that of the ConnectX.
func (p Path) most() float64 {
	if p.wrongWay() {
		return p.Fabric[0].Most()
	}
	return p.By.Most()
}

// best is the measurement that carried most, nil without any.
func (p Path) best() *Rate {
	var best *Rate
	for i := range p.Rates {
		if best == nil || p.Rates[i].BytesPerSecond > best.BytesPerSecond {
			best = &p.Rates[i]
		}
	}
	return best
}

// wrongWay reports that packets leave by an interface without RDMA while one with it is up.
func (p Path) wrongWay() bool { return p.By.RDMA == "" && len(p.Fabric) > 0 }

func (p Path) sentence(best *Rate, most float64, slow, explained bool) string {
	switch {
	case best == nil && explained:
		return "not measured; the path shows a cause of slowness"
	case best == nil:
		return "not measured; the path shows no cause of slowness"
	}
	text := Gigabits(best.BytesPerSecond)
	if most > 0 {
		text += " of at most " + Gigabits(most)
	}
	switch {
	case slow:
		return text + ": slow"
	case explained:
		return text + ": held back"
	case most > 0:
		return text + ": as fast as such a path is"
	}
	return text + ": no cause of slowness is seen; the speed of the link is not known"
}

// causes are what slows a path, surest first.
func (p Path) causes() []cause {
	var found []cause
	add := func(leaves float64, fix, format string, args ...any) {
		found = append(found, cause{fmt.Sprintf(format, args...), fix, leaves})
	}
	if p.wrongWay() {
		add(p.By.Most(), fmt.Sprintf("use the address that %s has on the network of %s: ip -br addr show dev %s, here and there", p.To, p.Fabric[0].Name, p.Fabric[0].Name),
			"the route to %s leaves by %s, not by the ConnectX (%s, up)", p.To, p.By.Name, p.Fabric[0].Name)
	}
	if kinds := shapers(p.By.Queueing); len(kinds) > 0 {
		add(0, "tc qdisc show dev "+p.By.Name+" shows the rate; sudo tc qdisc del dev "+p.By.Name+" root removes it",
			"traffic shaping (%s) is set on %s", strings.Join(kinds, ", "), p.By.Name)
	}
	if lanes := p.By.PCIe; lanes.Lanes != nil && lanes.LanesMax != nil && *lanes.Lanes < *lanes.LanesMax {
		add(p.By.Most(), "update the firmware (sudo fwupdmgr update), then power off, not only a reboot",
			"%s has %d PCIe lanes of %d: at most %s", p.By.Name, *lanes.Lanes, *lanes.LanesMax, Gigabits(p.By.PCIeBytesPerSecond()))
	}
	if g := p.By.PCIe; g.Generation != nil && g.GenerationMax != nil && *g.Generation < *g.GenerationMax {
		add(p.By.Most(), "power off, wait a minute, start; if it stays, update the firmware",
			"the PCIe link of %s runs at generation %d of %d: at most %s", p.By.Name, *g.Generation, *g.GenerationMax, Gigabits(p.By.PCIeBytesPerSecond()))
	}
	if p.By.RDMA != "" && p.By.BytesPerSecond > 0 && p.By.BytesPerSecond < 100e9/8 {
		add(p.By.Most(), "check cable and switch port: sudo ethtool "+p.By.Name, "the link of %s runs at %s", p.By.Name, Gigabits(p.By.BytesPerSecond))
	}
	if rate := p.best(); rate != nil && p.slowMTU(rate.PathMTU) && p.By.MTU > rate.PathMTU+mtuSlack {
		add(mtuLeaves*p.By.Most(), fmt.Sprintf("sudo ip link set dev INTERFACE mtu %d on the other machine, and jumbo frames on a switch between", p.By.MTU),
			"packets of the path have at most %d bytes, %s allows %d", rate.PathMTU, p.By.Name, p.By.MTU)
	} else if p.slowMTU(p.By.MTU) && p.By.BytesPerSecond >= fastBytesPerSecond {
		add(mtuLeaves*p.By.Most(), fmt.Sprintf("sudo ip link set dev %s mtu %d, on both machines and a switch between", p.By.Name, jumboMTU),
			"the MTU of %s is %d: that needs %d times the packets of %d, and each costs CPU", p.By.Name, p.By.MTU, jumboMTU/p.By.MTU, jumboMTU)
	}
	if share, count := p.repeated(); share > repeatedShare {
		add(0, "check cable and connectors; ethtool -S "+p.By.Name+" on both machines counts what was dropped where",
			"%d segments (%.2g %%) were lost or late and sent again", count, share*100)
	}
	if p.NewErrors > 0 {
		add(0, "check cable and connectors; journalctl -k -g 'AER|mlx5' has PCIe errors",
			"%s counted %d damaged or dropped frames or PCIe errors meanwhile", p.By.Name, p.NewErrors)
	}
	return found
}

// mtuSlack is more than the options of TCP and IPv6 take.
const mtuSlack = 60

func (p Path) slowMTU(mtu int) bool { return mtu > 0 && mtu < jumboMTU/2 }

// repeated is the share of segments that were sent again, and their number.
func (p Path) repeated() (float64, uint64) {
	var sent, repeated uint64
	for _, rate := range p.Rates {
		sent, repeated = sent+rate.Segments, repeated+rate.Repeated
	}
	if sent == 0 {
		return 0, 0
	}
	return float64(repeated) / float64(sent), repeated
}

// unexplained is the finding about a slow path that shows no cause.
func (p Path) unexplained(best *Rate) Finding {
	if p.By.RDMA != "" && best.BytesPerSecond >= badStartLeast && best.BytesPerSecond <= badStartMost {
		return Finding{true, "link, PCIe and counters look right, and the rate is where a ConnectX ends that started badly (8 to 25 Gb/s)",
			"power off both machines, pull the QSFP cable and the power for a minute, then start; see the FAQ on ConnectX at 13 Gb/s"}
	}
	return Finding{false, "no cause is seen on this machine", "run the same command on the other machine, towards this one; look for other load on CPU and link"}
}

// hints are worth knowing on any path.
func (p Path) hints() []Finding {
	var found []Finding
	if len(p.Rates) == 2 && p.Rates[0].BytesPerSecond < aloneShare*p.Rates[1].BytesPerSecond {
		found = append(found, Finding{false, fmt.Sprintf("one stream carries %s, %d carry %s: a single stream is bound by one CPU",
			Gigabits(p.Rates[0].BytesPerSecond), p.Rates[1].Streams, Gigabits(p.Rates[1].BytesPerSecond)), "use several streams, or RDMA"})
	}
	if p.By.RDMA != "" && len(p.Fabric) > 0 {
		var names []string
		for _, other := range p.Fabric {
			names = append(names, other.Name)
		}
		found = append(found, Finding{false, "a port of a GB10 machine is two interfaces, and this path uses one; also up: " + strings.Join(names, ", "),
			"give NCCL both: NCCL_IB_HCA=" + p.By.RDMA + "," + p.Fabric[0].RDMA})
	}
	return found
}
