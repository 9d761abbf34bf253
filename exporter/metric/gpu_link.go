package metric

// Links of GPUs, by uuid: PCIe to the host, NVLink to other GPUs. Integrated GPUs have neither.
var (
	GPUNVLinkErrorsTotal = counter(Def{Name: "uma_gpu_nvlink_errors_total", Unit: Count, Sum: SumKeeping(LabelKind),
		Help:   "Errors on an NVLink that is up, by kind; up to Hopper replay, recovery and crc, since Blackwell others.",
		Source: "nvmlDeviceGetFieldValues every 30 s", Labels: []Label{LabelUUID, LabelLink, LabelKind}})
	GPUPCIeReplaysTotal = counter(Def{Name: "uma_gpu_pcie_replays_total", Unit: Count,
		Help:   "Packets that had to be sent again over PCIe.",
		Source: "nvmlDeviceGetFieldValues every 30 s", Labels: []Label{LabelUUID}})
	GPUPCIeLinkGeneration = gauge(Def{Name: "uma_gpu_pcie_link_generation", Unit: Index, Sum: SumNever(),
		Help:   "PCIe generation that the link runs at; it falls when the GPU rests.",
		Source: "nvmlDeviceGetCurrPcieLinkGeneration every 30 s", Labels: []Label{LabelUUID}})
	GPUPCIeLinkGenerationMax = gauge(Def{Name: "uma_gpu_pcie_link_generation_max", Unit: Index, Sum: SumNever(),
		Help:   "Highest PCIe generation that the GPU and its slot allow.",
		Source: "nvmlDeviceGetMaxPcieLinkGeneration", Labels: []Label{LabelUUID}})
	GPUPCIeLinkLanes = gauge(Def{Name: "uma_gpu_pcie_link_lanes", Unit: Count, Sum: SumNever(),
		Help:   "PCIe lanes in use; fewer than the maximum is a bad contact or a riser.",
		Source: "nvmlDeviceGetCurrPcieLinkWidth every 30 s", Labels: []Label{LabelUUID}})
	GPUPCIeLinkLanesMax = gauge(Def{Name: "uma_gpu_pcie_link_lanes_max", Unit: Count, Sum: SumNever(),
		Help:   "PCIe lanes that the GPU and its slot have.",
		Source: "nvmlDeviceGetMaxPcieLinkWidth", Labels: []Label{LabelUUID}})
	GPUPCIeThroughputBytesPerSecond = gauge(Def{Name: "uma_gpu_pcie_throughput_bytes_per_second", Unit: BytesPerSecond, Telemetry: true, Sum: SumKeeping(LabelDirection),
		Help:   "PCIe traffic, seen from the GPU, in the 20 ms that the driver counts for; a sample, not an average. Only with --gpu.pcie. The driver gives KB, taken as 1000 bytes: its documentation does not say.",
		Source: "nvmlDeviceGetPcieThroughput", Labels: []Label{LabelUUID, LabelDirection}})
)

func gpuLinkDefs() []Definer {
	return []Definer{
		GPUNVLinkErrorsTotal, GPUPCIeReplaysTotal, GPUPCIeLinkGeneration, GPUPCIeLinkGenerationMax,
		GPUPCIeLinkLanes, GPUPCIeLinkLanesMax, GPUPCIeThroughputBytesPerSecond,
	}
}
