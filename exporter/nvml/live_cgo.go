//go:build cgo

package nvml

import (
	"cmp"
	"slices"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Live returns the driver library of this machine. Init loads it, so that the program also runs without it.
func Live() Driver { return newLive(nvml.New()) }

// live guards the library: a call made before Init or after Shutdown, or of a function that the installed library
// lacks, would end the process, so live answers it.
type live struct {
	library nvml.Interface
	rows    map[Call]liveRow
	events  *listeners

	mu      sync.RWMutex
	open    bool
	handles map[int]nvml.Device
	lacking map[string]bool // symbols looked up: whether the library lacks them
}

type liveRow struct {
	symbols []string
	read    func(nvml.Device) (Value, nvml.Return)
}

func newLive(library nvml.Interface) *live {
	l := &live{library: library, rows: map[Call]liveRow{}, events: newListeners(library)}
	functions := deviceFunctions()
	functions[CallXIDErrors] = l.events.read
	all := newTable(true)
	for _, r := range all.passed() {
		l.rows[r.call] = liveRow{append([]string{cmp.Or(r.symbol, string(r.call))}, r.more...), functions[r.call]}
	}
	return l
}

// Init loads and initialises the library. A library that could not be loaded is looked for each time. A library that
// was loaded stays loaded as long as the program runs, whatever is installed in its place: the dynamic linker binds
// this program to it with the first call, also for another nvml.Interface or another path. After a driver upgrade only
// a restart helps, as the text of LibRMVersionMismatch explains.
func (l *live) Init() Return {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open {
		return Success
	}
	code := l.library.Init()
	l.open = code == nvml.SUCCESS
	l.handles, l.lacking = map[int]nvml.Device{}, map[string]bool{}
	return Return(code)
}

// Shutdown releases the library; handles are invalid after it. While a wait for events does not return it answers InUse
// and leaves the library open: shutting down under a call can end the process.
func (l *live) Shutdown() Return {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.open {
		return Uninitialized
	}
	if !l.events.end() {
		return InUse
	}
	l.open = false
	return Return(l.library.Shutdown())
}

func (l *live) DeviceCount() (int, Return) {
	if !l.isOpen() {
		return 0, Uninitialized
	}
	count, code := l.library.DeviceGetCount()
	return count, Return(code)
}

// Do makes one call. Calls on different devices may run at the same time.
func (l *live) Do(device int, call Call) (Value, Return) {
	if !l.isOpen() {
		return Value{}, Uninitialized
	}
	if device == System {
		return l.system(call)
	}
	row, known := l.rows[call]
	if !known || row.read == nil || slices.ContainsFunc(row.symbols, l.lacks) {
		return Value{}, FunctionNotFound
	}
	handle, code := l.handle(device)
	if code != Success {
		return Value{}, code
	}
	value, answer := row.read(handle)
	if answer != nvml.SUCCESS {
		return Value{}, Return(answer)
	}
	return value, Success
}

func (l *live) system(call Call) (Value, Return) {
	if l.lacks(string(call)) {
		return Value{}, FunctionNotFound
	}
	switch call {
	case CallDriverVersion:
		text, code := l.library.SystemGetDriverVersion()
		return Value{Text: text}, Return(code)
	case CallCUDAVersion:
		number, code := l.library.SystemGetCudaDriverVersion_v2()
		return Value{Number: uint64(number)}, Return(code)
	}
	return Value{}, FunctionNotFound
}

func (l *live) isOpen() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.open
}

// lacks looks a symbol up, once while the library is open.
func (l *live) lacks(symbol string) bool {
	l.mu.RLock()
	lacking, seen := l.lacking[symbol]
	l.mu.RUnlock()
	if seen {
		return lacking
	}
	lacking = l.library.Extensions().LookupSymbol(symbol) != nil
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lacking[symbol] = lacking
	return lacking
}

func (l *live) handle(device int) (nvml.Device, Return) {
	l.mu.RLock()
	handle, ok := l.handles[device]
	l.mu.RUnlock()
	if ok {
		return handle, Success
	}
	handle, code := l.library.DeviceGetHandleByIndex(device)
	if code != nvml.SUCCESS {
		return nil, Return(code)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handles[device] = handle
	return handle, Success
}
