package metric

const (
	nvfsStats  = "/proc/driver/nvidia-fs/stats"
	nvfsReset  = " A reset of the statistics, by a write to that file, shows as one of the counter."
	cufileJSON = "cufile.json of the process: CUFILE_ENV_PATH_JSON, else /etc/cufile.json"
)

// GPUDirect Storage: by which way engines read files, and the counts of its kernel module.
var (
	CuFileProcesses = gauge(Def{Name: "uma_cufile_processes", Unit: Count, Telemetry: true,
		Help:   "Processes that may be an engine's (those with GPU memory and others in their cgroups) by how they get at files: absent neither cuFile nor O_DIRECT in use, posix O_DIRECT without cuFile, compat cuFile with a copy by the CPU, nvfs cuFile through nvidia-fs, p2pdma cuFile through the kernel's peer-to-peer DMA, unknown where what can be seen decides nothing. Judged from mappings, descriptors, configuration and log, at most every 20 s; that data moves through nvidia-fs is proven by its counters only.",
		Source: "/proc/<pid>/{maps,fd,fdinfo,environ}, cufile.json, cufile.log", Labels: []Label{LabelMode}})
	CuFileProcessInfo = gauge(Def{Name: "uma_cufile_process_info", Unit: Info, Sum: SumNever(), Telemetry: true,
		Help:   "Mode of each process that has libcufile mapped, and the evidence that decided it. PyTorch maps the library without using it.",
		Source: "as uma_cufile_processes", Labels: []Label{LabelPID, LabelComm, LabelCgroup, LabelMode, LabelEvidence}})
	CuFileNVFSInfo = gauge(Def{Name: "uma_cufile_nvfs_info", Unit: Info, Sum: SumNever(),
		Help:   "Version of the kernel module nvidia-fs and of the GPUDirect Storage release it is from. Absent without the module.",
		Source: nvfsStats + ", else version", Labels: []Label{LabelVersion, LabelGDSVersion}})
	CuFileNVFSModuleInfo = gauge(Def{Name: "uma_cufile_nvfs_module_info", Unit: Info, Sum: SumNever(),
		Help:   "Storage driver that has registered with nvidia-fs: files on drives of others cannot go through it.",
		Source: "/proc/driver/nvidia-fs/modules", Labels: []Label{LabelName, LabelVersion}})
	CuFileNVFSRWStatsEnabled = gauge(Def{Name: "uma_cufile_nvfs_rw_stats_enabled", Unit: State, Sum: SumNever(),
		Help:   "Whether nvidia-fs counts reads and writes; without it only their errors are there. It is off by default.",
		Source: "/sys/module/nvidia_fs/parameters/rw_stats_enabled, else " + nvfsStats})
	CuFileNVFSOperationsTotal = counter(Def{Name: "uma_cufile_nvfs_operations_total", Unit: Count, Telemetry: true, Sum: SumKeeping(LabelOp),
		Help:   "Operations given to nvidia-fs, those that failed too. Ops read, write and batch are there while reads and writes are counted." + nvfsReset,
		Source: nvfsStats + " n", Labels: []Label{LabelOp}})
	CuFileNVFSBytesTotal = counter(Def{Name: "uma_cufile_nvfs_bytes_total", Unit: Bytes, Telemetry: true,
		Help:   "Bytes moved through nvidia-fs, in whole MiB, while reads and writes are counted." + nvfsReset,
		Source: nvfsStats + " readMiB, writeMiB", Labels: []Label{LabelOp}})
	CuFileNVFSErrorsTotal = counter(Def{Name: "uma_cufile_nvfs_errors_total", Unit: Count, Telemetry: true, Sum: SumKeeping(LabelOp),
		Help:   "Errors by operation or, for what belongs to no operation, by kind; the module counts them in 32 bits." + nvfsReset,
		Source: nvfsStats + " err, io_state_err, Error", Labels: []Label{LabelOp}})
	CuFileNVFSShadowBufferBytes = gauge(Def{Name: "uma_cufile_nvfs_shadow_buffer_bytes", Unit: Bytes, Telemetry: true,
		Help:   "Memory pinned in the buffers that shadow GPU memory for nvidia-fs, in whole MiB.",
		Source: nvfsStats + " Active Shadow-Buffer"})
	CuFileNVFSRegisteredBytes = gauge(Def{Name: "uma_cufile_nvfs_registered_bytes", Unit: Bytes, Telemetry: true,
		Help:   "Memory of a GPU that is registered with nvidia-fs now, in whole MiB. A GPU is there once it has registered some.",
		Source: nvfsStats + " Registered_MiB", Labels: []Label{LabelUUID}})
	CuFileLogMessagesTotal = counter(Def{Name: "uma_cufile_log_messages_total", Unit: Count, Telemetry: true,
		Help:   "Messages in the cuFile logs of these processes since the exporter was started; of a log found later, what its last MiB holds. Absent until a log is found. How much is logged is a setting: at the usual one, ERROR, other levels stay 0.",
		Source: "cufile.log", Labels: []Label{LabelLevel}})
	CuFileConfigReadable = gauge(Def{Name: "uma_cufile_config_readable", Unit: State, Sum: SumNever(),
		Help:   "Whether the configuration that a process with libcufile uses could be read and understood. Absent for one that does not exist: then the library's defaults hold.",
		Source: cufileJSON, Labels: []Label{LabelCgroup, LabelPath}})
	CuFileConfigEnabled = gauge(Def{Name: "uma_cufile_config_enabled", Unit: State, Sum: SumNever(),
		Help:   "Switch in a cuFile configuration; absent if the file does not have it. Variables of the environment can override it.",
		Source: cufileJSON, Labels: []Label{LabelCgroup, LabelPath, LabelSetting}})
	CuFileConfigBytes = gauge(Def{Name: "uma_cufile_config_bytes", Unit: Bytes, Sum: SumNever(),
		Help:   "Size in a cuFile configuration; absent if the file does not have it.",
		Source: cufileJSON, Labels: []Label{LabelCgroup, LabelPath, LabelSetting}})
	CuFileConfigValue = gauge(Def{Name: "uma_cufile_config_value", Unit: Count, Sum: SumNever(),
		Help:   "Number in a cuFile configuration: threads, queue depth, level of statistics; absent if the file does not have it.",
		Source: cufileJSON, Labels: []Label{LabelCgroup, LabelPath, LabelSetting}})
)

func cufileDefs() []Definer {
	return []Definer{
		CuFileProcesses, CuFileProcessInfo, CuFileNVFSInfo, CuFileNVFSModuleInfo, CuFileNVFSRWStatsEnabled,
		CuFileNVFSOperationsTotal, CuFileNVFSBytesTotal, CuFileNVFSErrorsTotal, CuFileNVFSShadowBufferBytes,
		CuFileNVFSRegisteredBytes, CuFileLogMessagesTotal, CuFileConfigReadable, CuFileConfigEnabled,
		CuFileConfigBytes, CuFileConfigValue,
	}
}
