package runner

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"

	"github.com/umascope/umascope/loadgen/telemetry"
)

// Files of the kernel with the governor of the processor's clock and with the power mode of the machine.
const (
	governorPath = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
	profilePath  = "/sys/firmware/acpi/platform_profile"
)

// describePlace adds to the manifest the facts about the machine that are available before the load.
func describePlace(ctx context.Context, r *run) {
	m := r.manifest
	m.Client.Governor, m.Client.PowerProfile = firstLine(governorPath), firstLine(profilePath)
	m.Storage = []rundir.Storage{runStorage(r.folder)}
	m.Git = gitState(ctx, ".")
}

// describeHardware adds to the manifest the GPU limits and the drives of the machines in the telemetry.
func describeHardware(m *rundir.Manifest, log *telemetry.Log) {
	for i, machine := range m.Machines {
		source := log.Source(machine.Source)
		m.Machines[i].GPULimits = gpuLimits(source)
		for _, series := range source.Find(metric.NVMeInfo) {
			m.Machines[i].Drives = append(m.Machines[i].Drives, series.Labels)
		}
	}
}

// glanceAtKVStorage finds the storage of the KV cache's disk tier through the processes that hold its file, while they
// run.
func glanceAtKVStorage(ctx context.Context, r *run) []rundir.Storage {
	if len(r.capture.Sources) == 0 {
		return nil
	}
	log, err := r.capture.Glance(ctx)
	if err != nil {
		r.env.Log.Info("what the disk tier of the KV cache lies on could not be looked up", "why", printable(err.Error()))
		return nil
	}
	return kvStorage(r.manifest, log)
}

// firstLine returns the first line of a kernel file, or "" if it does not exist.
func firstLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}

// namedStorage returns the storage of a folder, or the reason why it could not be found.
func namedStorage(whose string, find func() (rundir.Storage, error)) rundir.Storage {
	found, err := find()
	found.Of = whose
	if err != nil {
		found.Missing = printable(err.Error())
	}
	return found
}

// runStorage returns the storage of the run folder.
func runStorage(f rundir.Folder) rundir.Storage {
	return namedStorage(rundir.StorageOfRun, func() (rundir.Storage, error) { return StorageOf(string(f)) })
}

// kvStorage returns the storage of the KV cache's disk tier: of the folder of the file that exporters found open in a
// process, even if the file is deleted. It works only for this machine, whose processes can be read.
func kvStorage(m *rundir.Manifest, log *telemetry.Log) []rundir.Storage {
	if log == nil || m.Labels["host"] != m.Client.Hostname {
		return nil
	}
	var all []rundir.Storage
	for _, source := range log.Sources {
		if source.Mode() != metric.ModeLive {
			continue
		}
		for _, series := range source.Find(metric.KVBMDiskFileBytes) {
			pid, err := strconv.Atoi(series.Labels[string(metric.LabelPID)])
			dir := path.Dir(series.Labels[string(metric.LabelPath)])
			if err != nil || slices.ContainsFunc(all, func(s rundir.Storage) bool { return s.Path == dir }) {
				continue
			}
			all = append(all, namedStorage(rundir.StorageOfKV, func() (rundir.Storage, error) { return storageOfProcess(pid, dir) }))
		}
	}
	return all
}

// sharedDrive returns the name of a drive that holds both the run folder and the KV cache's disk tier.
func sharedDrive(all []rundir.Storage) string {
	drives := map[string][]string{}
	for _, s := range all {
		for _, d := range s.Drives {
			drives[s.Of] = append(drives[s.Of], d.Device)
		}
	}
	for _, device := range drives[rundir.StorageOfRun] {
		if slices.Contains(drives[rundir.StorageOfKV], device) {
			return device
		}
	}
	return ""
}

// placeWarnings returns warnings about properties of the machine that distort figures.
func placeWarnings(m *rundir.Manifest) []string {
	var warnings []string
	if device := sharedDrive(m.Storage); device != "" {
		warnings = append(warnings, fmt.Sprintf("the run folder is on %s, and so is the disk tier of the KV cache: the folder's bytes are in the drive's count, from which the evidence subtracts them; --out on another drive avoids it", device))
	}
	if step := m.Client.ClockStepSeconds; step != 0 {
		warnings = append(warnings, stepWarning(step))
	}
	return warnings
}

// gpuLimits returns the GPU limits that a machine's exporter reported last.
func gpuLimits(source *telemetry.SourceLog) []rundir.GPULimit {
	var all []rundir.GPULimit
	enter := func(family metric.Definer, set func(*rundir.GPULimit, float64)) {
		for _, series := range source.Find(family) {
			uuid := series.Labels[string(metric.LabelUUID)]
			at := slices.IndexFunc(all, func(l rundir.GPULimit) bool { return l.UUID == uuid })
			if at < 0 {
				at = len(all)
				all = append(all, rundir.GPULimit{UUID: uuid})
			}
			for point := range series.Points() {
				set(&all[at], point.Value)
			}
		}
	}
	enter(metric.GPUPowerLimitWatts, func(l *rundir.GPULimit, watts float64) { l.PowerWatts = &watts })
	enter(metric.GPUSMClockMaxHertz, func(l *rundir.GPULimit, hertz float64) { l.SMClockHertz = &hertz })
	return all
}
