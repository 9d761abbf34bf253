package collector

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
)

// cufileSpec is the collector of GPUDirect Storage.
func cufileSpec() Spec {
	return Spec{
		Name:    "cufile",
		Help:    "GPUDirect Storage: which mode cuFile works in, and what nvidia-fs counts.",
		Metrics: cufileMetrics(),
		Needs:   []Need{inspectNeed("which way processes of other users get at files is unknown, and their cuFile settings and logs are not seen")},
		Open: func(host Host, _ Options) Collect {
			return newCuFileCollector(host).collect
		},
	}
}

// cufileCollector keeps the evidence of processes and logs between collections. The runner never runs a collector twice
// at a time.
type cufileCollector struct {
	host  Host
	looks *processLooks[*cufileLook]
	logs  *cufileLogs
}

func newCuFileCollector(host Host) *cufileCollector {
	looks := newProcessLooks(host, func(pid uint32) *cufileLook { return inspect(host, pid) })
	return &cufileCollector{host: host, looks: looks, logs: newCuFileLogs()}
}

func (c *cufileCollector) collect(ctx context.Context, sample *Sample, batch *Batch) error {
	loaded, nvfsErr := emitNvidiaFS(batch, c.host)
	known, err := c.processesKnown(ctx, sample)
	if known {
		var looks []*cufileLook
		if looks, err = c.lookInto(ctx, sample.engineProcesses(ctx)); err == nil {
			c.emitProcesses(batch, looks)
		}
	}
	if err = errors.Join(nvfsErr, err); err == nil && !known && !loaded {
		err = fmt.Errorf("%w: no GPU of this machine, and nvidia-fs is not loaded", ErrAbsent)
	}
	return err
}

// processesKnown reports whether engines can run here and all processes that use a GPU are listed.
func (c *cufileCollector) processesKnown(ctx context.Context, sample *Sample) (bool, error) {
	if c.host.ForeignGPU {
		return false, nil
	}
	reading, err := sample.Memory(ctx)
	if err != nil || reading.Architecture == "" {
		return false, err
	}
	err = sample.gpuProcessesKnown(ctx)
	return err == nil, err
}

// emitNvidiaFS adds the figures of the kernel module; loaded reports whether the module is loaded.
func emitNvidiaFS(batch *Batch, host Host) (loaded bool, err error) {
	nvfs, err := hostfs.ReadNvidiaFS(host.Proc, host.Sys)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if nvfs.Version != "" {
		batch.Gauge(metric.CuFileNVFSInfo, 1, nvfs.Version, nvfs.GDSVersion)
	}
	for name, version := range nvfs.Modules {
		batch.Gauge(metric.CuFileNVFSModuleInfo, 1, name, version)
	}
	if nvfs.RWStats != nil {
		batch.Gauge(metric.CuFileNVFSRWStatsEnabled, number(*nvfs.RWStats))
	}
	if nvfs.ShadowBufferBytes != nil {
		batch.Gauge(metric.CuFileNVFSShadowBufferBytes, float64(*nvfs.ShadowBufferBytes))
	}
	emitCounts(batch, metric.CuFileNVFSOperationsTotal, nvfs.Operations)
	emitCounts(batch, metric.CuFileNVFSBytesTotal, nvfs.Bytes)
	emitCounts(batch, metric.CuFileNVFSErrorsTotal, nvfs.Errors)
	for _, gpu := range nvfs.GPUs {
		batch.Gauge(metric.CuFileNVFSRegisteredBytes, float64(gpu.RegisteredBytes), gpu.UUID)
	}
	return true, err
}

// emitCounts adds one series per key.
func emitCounts(batch *Batch, m metric.Counter, counts map[string]uint64) {
	for key, count := range counts {
		batch.Counter(m, float64(count), key)
	}
}

// emitProcesses adds the number of processes by mode, for every mode, and the evidence of those that have mapped the
// library.
func (c *cufileCollector) emitProcesses(batch *Batch, looks []*cufileLook) {
	processes := map[hostfs.CuFileMode]int{}
	configs := map[configKey]bool{}
	for _, look := range looks {
		verdict := c.logs.evidence(c.host.Proc, look).Judge()
		processes[verdict.Mode]++
		if look.evidence.Loaded {
			batch.Gauge(metric.CuFileProcessInfo, 1, pidLabel(look.pid), look.comm, look.cgroup, string(verdict.Mode), verdict.Evidence)
			emitCuFileConfig(batch, look, configs)
		}
	}
	for _, mode := range hostfs.CuFileModes() {
		batch.Gauge(metric.CuFileProcesses, float64(processes[mode]), string(mode))
	}
	if c.logs.found {
		for _, level := range hostfs.CuFileLogLevels() {
			batch.Counter(metric.CuFileLogMessagesTotal, float64(c.logs.messages[level]), level)
		}
	}
}

// configKey identifies a configuration: each container has its own /etc.
type configKey struct{ cgroup, path string }

// maxConfigs is the maximum number of configurations shown.
const maxConfigs = 20

// emitCuFileConfig adds the configuration of a process, once for all processes that share it.
func emitCuFileConfig(batch *Batch, look *cufileLook, shown map[configKey]bool) {
	key := configKey{look.cgroup, look.configPath}
	if look.configPath == "" || shown[key] || len(shown) == maxConfigs {
		return
	}
	shown[key] = true
	batch.Gauge(metric.CuFileConfigReadable, number(look.config != nil), key.cgroup, key.path)
	if look.config == nil {
		return
	}
	for setting, on := range look.config.Switches {
		batch.Gauge(metric.CuFileConfigEnabled, number(on), key.cgroup, key.path, setting)
	}
	for setting, bytes := range look.config.Bytes {
		batch.Gauge(metric.CuFileConfigBytes, float64(bytes), key.cgroup, key.path, setting)
	}
	for setting, value := range look.config.Counts {
		batch.Gauge(metric.CuFileConfigValue, float64(value), key.cgroup, key.path, setting)
	}
}

func cufileMetrics() []metric.Definer {
	return []metric.Definer{
		metric.CuFileProcesses, metric.CuFileProcessInfo, metric.CuFileNVFSInfo, metric.CuFileNVFSModuleInfo,
		metric.CuFileNVFSRWStatsEnabled, metric.CuFileNVFSOperationsTotal, metric.CuFileNVFSBytesTotal,
		metric.CuFileNVFSErrorsTotal, metric.CuFileNVFSShadowBufferBytes, metric.CuFileNVFSRegisteredBytes,
		metric.CuFileLogMessagesTotal, metric.CuFileConfigReadable, metric.CuFileConfigEnabled,
		metric.CuFileConfigBytes, metric.CuFileConfigValue,
	}
}
