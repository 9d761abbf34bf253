package metric

const pciDevices = "/sys/bus/pci/devices"

// PCI Express, by device (network interface or NVMe controller; empty for a GPU) and PCI address in sysfs. A port of a
// DGX Spark's ConnectX is two functions, each with a link of its own. Width and generation of a GPU are uma_gpu_pcie_*.
var (
	PCIeLinkLanes = gauge(Def{Name: "uma_pcie_link_lanes", Unit: Count, Sum: SumNever(),
		Help:   "PCIe lanes in use by a network card or a drive.",
		Source: pciDevices + " current_link_width", Labels: []Label{LabelDevice, LabelPCIBusID}})
	PCIeLinkLanesMax = gauge(Def{Name: "uma_pcie_link_lanes_max", Unit: Count, Sum: SumNever(),
		Help:   "PCIe lanes that a network card or a drive has; its slot may have fewer.",
		Source: pciDevices + " max_link_width", Labels: []Label{LabelDevice, LabelPCIBusID}})
	PCIeLinkGeneration = gauge(Def{Name: "uma_pcie_link_generation", Unit: Index, Sum: SumNever(),
		Help:   "PCIe generation that the link of a network card or a drive runs at: 5 is 32 GT/s a lane.",
		Source: pciDevices + " current_link_speed", Labels: []Label{LabelDevice, LabelPCIBusID}})
	PCIeLinkGenerationMax = gauge(Def{Name: "uma_pcie_link_generation_max", Unit: Index, Sum: SumNever(),
		Help:   "Highest PCIe generation of a network card or a drive; its slot may have a lower one.",
		Source: pciDevices + " max_link_speed", Labels: []Label{LabelDevice, LabelPCIBusID}})
	PCIeErrorsTotal = counter(Def{Name: "uma_pcie_errors_total", Unit: Count, Sum: SumKeeping(LabelKind),
		Help:   "Errors that a network card, a drive or a GPU reported to Advanced Error Reporting. Of kind correctable: repeated, costs time; nonfatal: a transfer was lost; fatal: the link was reset. The port at the other end of the link counts for itself.",
		Source: pciDevices + " aer_dev_*", Labels: []Label{LabelDevice, LabelPCIBusID, LabelKind}})
)

func pcieDefs() []Definer {
	return []Definer{PCIeLinkLanes, PCIeLinkLanesMax, PCIeLinkGeneration, PCIeLinkGenerationMax, PCIeErrorsTotal}
}
