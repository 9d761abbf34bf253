package nvml

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestSlowDevicesAreReadAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(8)
		r := NewReader(f, ReaderOptions{})
		for device := range 8 {
			time.AfterFunc(time.Second, f.block(device, CallTemperature))
		}
		began := time.Now()
		s := snapshot(t, r)
		if took := time.Since(began); took != time.Second || len(s.Devices) != 8 || s.Devices[7].PowerWatts == nil {
			t.Errorf("%d devices took %v", len(s.Devices), took)
		}
	})
}

func TestOfALostDeviceOnlyWhyItWasLostIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		f.set(0, CallXIDErrors, Value{})
		r := NewReader(f, ReaderOptions{})
		snapshot(t, r)
		f.fail(0, CallTemperature, Value{}, GPUIsLost)
		if _, err := r.Read(t.Context()).Snapshot(t.Context()); !errors.Is(err, ErrLost) {
			t.Fatalf("error %v", err)
		}
		synctest.Wait()
		f.set(0, CallXIDErrors, Value{Numbers: map[string]uint64{"79": 1}})
		asked := len(f.asked)
		s, err := r.Read(t.Context()).Snapshot(t.Context())
		d := s.Devices[0]
		if !errors.Is(err, ErrLost) || d.Return != GPUIsLost || d.UUID != "GPU-a" || !maps.Equal(d.XIDErrors, map[uint64]uint64{79: 1}) {
			t.Errorf("%v, %+v", err, d)
		}
		if more := len(f.asked) - asked; more != 1 || d.ProcessesRead || d.TemperatureCelsius != nil {
			t.Errorf("%d calls, %+v", more, d)
		}
	})
}

func TestFieldThatSaysThatTheDeviceIsLostIsBelieved(t *testing.T) {
	f := newFake(1)
	f.set(0, CallFields, Value{Refused: map[string]Return{"energy": GPUIsLost}})
	s, err := NewReader(f, ReaderOptions{}).Read(t.Context()).Snapshot(t.Context())
	if !errors.Is(err, ErrLost) || s.Devices[0].Return != GPUIsLost {
		t.Errorf("%v, %+v", err, s.Devices[0])
	}
}

func TestWhatWasNotRecordedIsNeitherSupportedNorUnsupported(t *testing.T) {
	text := headLine + initLine + `{"device":-1,"call":"nvmlDeviceGetCount_v2","return":0,"value":{"number":1}}
{"device":0,"call":"nvmlDeviceGetUUID","return":0,"value":{"text":"GPU-1"}}
{"device":0,"call":"nvmlDeviceGetComputeRunningProcesses","return":0,"value":{}}
{"device":0,"call":"nvmlDeviceGetFanSpeed","return":3}
`
	driver, err := Replay(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	d := snapshot(t, NewReader(driver, ReaderOptions{PCIeThroughput: true})).Devices[0]
	want := map[Call]bool{CallUUID: true, CallComputeProcesses: true, CallFan: false}
	if !maps.Equal(d.Supported, want) || len(d.Errors) != 0 || !d.ProcessesRead || d.XIDErrors != nil {
		t.Errorf("%v, %v, %+v", d.Supported, d.Errors, d)
	}
}

func TestLibraryOfAnotherVersionThanTheModuleSaysWhatToDo(t *testing.T) {
	f := newFake(1)
	f.opens = []Return{LibRMVersionMismatch}
	_, err := NewReader(f, ReaderOptions{}).Read(t.Context()).Snapshot(t.Context())
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "reboot or reload the module") || !strings.Contains(err.Error(), "restart") {
		t.Errorf("error %v", err)
	}
}
