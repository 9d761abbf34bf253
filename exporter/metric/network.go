package metric

const (
	netClass        = "/sys/class/net"
	infinibandClass = "/sys/class/infiniband"
)

// Network interfaces that are hardware, by device, and ports of RDMA devices, by device and port. Bytes
// that RDMA moves over an Ethernet port are in the port's counters only.
var (
	NetworkReceiveBytesTotal = counter(Def{Name: "uma_network_receive_bytes_total", Unit: Bytes, Telemetry: true,
		Help: "Bytes received, RDMA left out.", Source: netClass + " rx_bytes", Labels: []Label{LabelDevice}})
	NetworkTransmitBytesTotal = counter(Def{Name: "uma_network_transmit_bytes_total", Unit: Bytes, Telemetry: true,
		Help: "Bytes sent, RDMA left out.", Source: netClass + " tx_bytes", Labels: []Label{LabelDevice}})
	NetworkReceiveErrorsTotal = counter(Def{Name: "uma_network_receive_errors_total", Unit: Count, Telemetry: true,
		Help: "Frames that arrived damaged.", Source: netClass + " rx_errors", Labels: []Label{LabelDevice}})
	NetworkTransmitErrorsTotal = counter(Def{Name: "uma_network_transmit_errors_total", Unit: Count, Telemetry: true,
		Help: "Frames that could not be sent.", Source: netClass + " tx_errors", Labels: []Label{LabelDevice}})
	NetworkReceiveDroppedTotal = counter(Def{Name: "uma_network_receive_dropped_total", Unit: Count, Telemetry: true,
		Help: "Frames that arrived and were dropped, in the kernel or in the card, for lack of room or of a receiver.", Source: netClass + " rx_dropped + rx_missed_errors", Labels: []Label{LabelDevice}})
	NetworkTransmitDroppedTotal = counter(Def{Name: "uma_network_transmit_dropped_total", Unit: Count, Telemetry: true,
		Help: "Frames dropped before they were sent.", Source: netClass + " tx_dropped", Labels: []Label{LabelDevice}})
	NetworkUp = gauge(Def{Name: "uma_network_up", Unit: State, Sum: SumNever(),
		Help:   "Whether the interface can pass frames; absent where the driver does not say.",
		Source: netClass + " operstate", Labels: []Label{LabelDevice}})
	NetworkSpeedBytesPerSecond = gauge(Def{Name: "uma_network_speed_bytes_per_second", Unit: BytesPerSecond, Telemetry: true, Sum: SumKeeping(LabelDevice),
		Help:   "What the link can carry each way; absent without a link.",
		Source: netClass + " speed", Labels: []Label{LabelDevice}})
	NetworkMTUBytes = gauge(Def{Name: "uma_network_mtu_bytes", Unit: Bytes, Sum: SumNever(),
		Help:   "Largest packet that the interface sends, without the Ethernet header.",
		Source: netClass + " mtu", Labels: []Label{LabelDevice}})

	InfiniBandPortDataReceivedBytesTotal = counter(Def{Name: "uma_infiniband_port_data_received_bytes_total", Unit: Bytes, Telemetry: true,
		Help: "Bytes that RDMA received, RoCE included.", Source: infinibandClass + " port_rcv_data x 4", Labels: []Label{LabelDevice, LabelPort}})
	InfiniBandPortDataTransmittedBytesTotal = counter(Def{Name: "uma_infiniband_port_data_transmitted_bytes_total", Unit: Bytes, Telemetry: true,
		Help: "Bytes that RDMA sent, RoCE included.", Source: infinibandClass + " port_xmit_data x 4", Labels: []Label{LabelDevice, LabelPort}})
	InfiniBandPortErrorsTotal = counter(Def{Name: "uma_infiniband_port_errors_total", Unit: Count, Telemetry: true, Sum: SumKeeping(LabelKind),
		Help:   "Signs of trouble on a port, kind in the driver's words: damaged or dropped packets, lost links, and for RoCE packets lost, late or refused and sent anew.",
		Source: infinibandClass + " counters, hw_counters", Labels: []Label{LabelDevice, LabelPort, LabelKind}})
	InfiniBandPortUp = gauge(Def{Name: "uma_infiniband_port_up", Unit: State, Sum: SumNever(), Telemetry: true,
		Help:   "Whether the port is in state active.",
		Source: infinibandClass + " state", Labels: []Label{LabelDevice, LabelPort}})
	InfiniBandPortRateBytesPerSecond = gauge(Def{Name: "uma_infiniband_port_rate_bytes_per_second", Unit: BytesPerSecond, Telemetry: true, Sum: SumKeeping(LabelDevice, LabelPort),
		Help:   "What the link can carry each way; absent while the port is not active.",
		Source: infinibandClass + " rate", Labels: []Label{LabelDevice, LabelPort}})
	InfiniBandPortInfo = gauge(Def{Name: "uma_infiniband_port_info", Unit: Info, Sum: SumNever(),
		Help:   "Which network interface is on the same function of the card, empty where it is not known.",
		Source: infinibandClass + " device/net", Labels: []Label{LabelDevice, LabelPort, LabelInterface}})
)

func networkDefs() []Definer {
	return []Definer{
		NetworkReceiveBytesTotal, NetworkTransmitBytesTotal, NetworkReceiveErrorsTotal, NetworkTransmitErrorsTotal,
		NetworkReceiveDroppedTotal, NetworkTransmitDroppedTotal, NetworkUp, NetworkSpeedBytesPerSecond, NetworkMTUBytes,
		InfiniBandPortDataReceivedBytesTotal, InfiniBandPortDataTransmittedBytesTotal, InfiniBandPortErrorsTotal,
		InfiniBandPortUp, InfiniBandPortRateBytesPerSecond, InfiniBandPortInfo,
	}
}
