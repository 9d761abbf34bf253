package alerts

import (
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// pcieGroup is about the PCIe links of network cards, drives and GPUs.
func pcieGroup() Group {
	return Group{Name: "pcie", Alerts: []Alert{pcieLinkNarrow(), pcieErrors(metric.AlertThresholds()), pcieTransfersLost()}}
}

// byFunction reduces to one series per PCI function.
func byFunction() expr.Grouping {
	return expr.By(metric.LabelHost, metric.LabelDevice, metric.LabelPCIBusID)
}

func onFunction() expr.Matching {
	return expr.On(metric.LabelHost, metric.LabelDevice, metric.LabelPCIBusID)
}

// pcieLinkNarrow does not judge the generation, which some drives lower at rest.
func pcieLinkNarrow() Alert {
	const wait = 15 * time.Minute
	lanes := expr.Select(metric.PCIeLinkLanes).Max(byFunction())
	most := expr.Select(metric.PCIeLinkLanesMax).Max(byFunction())
	return Alert{
		Name: "PCIeLinkNarrow", About: AboutPart,
		Summary: "A network card or a drive has fewer PCIe lanes than it is made for.",
		Rules: []Rule{{
			Severity: Info, For: wait, KeepFiringFor: 10 * time.Minute,
			Expr:        lanes.Below(most, onFunction()),
			Description: "{{ $labels.device }} at {{ $labels.pci_bus_id }} has {{ $value }} PCIe lanes, fewer than it is made for, for " + duration(wait) + ".",
		}},
		Runbook: Runbook{
			Meaning: "The link carries that much less: of a ConnectX on GB10 two lanes in place of four halve what one of the two interfaces of a port carries, about 110 Gb/s with four. Owners of an ASUS GX10 saw it with firmware from before April 2026, without any error. In another machine a card may sit in a slot that has fewer lanes: then this is how it is built.",
			Check:   "`sudo lspci -vv -s ADDRESS | grep -E 'LnkCap|LnkSta'` for the card, and for the port above it: if LnkCap of the port is narrow too, firmware or slot decide. `uma-exporter doctor --link HOST` measures what arrives at the other machine.",
			Action:  "On GB10: `sudo fwupdmgr refresh && sudo fwupdmgr update`, then power off, not only a reboot. Elsewhere: seat the card again, or move it to a wider slot. If the slot is what it is, silence this alert for the host.",
		},
	}
}

// functionName names a function in a description: a GPU has no device.
const functionName = "{{ $labels.pci_bus_id }}{{ with $labels.device }} ({{ . }}){{ end }}"

func byErrorKind() expr.Grouping {
	return expr.By(metric.LabelHost, metric.LabelDevice, metric.LabelPCIBusID, metric.LabelKind)
}

func pcieErrors(t metric.Thresholds) Alert {
	const window = 10 * time.Minute
	corrected := expr.Rate(metric.PCIeErrorsTotal, expr.Over(window), expr.Is(metric.LabelKind, "correctable"))
	return Alert{
		Name: "PCIeErrors", About: AboutPart,
		Summary: "A PCIe link repeats more than a sound one does.",
		Rules: []Rule{{
			Severity: Warning, For: 5 * time.Minute, KeepFiringFor: 10 * time.Minute,
			Expr:        corrected.Max(byErrorKind()).Above(expr.Number(t.PCIeErrorsPerSecond)),
			Description: functionName + ` reports {{ $value | printf "%.1f" }} corrected PCIe errors a second, more than ` + metric.Decimal(t.PCIeErrorsPerSecond) + ".",
		}},
		Runbook: Runbook{
			Meaning: "The link repeats what arrived damaged: that costs time and no data. The specification allows four lanes of PCIe 5 one error in 8 seconds. A function without a device is a GPU. Errors that only the port above the device sees are not counted here.",
			Check:   "`journalctl -k -g 'AER|PCIe Bus Error' --since -1h` names the kind: RxErr and BadTLP are the wire. `cat /sys/bus/pci/devices/ADDRESS/aer_dev_correctable` counts each.",
			Action:  "Seat the card, the drive or the riser again, and update the firmware (on GB10 `sudo fwupdmgr update`). If it stays, start once with `pcie_aspm=off` on the kernel's command line: if that ends it, the link fails as it leaves its power saving. Otherwise replace the part.",
		},
	}
}

func pcieTransfersLost() Alert {
	const window = 10 * time.Minute
	lost := expr.Increase(metric.PCIeErrorsTotal, expr.Over(window), expr.OneOf(metric.LabelKind, "nonfatal", "fatal"))
	return Alert{
		Name: "PCIeTransfersLost", About: AboutPart,
		Summary: "A PCIe link has lost transfers.",
		Rules: []Rule{{
			Severity: Warning, KeepFiringFor: time.Hour,
			Expr:        lost.Max(byErrorKind()).Above(expr.Number(0)),
			Description: functionName + ` has reported {{ $value | printf "%.0f" }} {{ $labels.kind }} PCIe error(s) within ` + duration(window) + ".",
		}},
		Runbook: Runbook{
			Meaning: "An error of kind nonfatal lost a transfer, one of kind fatal reset the link. What used the device may have failed, or waited for seconds. A function without a device is a GPU.",
			Check:   "`journalctl -k -g 'AER|PCIe Bus Error|mlx5|nvme|NVRM' --since -1h` shows what the driver made of it.",
			Action:  "Discard runs that used the device at that time. Seat card, drive or riser again and update the firmware; if it comes back, replace the part.",
		},
	}
}
