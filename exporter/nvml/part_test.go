package nvml

import (
	"testing"
	"testing/synctest"
	"time"
)

// halves is a GPU in two parts.
func halves() *fake {
	f := newFake(1)
	f.set(0, CallMIGMode, Value{Number: 1})
	f.set(0, CallMIGDevices, Value{Instances: []Instance{{UUID: "MIG-a", GPUInstance: 1}, {UUID: "MIG-b", GPUInstance: 2}}})
	f.set(0, CallComputeProcesses, Value{Processes: []Process{
		{PID: 10, UsedBytes: new(uint64(5)), GPUInstance: new(uint32(2)), ComputeInstance: new(uint32(0))},
		{PID: 11, UsedBytes: new(uint64(6)), GPUInstance: new(uint32(2)), ComputeInstance: new(uint32(0))},
	}})
	return f
}

func TestProcessesArePutToTheirPartsByTheListOfTheWhole(t *testing.T) {
	f := halves()
	d := snapshot(t, NewReader(f, ReaderOptions{})).Devices[0]
	a, b := d.Instances[0], d.Instances[1]
	if !a.HeldKnown() || a.HeldBytes() != 0 || !b.HeldKnown() || b.HeldBytes() != 11 || d.HeldBytes() != 11 {
		t.Errorf("%+v", d.Instances)
	}
	if f.count(0, CallMIGProcesses) != 0 {
		t.Error("the parts are asked too")
	}
}

func TestPartsAreReadWhereTheWholeListHasNoInstances(t *testing.T) {
	lists := Value{Instances: []Instance{{UUID: "MIG-b", ProcessesRead: true, Processes: []Process{{PID: 10, UsedBytes: new(uint64(5))}}}}}
	for name, set := range map[string]func(*fake){
		"refused":    func(f *fake) { f.fail(0, CallComputeProcesses, Value{}, NoPermission) },
		"without id": func(f *fake) { f.set(0, CallComputeProcesses, Value{Processes: []Process{{PID: 10}}}) },
	} {
		f := halves()
		set(f)
		f.set(0, CallMIGProcesses, lists)
		d := snapshot(t, NewReader(f, ReaderOptions{})).Devices[0]
		if a, b := d.Instances[0], d.Instances[1]; a.HeldKnown() || !b.HeldKnown() || b.HeldBytes() != 5 {
			t.Errorf("%s: %+v", name, d.Instances)
		}
	}
}

func TestWhatThePrivilegeToMonitorGivesIsDeniedAndNotFailed(t *testing.T) {
	f := halves()
	f.fail(0, CallMemory, Value{}, NoPermission)
	d := snapshot(t, NewReader(f, ReaderOptions{})).Devices[0]
	if !d.Denied || len(d.Errors) != 0 {
		t.Errorf("%v, %v", d.Denied, d.Errors)
	}
	f.set(0, CallMemory, Value{})
	if d := snapshot(t, NewReader(f, ReaderOptions{})).Devices[0]; d.Denied {
		t.Error("still denied")
	}
	whole := newFake(1)
	whole.fail(0, CallMemory, Value{}, NoPermission)
	if s, err := NewReader(whole, ReaderOptions{}).Read(t.Context()).Snapshot(t.Context()); err == nil || s.Devices[0].Denied {
		t.Errorf("a GPU in one part: %v", err)
	}
}

func TestGPUIsPartitionedAndMadeWholeWhileTheLibraryIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		f.set(0, CallMIGMode, Value{Number: 0})
		r := NewReader(f, ReaderOptions{})
		if d := snapshot(t, r).Devices[0]; *d.MIGEnabled || d.InstancesRead || f.count(0, CallMIGDevices) != 0 {
			t.Errorf("%+v", d)
		}
		f.set(0, CallMIGMode, Value{Number: 1})
		f.set(0, CallMIGDevices, Value{})
		time.Sleep(slowAge)
		if d := snapshot(t, r).Devices[0]; !*d.MIGEnabled || !d.InstancesRead || len(d.Instances) != 0 {
			t.Errorf("%+v", d)
		}
		f.set(0, CallMIGMode, Value{Number: 0})
		time.Sleep(slowAge)
		if d := snapshot(t, r).Devices[0]; *d.MIGEnabled || d.InstancesRead {
			t.Errorf("%+v", d)
		}
	})
}

func TestLinkOfAnIntegratedGPUIsNotAskedFor(t *testing.T) {
	f := newFake(2)
	for device := range 2 {
		f.set(device, CallPCIeGeneration, Value{Number: 1})
		f.set(device, CallLinkFields, Value{Numbers: map[string]uint64{fieldPCIeReplays: 3}, Links: []Link{{Number: 1}}})
		f.set(device, CallPCIeTransmit, Value{Number: 2})
	}
	f.set(1, CallName, Value{Text: "NVIDIA GB10"})
	f.fail(1, CallMemory, Value{}, NotSupported)
	s := snapshot(t, NewReader(f, ReaderOptions{PCIeThroughput: true}))
	if d := s.Devices[0]; *d.PCIeGeneration != 1 || *d.PCIeReplays != 3 || len(d.NVLinks) != 1 || *d.PCIeTransmitBytesPerSecond != 2000 {
		t.Errorf("%+v", d)
	}
	if d := s.Devices[1]; d.PCIeGeneration != nil || d.PCIeReplays != nil || d.NVLinks != nil || d.PCIeTransmitBytesPerSecond != nil || f.count(1, CallPCIeTransmit) != 0 {
		t.Errorf("%+v", d)
	}
}

func TestTrafficIsAskedForOnlyOnRequest(t *testing.T) {
	f := newFake(1)
	d := snapshot(t, NewReader(f, ReaderOptions{})).Devices[0]
	if _, judged := d.Supported[CallPCIeTransmit]; judged || f.count(0, CallPCIeTransmit)+f.count(0, CallPCIeReceive) != 0 {
		t.Error("it takes 40 ms and was asked for")
	}
}
