package collector

import (
	"strings"
	"testing"
	"testing/fstest"
)

// linkedSys is the network of one of two linked Sparks: a port for people and one to the other Spark.
func linkedSys() fstest.MapFS {
	const house, card = "devices/pci0007:00/0007:01:00.0/net/enP7s7/", "devices/pci0000:00/0000:01:00.0/"
	sys := tree(map[string]string{
		house + "operstate": "up\n", house + "speed": "10000\n", house + "mtu": "1500\n",
		house + "statistics/rx_bytes": "1000\n", house + "statistics/tx_bytes": "2000\n", house + "statistics/rx_errors": "1\n",
		house + "statistics/tx_errors": "2\n", house + "statistics/rx_dropped": "3\n", house + "statistics/tx_dropped": "4\n",
		house + "statistics/rx_missed_errors": "5\n",
		card + "net/enp1s0f0np0/operstate":    "down\n", card + "net/enp1s0f0np0/statistics/rx_bytes": "7\n",
		card + "infiniband/rocep1s0f0/ports/1/state":                       "4: ACTIVE\n",
		card + "infiniband/rocep1s0f0/ports/1/rate":                        "200 Gb/sec (4X HDR)\n",
		card + "infiniband/rocep1s0f0/ports/1/counters/port_rcv_data":      "250000000\n",
		card + "infiniband/rocep1s0f0/ports/1/counters/port_xmit_data":     "125000000\n",
		card + "infiniband/rocep1s0f0/ports/1/counters/port_xmit_discards": "7\n",
		card + "infiniband/rocep1s0f0/ports/1/hw_counters/out_of_sequence": "9\n",
	})
	for name, target := range map[string]string{
		"class/net/enP7s7":                    "../../" + strings.TrimSuffix(house, "/"),
		"class/net/enp1s0f0np0":               "../../" + card + "net/enp1s0f0np0",
		"class/net/docker0":                   "../../devices/virtual/net/docker0",
		"class/infiniband/rocep1s0f0":         "../../" + card + "infiniband/rocep1s0f0",
		card + "infiniband/rocep1s0f0/device": "../../../0000:01:00.0",
	} {
		sys[name] = link(target)
	}
	return sys
}

func TestPortsOfALinkedSparkWorkedOutByHand(t *testing.T) {
	host := spark(t)
	host.Sys = onDisk(t, linkedSys())
	series, outcome := page(t, networkSpec(), host, Options{})
	if outcome.State != OK {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	const house, port = `{device="enP7s7"}`, `{device="rocep1s0f0",port="1"}`
	wantSeries(t, series, map[string]float64{
		"uma_network_receive_bytes_total" + house:                                                  1000,
		"uma_network_transmit_bytes_total" + house:                                                 2000,
		"uma_network_receive_errors_total" + house:                                                 1,
		"uma_network_transmit_errors_total" + house:                                                2,
		"uma_network_receive_dropped_total" + house:                                                8,
		"uma_network_transmit_dropped_total" + house:                                               4,
		"uma_network_up" + house:                                                                   1,
		"uma_network_speed_bytes_per_second" + house:                                               1.25e9,
		"uma_network_mtu_bytes" + house:                                                            1500,
		`uma_network_up{device="enp1s0f0np0"}`:                                                     0,
		"uma_infiniband_port_data_received_bytes_total" + port:                                     1e9,
		"uma_infiniband_port_data_transmitted_bytes_total" + port:                                  500e6,
		"uma_infiniband_port_up" + port:                                                            1,
		"uma_infiniband_port_rate_bytes_per_second" + port:                                         25e9,
		`uma_collector_privilege{collector="network",needs="host_network"}`:                        1,
		`uma_infiniband_port_info{device="rocep1s0f0",interface="enp1s0f0np0",port="1"}`:           1,
		`uma_infiniband_port_errors_total{device="rocep1s0f0",kind="port_xmit_discards",port="1"}`: 7,
		`uma_infiniband_port_errors_total{device="rocep1s0f0",kind="out_of_sequence",port="1"}`:    9,
	})
	wantAbsent(t, series, `uma_network_speed_bytes_per_second{device="enp1s0f0np0"`, `uma_network_mtu_bytes{device="enp1s0f0np0"`, `uma_network_receive_errors_total{device="enp1s0f0np0"`,
		`uma_network_up{device="docker0"`, `uma_infiniband_port_errors_total{device="rocep1s0f0",kind="symbol_error"`)
}

func TestInterfacesOfAContainerAreNotTheMachines(t *testing.T) {
	host := spark(t)
	host.Sys = onDisk(t, fstest.MapFS{"class/net/eth0": link("../../devices/virtual/net/eth0")})
	series, outcome := page(t, networkSpec(), host, Options{})
	if outcome.State != Absent {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{`uma_collector_privilege{collector="network",needs="host_network"}`: 0})
	wantAbsent(t, series, "uma_network", "uma_infiniband")
}

func TestABrokenPortIsToldAndCostsOnlyItself(t *testing.T) {
	host := spark(t)
	host.Sys = onDisk(t, replaced(linkedSys(), "devices/pci0000:00/0000:01:00.0/infiniband/rocep1s0f0/ports/1/rate", "fast\n"))
	series, outcome := page(t, networkSpec(), host, Options{})
	if outcome.State != Failed || !strings.Contains(outcome.Err.Error(), "rocep1s0f0/ports/1/rate") {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{`uma_infiniband_port_up{device="rocep1s0f0",port="1"}`: 1, `uma_network_up{device="enP7s7"}`: 1})
	wantAbsent(t, series, "uma_infiniband_port_rate")
}
