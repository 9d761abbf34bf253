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

func TestThePassThatFindsADeviceLostReadsItsErrors(t *testing.T) {
	f := newFake(1)
	f.set(0, CallXIDErrors, Value{})
	r := NewReader(f, ReaderOptions{})
	snapshot(t, r)
	f.set(0, CallXIDErrors, Value{Numbers: map[string]uint64{"79": 1}})
	f.fail(0, CallComputeProcesses, Value{}, GPUIsLost) // as soon as that, before it is time for events
	f.fail(0, CallMemory, Value{}, GPUIsLost)
	s, err := r.Read(t.Context()).Snapshot(t.Context())
	if d := s.Devices[0]; !errors.Is(err, ErrLost) || !maps.Equal(d.XIDErrors, map[uint64]uint64{79: 1}) {
		t.Errorf("%v, %+v", err, d)
	}
	if f.count(0, CallMemory) != 1 {
		t.Error("a lost device is asked on")
	}
}

func TestDeviceThatIsStillLostWhenTheLibraryIsOpenedAnewKeepsItsNameAndItsErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2)
		f.set(1, CallXIDErrors, Value{Numbers: map[string]uint64{"79": 1}})
		r := NewReader(f, ReaderOptions{})
		snapshot(t, r)
		for _, call := range []Call{CallUUID, CallComputeProcesses, CallXIDErrors} { // without a handle there is nothing
			f.fail(1, call, Value{}, GPUIsLost)
		}
		for range 3 {
			s, err := r.Read(t.Context()).Snapshot(t.Context())
			d := s.Devices[1]
			if !errors.Is(err, ErrLost) || d.UUID != "GPU-b" || !maps.Equal(d.XIDErrors, map[uint64]uint64{79: 1}) || d.Name != "" && f.down > 0 {
				t.Errorf("opened anew %d times: %v, %+v", f.down, err, d)
			}
			if other := s.Devices[0]; other.Return != Success || other.UUID != "GPU-a" || other.XIDErrors != nil {
				t.Errorf("the other device: %+v", other)
			}
			time.Sleep(time.Minute)
		}
		if f.down != 2 {
			t.Errorf("opened anew %d times", f.down)
		}
		f.devices = 1 // which one has gone is not known now
		f.fail(0, CallUUID, Value{}, GPUIsLost)
		if s, _ := r.Read(t.Context()).Snapshot(t.Context()); s.Devices[0].UUID != "" {
			t.Errorf("one of two passes for %s", s.Devices[0].UUID)
		}
	})
}

func TestPassThatComesLateDoesNotUseALibraryThatIsBeingOpenedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2)
		r := NewReader(f, ReaderOptions{})
		late := r.Read(t.Context())
		synctest.Wait() // it is open, and nobody has come back to begin the reads
		f.fail(0, CallTemperature, Value{}, GPUIsLost)
		r.Read(t.Context()).Snapshot(t.Context())
		time.Sleep(firstRetry)
		release := f.block(System, CallInit)
		r.Read(t.Context())
		synctest.Wait()
		asked := f.count(1, CallTemperature)
		if _, err := late.Snapshot(t.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("error %v", err)
		}
		if more := f.count(1, CallTemperature) - asked; f.down != 1 || more != 0 {
			t.Errorf("%d shut down, %d calls since", f.down, more)
		}
		release()
		synctest.Wait()
	})
}

func TestFieldOfALostDeviceMarksItAsLost(t *testing.T) {
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

func TestLibraryOfAnotherVersionThanTheModuleNamesTheRemedy(t *testing.T) {
	f := newFake(1)
	f.opens = []Return{LibRMVersionMismatch}
	_, err := NewReader(f, ReaderOptions{}).Read(t.Context()).Snapshot(t.Context())
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "reboot or reload the module") || !strings.Contains(err.Error(), "restart") {
		t.Errorf("error %v", err)
	}
}
