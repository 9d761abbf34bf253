package nvml

// maxLinks is NVML_NVLINK_MAX_LINKS of nvml.h.
const maxLinks = 36

// hasNoLink reports that the GPU is part of the processor: the driver then gives a placeholder for its link, generation
// 1 and one lane, on GB10.
func hasNoLink(d *reading) bool { return d.Architecture.InPool() }

func applyLinkFields(d *reading, v Value) {
	d.PCIeReplays = named(v, fieldPCIeReplays)
	d.NVLinks = v.Links
}

// Names of the parts of CallLinkFields: the count of PCIe replays, and how many NVLinks there are.
const (
	fieldPCIeReplays = "pcie_replays"
	fieldNVLinks     = "nvlinks"
)
