//go:build cgo

package nvml

import (
	"encoding/binary"
	"reflect"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
)

// migDevice is a part of a GPU as the library shows it.
func migDevice(uuid string, gpuInstance int, memory nvml.Return) *mock.Device {
	return &mock.Device{
		GetUUIDFunc:              func() (string, nvml.Return) { return uuid, nvml.SUCCESS },
		GetNameFunc:              func() (string, nvml.Return) { return "NVIDIA H100 80GB HBM3 MIG 3g.40gb", nvml.SUCCESS },
		GetGpuInstanceIdFunc:     func() (int, nvml.Return) { return gpuInstance, nvml.SUCCESS },
		GetComputeInstanceIdFunc: func() (int, nvml.Return) { return 0, nvml.SUCCESS },
		GetMemoryInfo_v2Func: func() (nvml.Memory_v2, nvml.Return) {
			return nvml.Memory_v2{Total: 40, Used: 10, Free: 30}, memory
		},
		GetComputeRunningProcessesFunc: func() ([]nvml.ProcessInfo, nvml.Return) {
			return []nvml.ProcessInfo{{Pid: 7, UsedGpuMemory: 9, GpuInstanceId: uint32(gpuInstance)}}, memory
		},
	}
}

// partitioned has a part, an unused number, one that is hidden, and one whose memory is not told.
func partitioned() *mock.Device {
	return &mock.Device{
		GetMaxMigDeviceCountFunc: func() (int, nvml.Return) { return 7, nvml.SUCCESS },
		GetMigDeviceHandleByIndexFunc: func(index int) (nvml.Device, nvml.Return) {
			switch index {
			case 0:
				return migDevice("MIG-a", 2, nvml.SUCCESS), nvml.SUCCESS
			case 2:
				return nil, nvml.ERROR_NO_PERMISSION
			case 3:
				return migDevice("MIG-b", 5, nvml.ERROR_UNKNOWN), nvml.SUCCESS
			}
			return nil, nvml.ERROR_NOT_FOUND
		},
	}
}

func TestPartsOfAGPUAreThoseThatCanBeSeen(t *testing.T) {
	v, code := eachInstance(describeInstance)(partitioned())
	want := []Instance{
		{UUID: "MIG-a", GPUInstance: 2, Profile: "3g.40gb", TotalBytes: new(uint64(40)), UsedBytes: new(uint64(10)), FreeBytes: new(uint64(30))},
		{UUID: "MIG-b", GPUInstance: 5, Profile: "3g.40gb"},
	}
	if code != nvml.SUCCESS || !reflect.DeepEqual(v.Instances, want) {
		t.Errorf("%v, %+v", code, v.Instances)
	}
	v, code = eachInstance(listInstance)(partitioned())
	want = []Instance{
		{UUID: "MIG-a", ProcessesRead: true, Processes: []Process{{PID: 7, UsedBytes: new(uint64(9)), GPUInstance: new(uint32(2)), ComputeInstance: new(uint32(0))}}},
		{UUID: "MIG-b"},
	}
	if code != nvml.SUCCESS || !reflect.DeepEqual(v.Instances, want) {
		t.Errorf("%v, %+v", code, v.Instances)
	}
	lost := partitioned()
	lost.GetMigDeviceHandleByIndexFunc = func(int) (nvml.Device, nvml.Return) { return nil, nvml.ERROR_GPU_IS_LOST }
	if _, code := eachInstance(describeInstance)(lost); code != nvml.ERROR_GPU_IS_LOST {
		t.Errorf("a GPU that is lost on the way: %v", code)
	}
}

// linked is a GPU with three NVLinks, of which the second is down, that knows the counters in errors.
func linked(errors map[uint32]uint64) *mock.Device {
	return &mock.Device{GetFieldValuesFunc: func(values []nvml.FieldValue) nvml.Return {
		for i := range values {
			f := &values[i]
			n, known := errors[f.FieldId]
			switch f.FieldId {
			case nvml.FI_DEV_PCIE_REPLAY_COUNTER:
				n, known = 4, true
			case nvml.FI_DEV_NVLINK_LINK_COUNT:
				n, known = 3, true
			case nvml.FI_DEV_NVLINK_GET_STATE:
				known = true
				if f.ScopeId != 1 {
					n = uint64(nvml.FEATURE_ENABLED)
				}
			default:
				n += uint64(f.ScopeId)
			}
			if f.ValueType = uint32(nvml.VALUE_TYPE_UNSIGNED_LONG_LONG); !known {
				f.NvmlReturn = uint32(nvml.ERROR_NOT_SUPPORTED)
			}
			binary.NativeEndian.PutUint64(f.Value[:], n)
		}
		return nvml.SUCCESS
	}}
}

func TestErrorsOfLinksThatAreUpAreReadInTwoCalls(t *testing.T) {
	for generation, c := range map[string]struct {
		errors map[uint32]uint64
		want   []Link
	}{
		"Hopper": {map[uint32]uint64{nvml.FI_DEV_NVLINK_ERROR_DL_REPLAY: 10, nvml.FI_DEV_NVLINK_ERROR_DL_RECOVERY: 20, nvml.FI_DEV_NVLINK_ERROR_DL_CRC: 0},
			[]Link{{0, map[string]uint64{"replay": 10, "recovery": 20, "crc": 0}}, {2, map[string]uint64{"replay": 12, "recovery": 22, "crc": 2}}}},
		"Blackwell": {map[uint32]uint64{nvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS: 5, nvml.FI_DEV_NVLINK_COUNT_RCV_ERRORS: 0},
			[]Link{{0, map[string]uint64{"recovery": 5, "receive": 0}}, {2, map[string]uint64{"recovery": 7, "receive": 2}}}},
		"none known": {nil, nil},
	} {
		device := linked(c.errors)
		v, code := linkFields(device)
		if code != nvml.SUCCESS || v.Numbers[fieldPCIeReplays] != 4 || v.Numbers[fieldNVLinks] != 3 || !reflect.DeepEqual(v.Links, c.want) {
			t.Errorf("%s: %v, %+v", generation, code, v)
		}
		if calls := len(device.GetFieldValuesCalls()); calls != 2 {
			t.Errorf("%s: %d calls", generation, calls)
		}
	}
}

func TestGPUWithoutNVLinkHasNoLinks(t *testing.T) {
	none := &mock.Device{GetFieldValuesFunc: func(values []nvml.FieldValue) nvml.Return {
		for i := range values {
			values[i].NvmlReturn = uint32(nvml.ERROR_NOT_SUPPORTED)
		}
		return nvml.SUCCESS
	}}
	v, code := linkFields(none)
	if code != nvml.SUCCESS || v.Links != nil || v.Refused[fieldNVLinks] != NotSupported {
		t.Errorf("%v, %+v", code, v)
	}
}
