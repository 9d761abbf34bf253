//go:build cgo

package cuda

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fakeLibrary builds a driver library that is wrong in the way named, "" for a good one.
func fakeLibrary(t *testing.T, wrong string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "libcuda.so.1")
	args := []string{"-shared", "-fPIC", "-o", path, "testdata/fake.c"}
	if wrong != "" {
		args = append(args, "-D"+wrong)
	}
	if out, err := exec.Command(cmp.Or(os.Getenv("CC"), "cc"), args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

func TestCopiesAreTimedByTheGPU(t *testing.T) {
	devices, err := measureWith(t.Context(), fakeLibrary(t, ""))
	if err != nil || len(devices) != 2 || devices[0].Name != "NVIDIA H200" || devices[1].Name != "NVIDIA GB10" {
		t.Fatalf("%v, %d devices", err, len(devices))
	}
	for _, device := range devices {
		if len(device.Seconds) != Measures {
			t.Errorf("%s: %d measures", device.Name, len(device.Seconds))
		}
		for _, seconds := range device.Seconds {
			if seconds != 0.01 { // ten copies of 1 ms
				t.Fatalf("%s: %g s", device.Name, seconds)
			}
		}
	}
}

func TestWhyNothingIsMeasured(t *testing.T) {
	for _, test := range []struct {
		wrong       string
		unavailable bool
		says        string
	}{
		{"NO_DEVICE", true, "no CUDA: no CUDA-capable device is detected (CUDA error 100)"},
		{"NONE", true, "no CUDA: the driver offers no GPU to this process"},
		{"OLD", true, "has no cuEventDestroy_v2"},
		{"FULL", false, "CUDA device 0: out of memory (CUDA error 2)"},
		{"FAULT", false, "CUDA device 0: unknown error (CUDA error 700)"},
	} {
		devices, err := measureWith(t.Context(), fakeLibrary(t, test.wrong))
		if err == nil || len(devices) > 0 || errors.Is(err, ErrUnavailable) != test.unavailable || !strings.HasSuffix(err.Error(), test.says) {
			t.Errorf("%s: %v, %d devices", test.wrong, err, len(devices))
		}
	}
	if _, err := measureWith(t.Context(), "/none/libcuda.so.1"); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "/none/libcuda.so.1: cannot open shared object file: No such file or directory: install the NVIDIA driver") {
		t.Error(err)
	}
}

func TestAClockThatStandsStillEnds(t *testing.T) {
	devices, err := measureWith(t.Context(), fakeLibrary(t, "STILL"))
	if err != nil || len(devices) != 2 {
		t.Fatal(err)
	}
	if got, err := devices[0].Bandwidth(); err == nil {
		t.Errorf("%+v", got)
	}
}

func TestADriverThatHangsIsGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := measureWith(ctx, fakeLibrary(t, "HANGS")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
