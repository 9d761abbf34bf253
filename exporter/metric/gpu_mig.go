package metric

// Partitioned GPUs (Multi-Instance GPU): uuid is that of the GPU, mig_uuid that of a part of it.
var (
	GPUMIGEnabled = gauge(Def{Name: "uma_gpu_mig_enabled", Unit: State, Sum: SumNever(),
		Help:   "Whether the GPU is partitioned. Utilisation of the whole is absent then: the driver does not give it. Absent where the GPU cannot be partitioned.",
		Source: "nvmlDeviceGetMigMode every 30 s", Labels: []Label{LabelUUID}})
	GPUMIGInstances = gauge(Def{Name: "uma_gpu_mig_instances", Unit: Count,
		Help:   "Parts of a partitioned GPU that the exporter may see.",
		Source: "nvmlDeviceGetMigDeviceHandleByIndex", Labels: []Label{LabelUUID}})
	GPUMIGInfo = gauge(Def{Name: "uma_gpu_mig_info", Unit: Info, Sum: SumNever(),
		Help:   "Identity of a part of a GPU: a compute instance in a GPU instance.",
		Source: "nvmlDeviceGetMigDeviceHandleByIndex", Labels: []Label{LabelUUID, LabelMIGUUID, LabelGPUInst, LabelComputeInst, LabelProfile}})
	GPUMIGMemoryTotalBytes = gauge(Def{Name: "uma_gpu_mig_memory_total_bytes", Unit: Bytes, Sum: SumKeeping(LabelMIGUUID),
		Help:   "Memory of the part's GPU instance; compute instances of one GPU instance share it.",
		Source: "nvmlDeviceGetMemoryInfo_v2", Labels: []Label{LabelUUID, LabelMIGUUID}})
	GPUMIGMemoryUsedBytes = gauge(Def{Name: "uma_gpu_mig_memory_used_bytes", Unit: Bytes, Telemetry: true, Sum: SumKeeping(LabelMIGUUID),
		Help:   "Memory in use of the part's GPU instance, which its compute instances share.",
		Source: "nvmlDeviceGetMemoryInfo_v2", Labels: []Label{LabelUUID, LabelMIGUUID}})
	GPUMIGMemoryFreeBytes = gauge(Def{Name: "uma_gpu_mig_memory_free_bytes", Unit: Bytes, Sum: SumKeeping(LabelMIGUUID),
		Help:   "Memory not in use of the part's GPU instance, which its compute instances share.",
		Source: "nvmlDeviceGetMemoryInfo_v2", Labels: []Label{LabelUUID, LabelMIGUUID}})
	GPUMIGMemoryHeldBytes = gauge(Def{Name: "uma_gpu_mig_memory_held_bytes", Unit: Bytes, Telemetry: true,
		Help:   "Memory held by the processes that run on the part, summed over them.",
		Source: "nvmlDeviceGetComputeRunningProcesses, of the GPU or of the part", Labels: []Label{LabelUUID, LabelMIGUUID}})
	GPUMIGProcesses = gauge(Def{Name: "uma_gpu_mig_processes", Unit: Count,
		Help:   "Processes that run on the part.",
		Source: "nvmlDeviceGetComputeRunningProcesses, of the GPU or of the part", Labels: []Label{LabelUUID, LabelMIGUUID}})
)

func gpuMIGDefs() []Definer {
	return []Definer{
		GPUMIGEnabled, GPUMIGInstances, GPUMIGInfo, GPUMIGMemoryTotalBytes, GPUMIGMemoryUsedBytes,
		GPUMIGMemoryFreeBytes, GPUMIGMemoryHeldBytes, GPUMIGProcesses,
	}
}
