package sim

import (
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/hostfs"
)

// port is the RDMA port of a host as the exporter reads it.
func port(t *testing.T, host *Host) hostfs.InfiniBandPort {
	t.Helper()
	ports, err := hostfs.ReadInfiniBandPorts(host.Collect().Sys)
	must(t, err)
	if len(ports) != 1 || ports[0].Up == nil || !*ports[0].Up || len(ports[0].Errors) != 9 || *ports[0].BytesPerSecond != linkBytesPerSecond {
		t.Fatalf("ports %+v", ports)
	}
	return ports[0]
}

func TestTheCableCountsRDMAAndTheInterfaceDoesNot(t *testing.T) {
	host := newHost(t, Config{Cable: true})
	p := start(t, host, "engine", container)
	p.Demand(Demand{RDMAReceiveBytesPerSecond: 3 * gib, RDMATransmitBytesPerSecond: gib})
	host.Advance(10 * time.Second)
	seen := port(t, host)
	if *seen.ReceivedBytes != uint64(30*gib) || *seen.TransmittedBytes != uint64(10*gib) || seen.Interface != "enp1s0f1np1" {
		t.Errorf("received %d, sent %d on %q", *seen.ReceivedBytes, *seen.TransmittedBytes, seen.Interface)
	}
	interfaces, err := hostfs.ReadNetworkInterfaces(host.Collect().Sys)
	must(t, err)
	if len(interfaces) != 1 || *interfaces[0].Receive.Bytes != 0 || *interfaces[0].Transmit.Bytes != 0 || !*interfaces[0].Up {
		t.Errorf("interfaces %+v", interfaces)
	}
	p.Demand(Demand{})
	host.Advance(10 * time.Second)
	if again := port(t, host); *again.ReceivedBytes != *seen.ReceivedBytes {
		t.Error("who demands nothing receives")
	}
	checkAgreement(t, host)
}

func TestTheCableCarriesNoMoreThanItsLink(t *testing.T) {
	host := newHost(t, Config{Cable: true})
	for _, name := range []string{"engine", "other"} {
		start(t, host, name, container).Demand(Demand{RDMATransmitBytesPerSecond: 20e9, RDMAReceiveBytesPerSecond: 5e9})
	}
	host.Advance(2 * time.Second)
	seen := port(t, host)
	if sent := *seen.TransmittedBytes; sent > 2*linkBytesPerSecond || sent < 2*linkBytesPerSecond-1<<20 {
		t.Errorf("two processes sent %d in two seconds", sent)
	}
	if received := *seen.ReceivedBytes; received < 20e9-1<<20 || received > 20e9 {
		t.Errorf("two processes received %d in two seconds", received)
	}
}

func TestWithoutACableNothingIsOnTheNetwork(t *testing.T) {
	host := newHost(t, Config{})
	start(t, host, "engine", container).Demand(Demand{RDMAReceiveBytesPerSecond: gib})
	host.Advance(time.Second)
	if hostfs.HasNetworkHardware(host.Collect().Sys) || host.machine.cable.received != 0 {
		t.Error("a machine without a cable has a network")
	}
}
