//go:build cgo

package nvml

import (
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// maxInstances bounds the instances that are asked for; the largest parts have seven.
const maxInstances = 64

// eachInstance goes through the MIG devices of a GPU. Between the numbers of those that there are some
// may be unused, hidden from this process, or gone since: these are passed over.
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

// describeInstance reads what an instance is and how full its memory is. Handles are reused when
// instances are made and destroyed, so nothing is kept from pass to pass.
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

// profileOf is the last part of a name such as "NVIDIA H100 80GB HBM3 MIG 3g.40gb".
func profileOf(name string) string {
	if _, profile, found := strings.Cut(name, " MIG "); found {
		return profile
	}
	return name
}

// listInstance reads who runs on an instance. Graphics has no part in MIG: one list is all.
func listInstance(handle nvml.Device, instance *Instance) nvml.Return {
	infos, code := handle.GetComputeRunningProcesses()
	if code == nvml.SUCCESS {
		instance.Processes, instance.ProcessesRead = processList(infos), true
	}
	return nvml.SUCCESS
}

// maxLinks is NVML_NVLINK_MAX_LINKS of nvml.h.
const maxLinks = 36

// linkErrorFields are the error counters of one NVLink. Up to Hopper there are three; Blackwell has
// others in their place. A kind that two fields give is taken from the one that is answered.
func linkErrorFields() []field {
	return []field{
		{"replay", nvml.FI_DEV_NVLINK_ERROR_DL_REPLAY},
		{"recovery", nvml.FI_DEV_NVLINK_ERROR_DL_RECOVERY},
		{"crc", nvml.FI_DEV_NVLINK_ERROR_DL_CRC},
		{"recovery", nvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS},
		{"recovery_failed", nvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS},
		{"malformed_packet", nvml.FI_DEV_NVLINK_COUNT_MALFORMED_PACKET_ERRORS},
		{"buffer_overrun", nvml.FI_DEV_NVLINK_COUNT_BUFFER_OVERRUN_ERRORS},
		{"receive", nvml.FI_DEV_NVLINK_COUNT_RCV_ERRORS},
		{"link_integrity", nvml.FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS},
		{"effective", nvml.FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS},
	}
}

// linkFields reads the PCIe replays and, where there are NVLinks, the errors of those that are up: two
// calls, however many links there are.
func linkFields(d nvml.Device) (Value, nvml.Return) {
	v, code := fields([]field{
		{fieldPCIeReplays, nvml.FI_DEV_PCIE_REPLAY_COUNTER},
		{fieldNVLinks, nvml.FI_DEV_NVLINK_LINK_COUNT},
	})(d)
	count := int(min(v.Numbers[fieldNVLinks], maxLinks))
	if code != nvml.SUCCESS || count == 0 {
		return v, code
	}
	kinds := linkErrorFields()
	request := make([]nvml.FieldValue, 0, count*(1+len(kinds)))
	for link := range count {
		request = append(request, nvml.FieldValue{FieldId: nvml.FI_DEV_NVLINK_GET_STATE, ScopeId: uint32(link)})
		for _, kind := range kinds {
			request = append(request, nvml.FieldValue{FieldId: kind.id, ScopeId: uint32(link)})
		}
	}
	if code := d.GetFieldValues(request); code != nvml.SUCCESS {
		return Value{}, code
	}
	for link := range count {
		answers := request[link*(1+len(kinds)):][:1+len(kinds)]
		if errors := linkErrors(kinds, answers); len(errors) > 0 {
			v.Links = append(v.Links, Link{Number: link, Errors: errors})
		}
	}
	return v, nvml.SUCCESS
}

// linkErrors are the errors of one link by kind, out of its state and the answers to kinds; none of a
// link that is down, whose counters mean nothing.
func linkErrors(kinds []field, answers []nvml.FieldValue) map[string]uint64 {
	if state, code := fieldAnswer(answers[0]); code == Success && state == uint64(nvml.FEATURE_DISABLED) {
		return nil
	}
	errors := map[string]uint64{}
	for i, kind := range kinds {
		n, code := fieldAnswer(answers[1+i])
		if _, known := errors[kind.name]; code == Success && !known {
			errors[kind.name] = n
		}
	}
	return errors
}
