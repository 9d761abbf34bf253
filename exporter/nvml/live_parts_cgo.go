//go:build cgo

package nvml

import (
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// eachInstance visits the MIG devices of a GPU. Indices may be unused, hidden from this process, or gone since: these
// are skipped.
func eachInstance(read func(nvml.Device, *Instance) nvml.Return) func(nvml.Device) (Value, nvml.Return) {
	return func(d nvml.Device) (Value, nvml.Return) {
		count, code := d.GetMaxMigDeviceCount()
		if code != nvml.SUCCESS {
			return Value{}, code
		}
		var v Value
		for index := range min(count, maxInstances) {
			instance, code := readInstance(d, index, read)
			switch code {
			case nvml.SUCCESS:
				v.Instances = append(v.Instances, instance)
			case nvml.ERROR_NOT_FOUND, nvml.ERROR_INVALID_ARGUMENT, nvml.ERROR_NO_PERMISSION:
			default:
				return Value{}, code
			}
		}
		return v, nvml.SUCCESS
	}
}

func readInstance(d nvml.Device, index int, read func(nvml.Device, *Instance) nvml.Return) (Instance, nvml.Return) {
	handle, code := d.GetMigDeviceHandleByIndex(index)
	if code != nvml.SUCCESS {
		return Instance{}, code
	}
	var instance Instance
	if instance.UUID, code = handle.GetUUID(); code != nvml.SUCCESS {
		return Instance{}, code
	}
	return instance, read(handle, &instance)
}

// describeInstance reads the identity of an instance and how full its memory is. Handles are reused when instances are
// made and destroyed, so none is kept from pass to pass.
func describeInstance(handle nvml.Device, instance *Instance) nvml.Return {
	gpu, code := handle.GetGpuInstanceId()
	if code != nvml.SUCCESS {
		return code
	}
	compute, code := handle.GetComputeInstanceId()
	if code != nvml.SUCCESS {
		return code
	}
	instance.GPUInstance, instance.ComputeInstance = uint32(gpu), uint32(compute)
	if name, code := handle.GetName(); code == nvml.SUCCESS {
		instance.Profile = profileOf(name)
	}
	if m, code := handle.GetMemoryInfo_v2(); code == nvml.SUCCESS {
		instance.TotalBytes, instance.UsedBytes, instance.FreeBytes = &m.Total, &m.Used, &m.Free
	}
	return nvml.SUCCESS
}

// profileOf returns the last part of a name such as "NVIDIA H100 80GB HBM3 MIG 3g.40gb".
func profileOf(name string) string {
	if _, profile, found := strings.Cut(name, " MIG "); found {
		return profile
	}
	return name
}

// listInstance lists the processes of an instance. MIG has no graphics: one list is complete.
func listInstance(handle nvml.Device, instance *Instance) nvml.Return {
	infos, code := handle.GetComputeRunningProcesses()
	if code == nvml.SUCCESS {
		instance.Processes, instance.ProcessesRead = processList(infos), true
	}
	return nvml.SUCCESS
}
