package sim

import "strconv"

// linkBytesPerSecond is what the link carries each way: 200 Gb/s. How much of it a ConnectX-7 of a DGX Spark reaches
// behind its PCIe lanes depends on its use, which this model leaves out.
const linkBytesPerSecond = 200e9 / 8

// cable is the ConnectX port that leads to another machine, in bytes since boot. Every byte of RDMA is in
// the counters of the port, and none in those of its network interface.
type cable struct{ received, transmitted int64 }

// moveRDMA moves what processes send and receive. The process that is first, and so gets the full link, changes from
// tick to tick, as with files.
func (m *machine) moveRDMA() {
	if !m.config.Cable {
		return
	}
	const budget = linkBytesPerSecond / int64(ticksPerSecond)
	in, out := budget, budget
	for i := range m.processes {
		p := m.processes[(int(m.ticks)+i)%len(m.processes)]
		if !p.alive {
			continue
		}
		in -= moveOver(&m.cable.received, p.want.received, &p.carry[rdmaReceive], in)
		out -= moveOver(&m.cable.transmitted, p.want.transmitted, &p.carry[rdmaTransmit], out)
	}
}

// moveOver adds what a rate makes in this tick, in whole pages, as far as there is room on the link.
func moveOver(total *int64, bytesPerSecond int64, carry *int64, room int64) int64 {
	n := min(inTick(bytesPerSecond, carry)*pageBytes, room)
	*total += n
	return n
}

// files are the port and its interface, under the names that a DGX Spark gives them. The cable is this machine's only
// network link, so the counters of the interface itself do not move.
func (c *cable) files(sys directory) {
	const (
		function  = "devices/pci0000:00/0000:00:00.0/0000:01:00.1"
		rdma      = "rocep1s0f1"
		netdev    = "enp1s0f1np1"
		port      = function + "/infiniband/" + rdma + "/ports/1/"
		wordBytes = 4 // the unit of the port's counters
	)
	sys.line(port+"state", "4: ACTIVE")
	sys.line(port+"rate", "200 Gb/sec (4X HDR)")
	sys.number(port+"counters/port_rcv_data", c.received/wordBytes)
	sys.number(port+"counters/port_xmit_data", c.transmitted/wordBytes)
	for _, quiet := range []string{
		"counters/port_rcv_errors", "counters/port_xmit_discards", "counters/symbol_error", "counters/link_downed",
		"hw_counters/out_of_sequence", "hw_counters/packet_seq_err", "hw_counters/local_ack_timeout_err",
		"hw_counters/rnr_nak_retry_err", "hw_counters/out_of_buffer",
	} {
		sys.line(port+quiet, "0")
	}
	at := sys.at(function + "/net/" + netdev)
	at.line("operstate", "up")
	at.line("speed", strconv.Itoa(200_000))
	at.line("mtu", "9000")
	at.link("device", "../../../0000:01:00.1")
	pcieFiles(sys.at(function))
	for _, quiet := range []string{"rx_bytes", "rx_dropped", "rx_errors", "rx_missed_errors", "tx_bytes", "tx_dropped", "tx_errors"} {
		at.line("statistics/"+quiet, "0")
	}
	device := sys.at(function + "/infiniband/" + rdma)
	device.link("device", "../../../0000:01:00.1")
	sys.link("class/infiniband/"+rdma, "../../"+function+"/infiniband/"+rdma)
	sys.link("class/net/"+netdev, "../../"+function+"/net/"+netdev)
}
