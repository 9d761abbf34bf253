package nvml

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestCallThatHangsCostsOnlyWhatComesAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2)
		release := f.block(0, CallPower)
		r := NewReader(f, ReaderOptions{})
		called := time.Now()
		s, err := r.Read(t.Context()).Snapshot(within(t, 8*time.Second))
		if !errors.Is(err, ErrHung) || !strings.Contains(err.Error(), string(CallPower)) {
			t.Fatalf("error %v", err)
		}
		hung, other := s.Devices[0], s.Devices[1]
		if hung.Hung != CallPower || !hung.Since.Equal(called) {
			t.Errorf("hung %q since %v, want %q since %v", hung.Hung, hung.Since, CallPower, called)
		}
		if hung.TemperatureCelsius == nil || !hung.ProcessesRead || hung.HeldBytes() != 1<<30 {
			t.Errorf("what was read before the hang is gone: %+v", hung)
		}
		if hung.PowerWatts != nil || hung.SMClockHertz != nil {
			t.Error("values after the hang are there")
		}
		if other.Hung != "" || other.PowerWatts == nil || other.SMClockHertz == nil {
			t.Errorf("the other device suffers: %+v", other)
		}
		release()
	})
}

func TestHungDeviceIsNotAskedAgainUntilItsCallReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2)
		release := f.block(0, CallPower)
		r := NewReader(f, ReaderOptions{})
		r.Read(t.Context()).Snapshot(within(t, 8*time.Second))
		for range 5 {
			time.Sleep(15 * time.Second)
			began := time.Now()
			s, err := r.Read(t.Context()).Snapshot(within(t, 8*time.Second))
			if !errors.Is(err, ErrHung) || time.Since(began) != 0 {
				t.Fatalf("after %v: %v", time.Since(began), err)
			}
			if d := s.Devices[0]; d.Hung != CallPower || d.UUID != "GPU-a" || d.TemperatureCelsius != nil || d.ProcessesRead {
				t.Fatalf("old values are served as new ones: %+v", d)
			}
			if s.Devices[1].PowerWatts == nil {
				t.Fatal("the other device is not read")
			}
		}
		if got := f.count(0, CallPower); got != 1 || f.inside != 1 {
			t.Errorf("%d calls of the one that hangs, %d threads inside", got, f.inside)
		}
		release()
		synctest.Wait()
		if f.count(0, CallUtilization) != 0 {
			t.Error("the thread that was given up goes on asking for values that nobody wants")
		}
		if s := snapshot(t, r); s.Devices[0].Hung != "" || s.Devices[0].PowerWatts == nil {
			t.Errorf("it returned and is not read: %+v", s.Devices[0])
		}
	})
}

func TestHungProcessListIsWaitedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2)
		release := f.block(0, CallGraphicsProcesses)
		r := NewReader(f, ReaderOptions{})
		devices, err := r.Read(t.Context()).Processes(within(t, 4*time.Second))
		if !errors.Is(err, ErrHung) || devices[0].ProcessesRead || devices[0].Processes != nil {
			t.Errorf("half of the lists passes for all: %v, %+v", err, devices[0])
		}
		if !devices[1].ProcessesRead {
			t.Error("the other device suffers")
		}
		began := time.Now()
		_, err = r.Read(t.Context()).Processes(within(t, 4*time.Second))
		if !errors.Is(err, ErrHung) || time.Since(began) != 0 {
			t.Errorf("the next pass waits %v again: %v", time.Since(began), err)
		}
		release()
	})
}

func TestSlowListsAreNotTakenForHungWhenTheyGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		release := f.block(0, CallComputeProcesses)
		r := NewReader(f, ReaderOptions{})
		pass := r.Read(t.Context())
		if _, err := pass.Processes(within(t, time.Second)); !errors.Is(err, ErrHung) {
			t.Fatalf("error %v", err)
		}
		time.AfterFunc(time.Second, release)
		s, err := pass.Snapshot(within(t, 5*time.Second))
		if err != nil || s.Devices[0].PowerWatts == nil || !s.Devices[0].ProcessesRead {
			t.Errorf("%v, %+v", err, s.Devices)
		}
	})
}

func TestProcessesDoNotWaitForTheOtherValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		release := f.block(0, CallTemperature)
		pass := NewReader(f, ReaderOptions{}).Read(t.Context())
		began := time.Now()
		devices, err := pass.Processes(within(t, 4*time.Second))
		if err != nil || time.Since(began) != 0 || devices[0].Architecture != Discrete || devices[0].UUID != "GPU-a" {
			t.Errorf("after %v: %v, %+v", time.Since(began), err, devices)
		}
		release()
	})
}

