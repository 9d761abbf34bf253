package collector

import (
	"fmt"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/hostfs"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/nvml"
)

// The nodes of the coherent machine in these tests add up to sparkMeminfo's MemTotal: 96 GiB of the GPU's and
// the rest of the CPU's.
const (
	gpuNodeKB = 96 << 20
	cpuNodeKB = 127600748 - gpuNodeKB
)

// coherent answers as the driver does for a GPU with memory of its own on a coherent link.
func coherent() driver {
	ats := nvml.Value{Number: uint64(nvml.AddressingATS)}
	return h200().with(nvml.CallName, nvml.Value{Text: "NVIDIA GH200 480GB"}, nvml.Success).
		with(nvml.CallAddressingMode, ats, nvml.Success)
}

// onNode is such a GPU whose memory is NUMA node 1.
func onNode() driver {
	return coherent().with(nvml.CallNUMANode, nvml.Value{Number: 1}, nvml.Success)
}

// withNodes is the host with NUMA nodes of these sizes in kB.
func withNodes(t testing.TB, host Host, sizes ...int) Host {
	sys := sparkSys()
	for id, size := range sizes {
		replaced(sys, fmt.Sprintf("devices/system/node/node%d/meminfo", id), fmt.Sprintf("Node %d MemTotal: %d kB\nNode %d MemFree: 0 kB\n", id, size, id))
	}
	host.Sys = onDisk(t, sys)
	return host
}

func TestCoherentMachinesByWhereTheGPUsMemoryIs(t *testing.T) {
	const held = (96073 + 218) * mib
	tests := []struct {
		name    string
		host    Host
		options Options
		known   bool
		why     string // "" where the line is known or left out
	}{
		{"onlined as a node", withNodes(t, sparkWith(t, onNode()), cpuNodeKB, gpuNodeKB), Options{}, true, ""},
		{"with empty nodes for partitions of the GPU", withNodes(t, sparkWith(t, onNode()), cpuNodeKB, gpuNodeKB, 0, 0), Options{}, true, ""},
		{"a few blocks of memory come and go meanwhile", withNodes(t, sparkWith(t, onNode()), cpuNodeKB-65536, gpuNodeKB), Options{}, true, ""},
		{"kept by the driver", withNodes(t, sparkWith(t, coherent()), 127600748), Options{}, false, ""},
		{"not onlined", withNodes(t, sparkWith(t, onNode()), 127600748, 0), Options{}, false, "node 1 has no memory"},
		{"no such node", withNodes(t, sparkWith(t, onNode()), 127600748), Options{}, false, "node 1 has no memory"},
		{"beside MemTotal", withNodes(t, sparkWith(t, onNode()), 127600748, gpuNodeKB), Options{}, false, "it is unknown whether node 1 is in the pool"},
		{"a kernel without nodes", sparkWith(t, onNode()), Options{}, false, "no NUMA nodes"},
		{"said to be a node that nobody names", withNodes(t, sparkWith(t, h200()), cpuNodeKB, gpuNodeKB), Options{Architecture: nvml.CoherentNUMA}, false, "does not report which NUMA node"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			series, outcome := page(t, memorySpec(), test.host, test.options)
			if outcome.State != OK {
				t.Errorf("%s: %v", outcome.State, outcome.Err)
			}
			wantSeries(t, series, map[string]float64{"uma_memory_pool_bytes{}": 127600748 * kib})
			wantAbsent(t, series, "uma_memory_cuda_free_bytes", "uma_memory_hidden_by_cache_bytes")
			reading, err := outcome.Sample.Memory(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			why := reading.Unknown[ledger.GPUProcess]
			switch {
			case test.known:
				wantSeries(t, series, map[string]float64{bytesOf("gpu_process"): held, knownOf("gpu_process"): 1, bytesOf("unattributed"): 1310604 * kib})
			case test.why != "":
				wantSeries(t, series, map[string]float64{knownOf("gpu_process"): 0, bytesOf("unattributed"): 1310604*kib + held})
			default:
				wantAbsent(t, series, bytesOf("gpu_process"), knownOf("gpu_process"))
			}
			if (why != nil) != (test.why != "") || why != nil && !strings.Contains(why.Error(), test.why) {
				t.Errorf("unknown because %v, want %q", why, test.why)
			}
		})
	}
}

// TestSeveralGPUsOfSeveralKinds adds up only what is memory of the pool.
func TestSeveralGPUsOfSeveralKinds(t *testing.T) {
	gpu := func(architecture nvml.Architecture, node *int, bytes uint64) nvml.Device {
		return nvml.Device{Architecture: architecture, NUMANode: node, ProcessesRead: true, Processes: []nvml.Process{{PID: 1, UsedBytes: &bytes}}}
	}
	discrete, node1, node2 := gpu(nvml.Discrete, nil, 1), gpu(nvml.CoherentNUMA, new(1), 10), gpu(nvml.CoherentNUMA, new(2), 100)
	integrated, untold, silent := gpu(nvml.Integrated, nil, 1000), gpu(nvml.ArchitectureUnset, nil, 1), nvml.Device{Architecture: nvml.CoherentNUMA, NUMANode: new(1)}
	pool := poolNodes{total: 30 * gib, nodes: []hostfs.Node{
		{ID: 0, Meminfo: hostfs.Meminfo{"MemTotal": 10 * gib}}, {ID: 1, Meminfo: hostfs.Meminfo{"MemTotal": 10 * gib}}, {ID: 2, Meminfo: hostfs.Meminfo{"MemTotal": 10 * gib}},
	}}
	for name, test := range map[string]struct {
		devices []nvml.Device
		host    nvml.Architecture
		want    LedgerAmount
	}{
		"two nodes":                      {[]nvml.Device{node1, node2}, nvml.CoherentNUMA, KnownAmount(110)},
		"a discrete one first":           {[]nvml.Device{discrete, node2}, nvml.CoherentNUMA, KnownAmount(100)},
		"integrated beside a node":       {[]nvml.Device{node1, integrated}, nvml.Integrated, KnownAmount(1010)},
		"one that could not be told":     {[]nvml.Device{node1, untold}, nvml.CoherentNUMA, UnknownAmount()},
		"integrated beside an untold":    {[]nvml.Device{integrated, untold}, nvml.Integrated, UnknownAmount()},
		"one that does not list its own": {[]nvml.Device{node2, silent}, nvml.CoherentNUMA, UnknownAmount()},
		"discrete ones alone":            {[]nvml.Device{discrete}, nvml.Discrete, ImpossibleAmount()},
	} {
		if host := NewSample(Host{}, Options{}).architectureOf(test.devices, nil); host != test.host {
			t.Errorf("%s: the host is %s, want %s", name, host, test.host)
		}
		if got, err := heldInPool(test.host, test.devices, pool, nil); got != test.want || (err != nil) != (test.want == UnknownAmount()) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, test.want)
		}
	}
}

func TestNodesAreReadOnlyWhereAGPUIsOne(t *testing.T) {
	for _, d := range []nvml.Driver{gb10(), h200(), coherent()} {
		var sys counting
		host := sparkWith(t, d)
		host.Sys = sys.in(onDisk(t, replaced(sparkSys(), "devices/system/node/node0/meminfo", "Node 0 MemTotal: 127600748 kB\n")))
		if _, err := NewSample(host, Options{}).Memory(t.Context()); err != nil || sys.reads["devices/system/node/node0/meminfo"] != 0 {
			t.Errorf("%d reads, %v", sys.reads["devices/system/node/node0/meminfo"], err)
		}
	}
}
