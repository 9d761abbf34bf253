//go:build cgo

package nvml

import (
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
)

// station is a library that delivers events. It is a device, too, its only one.
type station struct {
	nvml.Interface
	device *mock.Device

	mu     sync.Mutex
	types  uint64
	code   nvml.Return         // of registering
	events chan nvml.EventData // what happens
	ends   chan nvml.Return    // waits that end otherwise
	hang   chan struct{}       // not nil: a wait does not return until it is closed
	keep   chan struct{}       // not nil: nor does freeing a set
	made   int
	freed  int
	inside int
}

func newStation() *station {
	s := &station{types: nvml.EventTypeXidCriticalError | nvml.EventTypePState,
		events: make(chan nvml.EventData), ends: make(chan nvml.Return)}
	s.device = &mock.Device{
		GetUUIDFunc:                func() (string, nvml.Return) { return "GPU-1", nvml.SUCCESS },
		GetSupportedEventTypesFunc: func() (uint64, nvml.Return) { return s.types, nvml.SUCCESS },
		RegisterEventsFunc:         func(uint64, nvml.EventSet) nvml.Return { return s.code },
	}
	return s
}

func (s *station) EventSetCreate() (nvml.EventSet, nvml.Return) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	return &mock.EventSet{WaitFunc: s.wait, FreeFunc: func() nvml.Return {
		if s.keep != nil {
			<-s.keep
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.freed++
		return nvml.SUCCESS
	}}, nvml.SUCCESS
}

func (s *station) wait(milliseconds uint32) (nvml.EventData, nvml.Return) {
	s.mu.Lock()
	s.inside++
	hang := s.hang
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.inside--
	}()
	if hang != nil {
		<-hang
	}
	select {
	case event := <-s.events:
		return event, nvml.SUCCESS
	case code := <-s.ends:
		return nvml.EventData{}, code
	case <-time.After(time.Duration(milliseconds) * time.Millisecond):
		return nvml.EventData{}, nvml.ERROR_TIMEOUT
	}
}

func (s *station) happen(xids ...uint64) {
	for _, xid := range xids {
		s.events <- nvml.EventData{EventType: nvml.EventTypeXidCriticalError, EventData: xid}
	}
	synctest.Wait()
}

// wantCounts reads the counts of the device.
func wantCounts(t *testing.T, l *listeners, s *station, want map[string]uint64) {
	t.Helper()
	v, code := l.read(s.device)
	if code != nvml.SUCCESS || !maps.Equal(v.Numbers, want) {
		t.Errorf("%v, %v, want %v", v.Numbers, code, want)
	}
}

func TestEventsAreCountedByCodeWhetherAnybodyAsksOrNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation()
		l := newListeners(s)
		wantCounts(t, l, s, map[string]uint64{})
		s.happen(31, 31)
		time.Sleep(time.Hour)
		s.happen(79)
		s.events <- nvml.EventData{EventType: nvml.EventTypePState, EventData: 8}
		synctest.Wait()
		wantCounts(t, l, s, map[string]uint64{"31": 2, "79": 1})
		if !l.end() || s.made != 1 || s.freed != 1 || s.inside != 0 {
			t.Errorf("%d sets made, %d freed, %d waits left", s.made, s.freed, s.inside)
		}
	})
}

func TestCountsGoOnWhenTheLibraryIsOpenedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation()
		l := newListeners(s)
		wantCounts(t, l, s, map[string]uint64{})
		s.happen(79)
		if !l.end() {
			t.Fatal("the waits did not end")
		}
		wantCounts(t, l, s, map[string]uint64{"79": 1})
		s.happen(79, 48)
		wantCounts(t, l, s, map[string]uint64{"79": 2, "48": 1})
		l.end()
		if s.made != 2 || s.freed != 2 {
			t.Errorf("%d sets made, %d freed", s.made, s.freed)
		}
	})
}

func TestDeviceWithoutXIDEventsIsNotListenedTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation()
		s.types = nvml.EventTypePState
		l := newListeners(s)
		if _, code := l.read(s.device); code != nvml.ERROR_NOT_SUPPORTED || s.made != 0 {
			t.Errorf("%v, %d sets", code, s.made)
		}
		s.types, s.code = nvml.EventTypeXidCriticalError, nvml.ERROR_NOT_SUPPORTED
		if _, code := l.read(s.device); code != nvml.ERROR_NOT_SUPPORTED || s.freed != 1 || s.inside != 0 {
			t.Errorf("%v, %d sets freed, %d waits", code, s.freed, s.inside)
		}
	})
}

func TestLostDeviceKeepsItsErrorCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation()
		l := newListeners(s)
		wantCounts(t, l, s, map[string]uint64{})
		s.happen(79)
		s.ends <- nvml.ERROR_GPU_IS_LOST
		time.Sleep(time.Hour)
		wantCounts(t, l, s, map[string]uint64{"79": 1})
		if s.made != 1 || s.inside != 0 {
			t.Errorf("%d sets made, %d waits on a device that is lost", s.made, s.inside)
		}
		l.end()
	})
}