func TestReaderThatIsOpeningForEverBlocksNoCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		release := f.block(System, CallInit)
		r := NewReader(f, ReaderOptions{})
		if _, err := r.Read(t.Context()).Processes(within(t, 4*time.Second)); !errors.Is(err, ErrHung) {
			t.Fatalf("error %v", err)
		}
		began := time.Now()
		if _, err := r.Read(t.Context()).Snapshot(within(t, 4*time.Second)); !errors.Is(err, ErrHung) || time.Since(began) != 0 {
			t.Fatalf("after %v: %v", time.Since(began), err)
		}
		if f.count(System, CallInit) != 1 {
			t.Error("opened twice at a time")
		}
		release()
		synctest.Wait()
		if f.count(0, CallUUID) != 0 {
			t.Error("devices are read for a pass that nobody waits for")
		}
		if s := snapshot(t, r); s.DeviceCount != 1 || f.count(System, CallInit) != 1 {
			t.Errorf("an opening that ends late is thrown away: %+v", s)
		}
	})
}

// TestOpeningThatTakesLongerThanOneWaiterStaysIsServedToTheOther: the ledger waits for half of the time
// only, and a driver without persistence mode needs seconds for a first opening.
func TestOpeningThatTakesLongerThanOneWaiterStaysIsServedToTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		release := f.block(System, CallInit)
		pass := NewReader(f, ReaderOptions{}).Read(t.Context())
		if _, err := pass.Processes(within(t, time.Second)); !errors.Is(err, ErrHung) {
			t.Fatalf("error %v", err)
		}
		release()
		s, err := pass.Snapshot(within(t, time.Second))
		if err != nil || len(s.Devices) != 1 || s.Devices[0].UUID != "GPU-a" || s.Devices[0].TemperatureCelsius == nil {
			t.Errorf("%v, %+v", err, s)
		}
	})
}

func TestMissingLibraryIsTriedAgainWithDoublingDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		f.opens = []Return{LibraryNotFound, LibraryNotFound, LibraryNotFound, LibraryNotFound, LibraryNotFound,
			LibraryNotFound, LibraryNotFound, LibraryNotFound, Success}
		r := NewReader(f, ReaderOptions{})
		start := time.Now()
		var attempts []time.Duration
		for time.Since(start) < 4*time.Minute {
			before := f.count(System, CallInit)
			s, err := r.Read(t.Context()).Snapshot(within(t, time.Second))
			if f.count(System, CallInit) > before {
				attempts = append(attempts, time.Since(start)/time.Second)
			}
			if err == nil {
				break
			}
			if !errors.Is(err, ErrUnavailable) || s.Return != LibraryNotFound || !strings.Contains(err.Error(), "libnvidia-ml.so.1") {
				t.Fatalf("%v, return %d", err, s.Return)
			}
			time.Sleep(time.Second)
		}
		want := []time.Duration{0, 1, 3, 7, 15, 31, 63, 123, 183}
		if len(attempts) != len(want) {
			t.Fatalf("attempts at %d s", attempts)
		}
		for i := range want {
			if attempts[i] != want[i] {
				t.Fatalf("attempts at %d s, want %d", attempts, want)
			}
		}
		if s := snapshot(t, r); s.DriverVersion != "580.142" || s.CUDAVersion != "13.0" || s.Return != Success {
			t.Errorf("%+v", s)
		}
	})
}

func TestLostDeviceIsDroppedAndTheLibraryOpenedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2)
		r := NewReader(f, ReaderOptions{})
		snapshot(t, r)
		time.Sleep(time.Hour)
		f.fail(1, CallTemperature, Value{}, GPUIsLost)
		s, err := r.Read(t.Context()).Snapshot(within(t, 8*time.Second))
		if !errors.Is(err, ErrLost) || s.Devices[1].Return != GPUIsLost || s.Devices[1].PowerWatts != nil {
			t.Fatalf("%v, %+v", err, s.Devices[1])
		}
		if s.Devices[0].Return != Success || s.Devices[0].PowerWatts == nil {
			t.Error("the other device suffers")
		}
		synctest.Wait()
		asked := f.count(1, CallTemperature)
		if _, err := r.Read(t.Context()).Snapshot(within(t, 8*time.Second)); !errors.Is(err, ErrLost) || f.count(1, CallTemperature) != asked {
			t.Errorf("a lost device is asked again by its old handle: %v", err)
		}
		f.set(1, CallTemperature, Value{Number: 33})
		time.Sleep(time.Second)
		s = snapshot(t, r)
		if f.down != 1 || f.count(System, CallInit) != 2 || *s.Devices[1].TemperatureCelsius != 33 {
			t.Errorf("%d shut down, %d opened, %+v", f.down, f.count(System, CallInit), s.Devices[1])
		}
	})
}

