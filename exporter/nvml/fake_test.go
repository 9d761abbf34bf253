package nvml

import (
	"context"
	"sync"
	"testing"
	"time"
)

// fake is a driver that supports nothing until told so, like a device made for nothing but trouble.
type fake struct {
	mu      sync.Mutex
	opens   []Return // answers to Init, the last one repeats
	devices int
	answers map[question]answer
	blocked map[question]chan struct{} // calls that wait for the channel
	asked   []question
	inside  int // calls under way
	mostIn  int
	down    int // Shutdown calls
}

type answer struct {
	value Value
	code  Return
}

func newFake(devices int) *fake {
	f := &fake{opens: []Return{Success}, devices: devices, answers: map[question]answer{}, blocked: map[question]chan struct{}{}}
	f.set(System, CallDriverVersion, Value{Text: "580.142"})
	f.set(System, CallCUDAVersion, Value{Number: 13000})
	for i := range devices {
		f.set(i, CallUUID, Value{Text: "GPU-" + string(rune('a'+i))})
		f.set(i, CallName, Value{Text: "NVIDIA H200"})
		f.set(i, CallComputeProcesses, Value{Processes: []Process{{PID: 10, UsedBytes: new(uint64(1 << 30))}}})
		f.set(i, CallMemory, Value{Numbers: map[string]uint64{"total": 141 << 30, "used": 1 << 30, "free": 140 << 30, "reserved": 1 << 20}})
		f.set(i, CallTemperature, Value{Number: 40 + uint64(i)})
		f.set(i, CallPower, Value{Number: 75500})
		f.set(i, CallSMClock, Value{Number: 1980})
	}
	return f
}

func (f *fake) set(device int, call Call, v Value) { f.fail(device, call, v, Success) }

func (f *fake) fail(device int, call Call, v Value, code Return) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[question{device, call}] = answer{v, code}
}

// block makes a call hang until the function returned is called.
func (f *fake) block(device int, call Call) (release func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	channel := make(chan struct{})
	f.blocked[question{device, call}] = channel
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.blocked, question{device, call})
		close(channel)
	}
}

func (f *fake) count(device int, call Call) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, q := range f.asked {
		if q == (question{device, call}) {
			n++
		}
	}
	return n
}

func (f *fake) enter(q question) answer {
	f.mu.Lock()
	f.asked = append(f.asked, q)
	f.inside++
	f.mostIn = max(f.mostIn, f.inside)
	wait := f.blocked[q]
	f.mu.Unlock()
	if wait != nil {
		<-wait
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inside--
	a, known := f.answers[q]
	if !known {
		a.code = NotSupported
	}
	return a
}

func (f *fake) Init() Return {
	f.enter(question{System, CallInit})
	f.mu.Lock()
	defer f.mu.Unlock()
	code := f.opens[0]
	if len(f.opens) > 1 {
		f.opens = f.opens[1:]
	}
	return code
}

func (f *fake) DeviceCount() (int, Return) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.devices, Success
}

func (f *fake) Do(device int, call Call) (Value, Return) {
	a := f.enter(question{device, call})
	if a.code != Success {
		return Value{}, a.code
	}
	return a.value, Success
}

func (f *fake) Shutdown() Return {
	f.enter(question{System, CallShutdown})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down++
	return Success
}

// within is a context with a deadline on the clock of the test.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// snapshot reads once and fails the test on an error.
func snapshot(t *testing.T, r *Reader) Snapshot {
	t.Helper()
	s, err := r.Read(t.Context()).Snapshot(within(t, 8*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
