//go:build cgo

package nvml

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

func TestEveryCallOfTheTableCanBeMade(t *testing.T) {
	functions := deviceFunctions()
	rows := newLive(nvml.New()).rows
	for _, r := range append(allCalls(), trafficCalls()...) {
		if rows[r.call].read == nil {
			t.Errorf("%s has no function", r.call)
		}
		if r.apply == nil {
			t.Errorf("%s : its answer goes nowhere", r.call)
		}
		delete(functions, r.call)
	}
	for call := range functions {
		t.Errorf("%s stands in no table", call)
	}
}

// buildDriver compiles the library of testdata into a shared object.
func buildDriver(t *testing.T, path string) {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skipf("needs a C compiler: %v", err)
	}
	if out, err := exec.Command(compiler, "-shared", "-fPIC", "-o", path, "testdata/driver.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func TestLibraryIsLoadedWhenItAppearsAndMissingFunctionsAreSurvived(t *testing.T) {
	path := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	driver := newLive(nvml.New(nvml.WithLibraryPath(path)))
	if code := driver.Init(); code != LibraryNotFound {
		t.Fatalf("missing library: %v", code)
	}
	buildDriver(t, path)
	reader := NewReader(driver, ReaderOptions{})
	s, err := reader.Read(t.Context()).Snapshot(t.Context())
	if err != nil || s.DeviceCount != 1 || s.DriverVersion != "470.1" || s.CUDAVersion != "" {
		t.Fatalf("%v, %+v", err, s)
	}
	d := s.Devices[0]
	if d.UUID != "GPU-1" || *d.TemperatureCelsius != 41 || d.PowerWatts != nil || d.MemoryTotalBytes != nil || d.Architecture != ArchitectureUnset {
		t.Errorf("%+v", d)
	}
	if !d.ProcessesRead || len(d.Processes) != 2 || d.HeldBytes() != 4096 || d.Processes[1].UsedBytes != nil {
		t.Errorf("processes %+v", d.Processes)
	}
	if d.ClockEventSeconds["sw_power_cap"] != 5 || d.EnergyJoules != nil {
		t.Errorf("fields %v, %v", d.ClockEventSeconds, d.EnergyJoules)
	}
	for ctx := within(t, 8*time.Second); s.Devices[0].XIDErrors[79] == 0 && ctx.Err() == nil; {
		s = snapshot(t, reader)
	}
	if errors := s.Devices[0].XIDErrors; len(errors) != 2 || errors[31] != 1 || errors[79] != 1 {
		t.Errorf("events %v", errors)
	}
	if v, code := driver.Do(0, CallLimitFields); code != Success || int64(v.Numbers[limitSlowdown]) != -2 {
		t.Errorf("signed field %v, %v", v, code)
	}
	for call, want := range map[Call]Return{CallMemory: FunctionNotFound, CallPower: NotSupported, CallMIGDevices: FunctionNotFound,
		CallPCIeTransmit: FunctionNotFound, "nvmlDeviceClearEccErrorCounts": FunctionNotFound} {
		if _, code := driver.Do(0, call); code != want {
			t.Errorf("%s: %v", call, code)
		}
	}
	if _, code := driver.Do(1, CallTemperature); code != InvalidArgument {
		t.Errorf("a device that is not there: %v", code)
	}
	reader.Close()
	if _, code := driver.Do(0, CallTemperature); code != Uninitialized {
		t.Errorf("after shutdown: %v", code)
	}
}

func TestCallsWithoutAnOpenLibraryAreAnsweredHere(t *testing.T) {
	driver := newLive(nvml.New(nvml.WithLibraryPath(filepath.Join(t.TempDir(), "none.so"))))
	_, code := driver.Do(0, CallTemperature)
	_, system := driver.Do(System, CallDriverVersion)
	_, count := driver.DeviceCount()
	for _, code := range []Return{code, system, count, driver.Shutdown()} {
		if code != Uninitialized {
			t.Errorf("answered %v", code)
		}
	}
	if _, err := NewReader(driver, ReaderOptions{}).Read(t.Context()).Snapshot(t.Context()); !errors.Is(err, ErrUnavailable) {
		t.Errorf("error %v", err)
	}
}