func TestLibraryThatHasWorkedForLongIsTriedAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		f.opens = []Return{LibraryNotFound, LibraryNotFound, LibraryNotFound, LibraryNotFound, Success}
		r := NewReader(f, ReaderOptions{})
		for range 4 {
			r.Read(t.Context()).Snapshot(t.Context())
			time.Sleep(time.Minute)
		}
		snapshot(t, r)
		time.Sleep(time.Hour)
		f.fail(0, CallPower, Value{}, GPUIsLost)
		r.Read(t.Context()).Snapshot(t.Context())
		f.set(0, CallPower, Value{Number: 1})
		time.Sleep(firstRetry)
		snapshot(t, r)
	})
}

func TestDeviceThatStaysLostIsTriedAgainWithDoublingDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		f.fail(0, CallPower, Value{}, GPUIsLost)
		r := NewReader(f, ReaderOptions{})
		for range 300 {
			r.Read(t.Context()).Snapshot(t.Context())
			time.Sleep(time.Second)
		}
		// At 0, 1, 3, 7, 15, 31, 63, 123, 183 and 243 s.
		if got := f.count(System, CallInit); got != 10 {
			t.Errorf("opened %d times", got)
		}
	})
}

func TestLibraryIsNotShutDownUnderACallThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2)
		f.fail(1, CallTemperature, Value{}, GPUIsLost)
		release := f.block(0, CallTemperature)
		r := NewReader(f, ReaderOptions{})
		for range 10 {
			r.Read(t.Context()).Snapshot(within(t, 8*time.Second))
			time.Sleep(time.Minute)
		}
		r.Close()
		if f.down != 0 || f.count(System, CallInit) != 1 {
			t.Errorf("%d shut down, %d opened", f.down, f.count(System, CallInit))
		}
		release()
	})
}

func TestDriverWithoutDevicesIsOpenedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		f.devices = 0
		r := NewReader(f, ReaderOptions{})
		if s := snapshot(t, r); s.DeviceCount != 0 || s.DriverVersion != "580.142" {
			t.Errorf("%+v", s)
		}
		f.devices = 1
		time.Sleep(time.Second)
		if s := snapshot(t, r); s.DeviceCount != 1 || f.down != 1 {
			t.Errorf("%+v, %d shut down", s, f.down)
		}
	})
}

func TestUnsupportedCallIsAskedAgainAfterTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		r := NewReader(f, ReaderOptions{})
		for range 3 {
			if d := snapshot(t, r).Devices[0]; d.FanRatio != nil || d.Supported[CallFan] {
				t.Fatal("an unsupported value is there")
			}
		}
		if got := f.count(0, CallFan); got != 1 {
			t.Errorf("asked %d times", got)
		}
		f.set(0, CallFan, Value{Number: 30})
		time.Sleep(reprobeAfter)
		if d := snapshot(t, r).Devices[0]; d.FanRatio == nil || *d.FanRatio != 0.3 || !d.Supported[CallFan] {
			t.Errorf("%+v", d)
		}
	})
}

func TestMarginIsAskedEveryTenSecondsAndNotServedLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		f.set(0, CallMargin, Value{Number: 50})
		r := NewReader(f, ReaderOptions{})
		for range 10 {
			if d := snapshot(t, r).Devices[0]; d.TemperatureMargins["operating"] != 50 || !d.Supported[CallMargin] {
				t.Fatalf("%v", d.TemperatureMargins)
			}
			time.Sleep(time.Second)
		}
		if got := f.count(0, CallMargin); got != 1 {
			t.Errorf("asked %d times", got)
		}
		f.fail(0, CallMargin, Value{}, Unknown)
		if s, err := r.Read(t.Context()).Snapshot(t.Context()); err == nil || s.Devices[0].TemperatureMargins != nil {
			t.Errorf("%v, %v", err, s.Devices[0].TemperatureMargins)
		}
	})
}