func TestWaitThatFailsIsReportedOnceAndBegunAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation()
		l := newListeners(s)
		wantCounts(t, l, s, map[string]uint64{})
		s.happen(13)
		s.ends <- nvml.ERROR_UNKNOWN
		synctest.Wait()
		if _, code := l.read(s.device); code != nvml.ERROR_UNKNOWN || s.freed != 1 {
			t.Errorf("%v, %d sets freed", code, s.freed)
		}
		wantCounts(t, l, s, map[string]uint64{"13": 1})
		s.happen(13)
		wantCounts(t, l, s, map[string]uint64{"13": 2})
		l.end()
	})
}

func TestWaitThatHangsIsReportedAndKeepsTheLibraryOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation()
		s.hang = make(chan struct{})
		l := newListeners(s)
		wantCounts(t, l, s, map[string]uint64{})
		time.Sleep(listenFor + listenGrace + time.Millisecond)
		if _, code := l.read(s.device); code != nvml.ERROR_TIMEOUT {
			t.Errorf("a wait that hangs passes for %v", code)
		}
		if l.end() || s.freed != 0 {
			t.Errorf("%d sets freed under a wait", s.freed)
		}
		close(s.hang)
		synctest.Wait()
		if !l.end() || s.freed != 1 {
			t.Errorf("it returned and is kept: %d sets freed", s.freed)
		}
	})
}

func TestWaitThatHangsDoesNotEndTheListeningForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck, other := newStation(), newStation()
		stuck.hang = make(chan struct{})
		other.device.GetUUIDFunc = func() (string, nvml.Return) { return "GPU-2", nvml.SUCCESS }
		l := newListeners(stuck)
		wantCounts(t, l, stuck, map[string]uint64{})
		synctest.Wait() // inside its wait
		l.library = other
		wantCounts(t, l, other, map[string]uint64{})
		if l.end() || other.freed != 1 || stuck.freed != 0 {
			t.Errorf("%d and %d sets freed", other.freed, stuck.freed)
		}
		time.Sleep(time.Hour)
		wantCounts(t, l, other, map[string]uint64{})
		synctest.Wait()
		other.happen(13)
		wantCounts(t, l, other, map[string]uint64{"13": 1})
		close(stuck.hang)
		synctest.Wait()
		if !l.end() || stuck.freed != 1 || other.freed != 2 {
			t.Errorf("%d and %d sets freed", stuck.freed, other.freed)
		}
	})
}

func TestFreeingASetThatHangsHoldsUpItsDeviceOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation()
		s.keep = make(chan struct{})
		l := newListeners(s)
		wantCounts(t, l, s, map[string]uint64{})
		s.ends <- nvml.ERROR_UNKNOWN
		synctest.Wait()
		go l.read(s.device)
		synctest.Wait()
		if !l.mu.TryLock() {
			t.Fatal("the other devices wait for the lock")
		}
		l.mu.Unlock()
		close(s.keep)
		synctest.Wait()
		l.end()
	})
}

func TestCodesWithoutEndAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation()
		l := newListeners(s)
		wantCounts(t, l, s, map[string]uint64{})
		for xid := range uint64(2 * maxXIDs) {
			s.happen(10000 + xid)
		}
		v, _ := l.read(s.device)
		if len(v.Numbers) != maxXIDs+1 || v.Numbers[fmt.Sprint(unknownXID)] != maxXIDs {
			t.Errorf("%d codes, %d unknown", len(v.Numbers), v.Numbers[fmt.Sprint(unknownXID)])
		}
		l.end()
	})
}

// The rest of the library, for one that is opened and shut down.

func (s *station) Init() nvml.Return                  { return nvml.SUCCESS }
func (s *station) Shutdown() nvml.Return              { return nvml.SUCCESS }
func (s *station) Extensions() nvml.ExtendedInterface { return s }
func (s *station) LookupSymbol(string) error          { return nil }
func (s *station) DeviceGetHandleByIndex(int) (nvml.Device, nvml.Return) {
	return s.device, nvml.SUCCESS
}

func TestLibraryIsNotShutDownUnderAWaitForEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStation()
		driver := newLive(s)
		driver.Init()
		if _, code := driver.Do(0, CallXIDErrors); code != Success {
			t.Fatal(code)
		}
		if code := driver.Shutdown(); code != Success || s.inside != 0 || s.freed != 1 {
			t.Errorf("%v, %d waits, %d sets freed", code, s.inside, s.freed)
		}
		s.hang = make(chan struct{})
		driver.Init()
		driver.Do(0, CallXIDErrors)
		synctest.Wait()
		if code := driver.Shutdown(); code != InUse || s.freed != 1 {
			t.Errorf("%v, %d sets freed", code, s.freed)
		}
		if _, code := driver.Do(0, CallXIDErrors); code != Success {
			t.Errorf("the library is closed all the same: %v", code)
		}
		close(s.hang)
		synctest.Wait()
		if code := driver.Shutdown(); code != Success {
			t.Errorf("it returned: %v", code)
		}
	})
}
