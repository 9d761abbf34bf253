package collector

import (
	"strings"
	"testing"
	"testing/fstest"
)

// halfSys is a GB10 machine whose second ConnectX link runs at half its width.
func halfSys() fstest.MapFS {
	const function = "devices/pci0002:00/0002:01:00.0/"
	sys := tree(map[string]string{
		function + "current_link_width": "2\n", function + "max_link_width": "4\n",
		function + "current_link_speed": "32.0 GT/s PCIe\n", function + "max_link_speed": "32.0 GT/s PCIe\n",
		function + "aer_dev_correctable":                          "RxErr 3\nTOTAL_ERR_COR 3\n",
		"devices/pci000f:00/000f:01:00.0/aer_dev_fatal":           "TOTAL_ERR_FATAL 1\n",
		"devices/pci000f:00/000f:01:00.0/current_link_width":      "1\n",
		"devices/pci000f:00/000f:01:00.0/aer_dev_correctable":     "TOTAL_ERR_COR 0\n",
		"devices/virtual/net/docker0/operstate":                   "up\n",
		"devices/pci0002:00/0002:01:00.0/net/enP2p1s0f0np0/speed": "200000\n",
	})
	for name, target := range map[string]string{
		"class/net/docker0":                   "../../devices/virtual/net/docker0",
		"class/net/enP2p1s0f0np0":             "../../" + function + "net/enP2p1s0f0np0",
		function + "net/enP2p1s0f0np0/device": "../../../0002:01:00.0",
		"bus/pci/drivers/nvidia/000f:01:00.0": "../../../../devices/pci000f:00/000f:01:00.0",
		"bus/pci/drivers/nvidia/module":       "../../../../module/nvidia",
	} {
		sys[name] = link(target)
	}
	return sys
}

func TestALinkOfHalfItsWidthWorkedOutByHand(t *testing.T) {
	host := spark(t)
	host.Sys = onDisk(t, halfSys())
	series, outcome := page(t, pcieSpec(), host, Options{})
	if outcome.State != OK {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	const card = `{device="enP2p1s0f0np0",pci_bus_id="0002:01:00.0"}`
	wantSeries(t, series, map[string]float64{
		"uma_pcie_link_lanes" + card: 2, "uma_pcie_link_lanes_max" + card: 4,
		"uma_pcie_link_generation" + card: 5, "uma_pcie_link_generation_max" + card: 5,
		`uma_pcie_errors_total{device="enP2p1s0f0np0",kind="correctable",pci_bus_id="0002:01:00.0"}`: 3,
		`uma_pcie_errors_total{device="",kind="correctable",pci_bus_id="000f:01:00.0"}`:              0,
		`uma_pcie_errors_total{device="",kind="fatal",pci_bus_id="000f:01:00.0"}`:                    1,
	})
	// The driver has the width of the GPU's link; a kind that the kernel does not count is absent.
	wantAbsent(t, series, `uma_pcie_link_lanes{device="",`, `uma_pcie_errors_total{device="enP2p1s0f0np0",kind="fatal"`, `uma_pcie_link_lanes{device="docker0"`)
}

func TestAVirtualMachineHasNoPCIeLink(t *testing.T) {
	host := spark(t)
	host.Sys = onDisk(t, fstest.MapFS{"class/net/eth0": link("../../devices/virtual/net/eth0")})
	series, outcome := page(t, pcieSpec(), host, Options{})
	if outcome.State != Absent {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantAbsent(t, series, "uma_pcie")
}

func TestABrokenLinkFileIsAFailureThatCostsOnlyItself(t *testing.T) {
	host := spark(t)
	host.Sys = onDisk(t, replaced(halfSys(), "devices/pci0002:00/0002:01:00.0/max_link_width", "wide\n"))
	series, outcome := page(t, pcieSpec(), host, Options{})
	if outcome.State != Failed || !strings.Contains(outcome.Err.Error(), "max_link_width") {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{`uma_pcie_link_lanes{device="enP2p1s0f0np0",pci_bus_id="0002:01:00.0"}`: 2})
	wantAbsent(t, series, "uma_pcie_link_lanes_max")
}