func TestFailureIsNotTakenForUnsupported(t *testing.T) {
	f := newFake(1)
	r := NewReader(f, ReaderOptions{})
	f.fail(0, CallPower, Value{}, Unknown)
	s, err := r.Read(t.Context()).Snapshot(t.Context())
	if err == nil || !strings.Contains(err.Error(), string(CallPower)) || s.Devices[0].Errors[CallPower] != Unknown {
		t.Errorf("%v, %v", err, s.Devices[0].Errors)
	}
	if _, judged := s.Devices[0].Supported[CallPower]; judged {
		t.Error("a failure says whether the call is supported")
	}
	f.set(0, CallPower, Value{Number: 1000})
	if d := snapshot(t, r).Devices[0]; *d.PowerWatts != 1 || len(d.Errors) != 0 {
		t.Errorf("the failure stays: %+v", d)
	}
}

func TestIdentityIsReadOnceAndArchitectureStays(t *testing.T) {
	f := newFake(1)
	r := NewReader(f, ReaderOptions{})
	first := snapshot(t, r).Devices[0]
	f.fail(0, CallMemory, Value{}, Unknown)
	s, _ := r.Read(t.Context()).Snapshot(t.Context())
	if f.count(0, CallUUID) != 1 || s.Devices[0].UUID != first.UUID {
		t.Errorf("UUID asked %d times", f.count(0, CallUUID))
	}
	if first.Architecture != Discrete || s.Devices[0].Architecture != Discrete {
		t.Errorf("a call that fails for a moment turned %q into %q", first.Architecture, s.Devices[0].Architecture)
	}
}

func TestOptionsOverrideArchitectureAndSkipCalls(t *testing.T) {
	f := newFake(1)
	r := NewReader(f, ReaderOptions{Architecture: CoherentNUMA, Skip: []Call{CallPower, CallMPSProcesses}})
	d := snapshot(t, r).Devices[0]
	if d.Architecture != CoherentNUMA || d.PowerWatts != nil || f.count(0, CallPower) != 0 || !d.ProcessesRead {
		t.Errorf("%+v", d)
	}
}

func TestPassesAtTheSameTimeShareOneRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2)
		r := NewReader(f, ReaderOptions{})
		snapshot(t, r)
		release := f.block(0, CallTemperature)
		var group sync.WaitGroup
		for range 200 {
			group.Go(func() {
				s, err := r.Read(t.Context()).Snapshot(t.Context())
				if err != nil || len(s.Devices) != 2 || s.Devices[0].PowerWatts == nil {
					t.Errorf("%v, %+v", err, s.Devices)
				}
			})
		}
		synctest.Wait()
		release()
		group.Wait()
		if got := f.count(0, CallTemperature); got != 2 {
			t.Errorf("asked %d times", got)
		}
		if f.mostIn > 2 {
			t.Errorf("%d threads inside two devices", f.mostIn)
		}
	})
}

func TestCallerWhoLeavesDoesNotMakeADeviceHung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		release := f.block(0, CallPower)
		r := NewReader(f, ReaderOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		pass := r.Read(ctx)
		cancel()
		if s, err := pass.Snapshot(ctx); !errors.Is(err, context.Canceled) || len(s.Devices) > 0 && s.Devices[0].Hung != "" {
			t.Errorf("%v, %+v", err, s)
		}
		time.AfterFunc(time.Second, release)
		if d := snapshot(t, r).Devices[0]; d.PowerWatts == nil {
			t.Errorf("%+v", d)
		}
		if _, err := r.Read(ctx).Processes(t.Context()); !errors.Is(err, context.Canceled) {
			t.Errorf("a pass of a caller who has left begins: %v", err)
		}
	})
}

func TestCloseShutsDownOnceAndEndsReading(t *testing.T) {
	f := newFake(1)
	r := NewReader(f, ReaderOptions{})
	snapshot(t, r)
	r.Close()
	r.Close()
	if f.down != 1 {
		t.Errorf("shut down %d times", f.down)
	}
	if _, err := r.Read(t.Context()).Snapshot(t.Context()); !errors.Is(err, ErrUnavailable) {
		t.Errorf("error %v", err)
	}
	unopened := newFake(1)
	NewReader(unopened, ReaderOptions{}).Close()
	if unopened.down != 0 {
		t.Error("a library that was never opened is shut down")
	}
}

func TestCloseDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		r := NewReader(f, ReaderOptions{})
		snapshot(t, r)
		release := f.block(System, CallShutdown)
		began := time.Now()
		r.Close()
		if took := time.Since(began); took != closeWait {
			t.Errorf("Close took %v", took)
		}
		release()
	})
}
