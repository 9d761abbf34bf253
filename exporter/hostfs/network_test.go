package hostfs

import (
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"
)

// networkFiles are the ports of a DGX Spark, one of its ConnectX ports without a cable, and what a
// container engine adds.
func networkFiles() fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, device := range map[string]string{
		"enP7s7": "pci0007:00/0007:01:00.0/net/enP7s7", "enp1s0f0np0": "pci0000:00/0000:01:00.0/net/enp1s0f0np0",
		"enp1s0f1np1": "pci0000:00/0000:01:00.1/net/enp1s0f1np1",
		"lo":          "virtual/net/lo", "docker0": "virtual/net/docker0", "veth1a2b3c4": "virtual/net/veth1a2b3c4", "bond0": "virtual/net/bond0",
	} {
		fsys["class/net/"+name] = link("../../devices/" + device)
		for file, content := range map[string]string{
			"operstate": "up\n", "speed": "1000\n", "mtu": "9000\n", "statistics/rx_bytes": "1000\n", "statistics/tx_bytes": "2000\n", "statistics/rx_errors": "1\n",
			"statistics/tx_errors": "2\n", "statistics/rx_dropped": "3\n", "statistics/tx_dropped": "4\n", "statistics/rx_missed_errors": "5\n",
		} {
			fsys["devices/"+device+"/"+file] = &fstest.MapFile{Data: []byte(content)}
		}
	}
	fsys["class/net/bonding_masters"] = &fstest.MapFile{Data: []byte("bond0\n")}
	const unplugged = "devices/pci0000:00/0000:01:00.1/net/enp1s0f1np1/"
	fsys[unplugged+"operstate"] = &fstest.MapFile{Data: []byte("down\n")}
	fsys[unplugged+"speed"] = &fstest.MapFile{Data: []byte("-1\n")}
	const device, function = "class/infiniband/rocep1s0f0", "devices/pci0000:00/0000:01:00.0"
	fsys[device] = link("../../" + function + "/infiniband/rocep1s0f0")
	fsys[function+"/infiniband/rocep1s0f0/device"] = link("../../../0000:01:00.0")
	for file, content := range map[string]string{
		"state": "4: ACTIVE\n", "rate": "200 Gb/sec (4X HDR)\n", "link_layer": "Ethernet\n",
		"counters/port_rcv_data": "250000000\n", "counters/port_xmit_data": "125000000\n", "counters/port_rcv_errors": "0\n",
		"counters/port_xmit_discards": "7\n", "counters/symbol_error": "N/A (no PMA)\n", "hw_counters/out_of_sequence": "9\n",
	} {
		fsys[function+"/infiniband/rocep1s0f0/ports/1/"+file] = &fstest.MapFile{Data: []byte(content)}
	}
	return fsys
}

func TestInterfacesWithHardwareBehindThem(t *testing.T) {
	got := must(t, ReadNetworkInterfaces, onDisk(t, networkFiles()))
	receive := NetworkTraffic{new(uint64(1000)), new(uint64(1)), new(uint64(3 + 5))}
	transmit := NetworkTraffic{new(uint64(2000)), new(uint64(2)), new(uint64(4))}
	want := []NetworkInterface{
		{"enP7s7", receive, transmit, new(true), new(125e6), new(uint64(9000))},
		{"enp1s0f0np0", receive, transmit, new(true), new(125e6), new(uint64(9000))},
		{"enp1s0f1np1", receive, transmit, new(false), nil, new(uint64(9000))},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestAnInterfaceThatDoesNotTellCostsOnlyThat(t *testing.T) {
	const device = "class/net/enP7s7/"
	// The kernel refuses the speed of an interface that is down.
	fsys := failingAt(onDisk(t, networkFiles()), map[string]error{device + "speed": unix.EINVAL, device + "statistics/rx_bytes": fs.ErrNotExist})
	interfaces := must(t, ReadNetworkInterfaces, fsys)
	if one := interfaces[0]; one.BytesPerSecond != nil || one.Receive.Bytes != nil || one.Transmit.Bytes == nil {
		t.Errorf("%+v", one)
	}
	broken := networkFiles()
	broken["devices/pci0007:00/0007:01:00.0/net/enP7s7/statistics/rx_errors"] = &fstest.MapFile{Data: []byte("-1\n")}
	interfaces, err := ReadNetworkInterfaces(onDisk(t, broken))
	if err == nil || !strings.Contains(err.Error(), "rx_errors") || interfaces[0].Receive.Errors != nil || interfaces[1].Receive.Errors == nil {
		t.Errorf("%+v, %v", interfaces, err)
	}
}

func TestSpeedAndStateThatAreNotKnown(t *testing.T) {
	for text, want := range map[string]float64{"200000\n": 25e9, "10\n": 1.25e6, "-1\n": 0, "0\n": 0, "4294967295\n": 0} {
		if got, err := parseLinkSpeed(text); err != nil || (got != nil) != (want > 0) || got != nil && *got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, state := range []string{"unknown", "", "odd"} {
		if got := linkState(state); got != nil {
			t.Errorf("%q: %v", state, *got)
		}
	}
}

func TestNoHardwareIsSeenInTheNamespaceOfAContainer(t *testing.T) {
	if !HasNetworkHardware(onDisk(t, networkFiles())) {
		t.Error("a Spark has network cards")
	}
	container := fstest.MapFS{"class/net/eth0": link("../../devices/virtual/net/eth0")}
	if HasNetworkHardware(onDisk(t, container)) || HasNetworkHardware(files(t, nil)) {
		t.Error("a virtual cable is no hardware")
	}
}

func TestPortsOfRDMADevices(t *testing.T) {
	got := must(t, ReadInfiniBandPorts, onDisk(t, networkFiles()))
	want := []InfiniBandPort{{
		Device: "rocep1s0f0", Port: "1", Interface: "enp1s0f0np0", Up: new(true), BytesPerSecond: new(25e9),
		ReceivedBytes: new(uint64(1e9)), TransmittedBytes: new(uint64(500e6)), // counted in words of 4 bytes
		Errors: []InfiniBandError{{"port_rcv_errors", 0}, {"port_xmit_discards", 7}, {"out_of_sequence", 9}},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestAPortThatDoesNotTellCostsOnlyThat(t *testing.T) {
	const port = "class/infiniband/rocep1s0f0/ports/1/"
	for file, text := range map[string]string{
		"state": "ACTIVE\n", "rate": "fast\n", "counters/port_rcv_data": "4611686018427387904\n", "hw_counters/out_of_sequence": "\n",
	} {
		ports, err := ReadInfiniBandPorts(replacedFile(t, networkFiles(), "devices/pci0000:00/0000:01:00.0/infiniband/rocep1s0f0/ports/1/"+file, text))
		if err == nil || !strings.Contains(err.Error(), file) || len(ports) != 1 || ports[0].TransmittedBytes == nil {
			t.Errorf("%s: %+v, %v", file, ports, err)
		}
		if ports, err := ReadInfiniBandPorts(failingAt(onDisk(t, networkFiles()), map[string]error{port + file: unix.EINVAL})); err != nil || len(ports) != 1 {
			t.Errorf("%s: %v", file, err)
		}
	}
	for text, up := range map[string]bool{"1: DOWN\n": false, "2: INIT\n": false, "4: ACTIVE\n": true, "5: ACTIVE_DEFER\n": false} {
		if got, err := parsePortState(text); err != nil || *got != up {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func replacedFile(t *testing.T, fsys fstest.MapFS, name, content string) Dir {
	t.Helper()
	fsys[name] = &fstest.MapFile{Data: []byte(content)}
	return onDisk(t, fsys)
}
