//go:build cgo

package cuda

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

// Types and signatures of cuda.h, which a build does not need. The symbols are those of CUDA 11 and later.
typedef int result;
typedef void *context, *event;
typedef unsigned long long pointer;

typedef struct {
	void *handle;
	const char *missing; // the symbol that the library lacks
	char error[256];     // why it is not loaded
	result (*init)(unsigned);
	result (*count)(int *);
	result (*get)(int *, int);
	result (*name)(char *, int, int);
	result (*text)(result, const char **);
	result (*retain)(context *, int);
	result (*release)(int);
	result (*current)(context);
	result (*alloc)(pointer *, size_t);
	result (*release_memory)(pointer);
	result (*set)(pointer, unsigned char, size_t);
	result (*copy)(pointer, pointer, size_t, void *);
	result (*event_create)(event *, unsigned);
	result (*event_record)(event, void *);
	result (*event_wait)(event);
	result (*event_elapsed)(float *, event, event);
	result (*event_destroy)(event);
} library;

static int lookup(library *l, const char *symbol, void **function) {
	*function = dlsym(l->handle, symbol);
	if (*function == NULL) l->missing = symbol;
	return *function != NULL;
}

// open_library reports 1 if the library is loaded and has all symbols.
static int open_library(library *l, const char *path) {
	l->handle = dlopen(path, RTLD_NOW);
	if (l->handle == NULL) {
		const char *text = dlerror();
		snprintf(l->error, sizeof l->error, "%s", text == NULL ? path : text);
		return 0;
	}
	return lookup(l, "cuInit", (void **)&l->init) && lookup(l, "cuDeviceGetCount", (void **)&l->count) &&
		lookup(l, "cuDeviceGet", (void **)&l->get) && lookup(l, "cuDeviceGetName", (void **)&l->name) &&
		lookup(l, "cuGetErrorString", (void **)&l->text) && lookup(l, "cuDevicePrimaryCtxRetain", (void **)&l->retain) &&
		lookup(l, "cuDevicePrimaryCtxRelease_v2", (void **)&l->release) && lookup(l, "cuCtxSetCurrent", (void **)&l->current) &&
		lookup(l, "cuMemAlloc_v2", (void **)&l->alloc) && lookup(l, "cuMemFree_v2", (void **)&l->release_memory) &&
		lookup(l, "cuMemsetD8_v2", (void **)&l->set) && lookup(l, "cuMemcpyDtoDAsync_v2", (void **)&l->copy) &&
		lookup(l, "cuEventCreate", (void **)&l->event_create) && lookup(l, "cuEventRecord", (void **)&l->event_record) &&
		lookup(l, "cuEventSynchronize", (void **)&l->event_wait) && lookup(l, "cuEventElapsedTime", (void **)&l->event_elapsed) &&
		lookup(l, "cuEventDestroy_v2", (void **)&l->event_destroy);
}

static result count_devices(library *l, int *count) {
	result code = l->init(0);
	return code ? code : l->count(count);
}

static const char *error_text(library *l, result code) {
	const char *text = NULL;
	return l->text(code, &text) == 0 && text != NULL ? text : "unknown error";
}

typedef struct { size_t half; int copies, measures; float warm_up_ms; } work;

// measure gives the time of the copies of one measure.
static result measure(library *l, const work *w, pointer memory, event start, event stop, float *ms) {
	result code = l->event_record(start, NULL);
	for (int i = 0; code == 0 && i < w->copies; i++) code = l->copy(memory + w->half, memory, w->half, NULL);
	if (code == 0) code = l->event_record(stop, NULL);
	if (code == 0) code = l->event_wait(stop);
	return code ? code : l->event_elapsed(ms, start, stop);
}

static result measure_all(library *l, const work *w, pointer memory, event start, event stop, float *ms) {
	result code = l->set(memory, 1, 2 * w->half);
	// An idle GPU may have lowered the clock of its memory. A clock that stands still must not make this endless.
	float warm = 0;
	for (int i = 0; code == 0 && warm < w->warm_up_ms && i < 10000; i++) {
		float one = 0;
		code = measure(l, w, memory, start, stop, &one);
		warm += one;
	}
	for (int i = 0; code == 0 && i < w->measures; i++) code = measure(l, w, memory, start, stop, &ms[i]);
	return code;
}

// measure_device does everything in one call, and so in one thread: a context is current in one.
static result measure_device(library *l, int ordinal, const work *w, char *name, int size, float *ms) {
	int device = 0;
	context own = NULL;
	pointer memory = 0;
	event start = NULL, stop = NULL;
	result code = l->get(&device, ordinal);
	if (code == 0) code = l->name(name, size, device);
	if (code == 0) code = l->retain(&own, device);
	if (code) return code;
	code = l->current(own);
	if (code == 0) code = l->alloc(&memory, 2 * w->half);
	if (code == 0) code = l->event_create(&start, 0);
	if (code == 0) code = l->event_create(&stop, 0);
	if (code == 0) code = measure_all(l, w, memory, start, stop, ms);
	if (start) l->event_destroy(start);
	if (stop) l->event_destroy(stop);
	if (memory) l->release_memory(memory);
	l->current(NULL);
	l->release(device);
	return code;
}
*/
import "C"

import (
	"context"
	"fmt"
	"unsafe"
)

// warmUpMilliseconds is how long copies run before the first measure, by the GPU's clock.
const warmUpMilliseconds = 300

// Measure measures the GPUs that CUDA offers to this process, one after the other.
func Measure(ctx context.Context) ([]Device, error) { return measureWith(ctx, "libcuda.so.1") }

// measureWith returns when ctx ends, too: a driver may never answer, and a call cannot be taken back.
func measureWith(ctx context.Context, path string) ([]Device, error) {
	type answer struct {
		devices []Device
		err     error
	}
	done := make(chan answer, 1)
	go func() {
		devices, err := measureAll(path)
		done <- answer{devices, err}
	}()
	select {
	case a := <-done:
		return a.devices, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func measureAll(path string) ([]Device, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	// In C's memory, since it keeps pointers of C.
	l := (*C.library)(C.calloc(1, C.sizeof_library))
	defer C.free(unsafe.Pointer(l))
	switch {
	case C.open_library(l, name) != 0:
	case l.missing != nil:
		return nil, fmt.Errorf("%w: %s has no %s", ErrUnavailable, path, C.GoString(l.missing))
	default:
		return nil, fmt.Errorf("%w: %s: install the NVIDIA driver, or start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility", ErrUnavailable, C.GoString(&l.error[0]))
	}
	var count C.int
	if code := C.count_devices(l, &count); code != 0 {
		return nil, fmt.Errorf("%w: %s", ErrUnavailable, failure(l, code))
	}
	if count == 0 {
		return nil, fmt.Errorf("%w: the driver offers no GPU to this process", ErrUnavailable)
	}
	var devices []Device
	for ordinal := range int(count) {
		device, err := measureDevice(l, ordinal)
		if err != nil {
			return devices, err
		}
		devices = append(devices, device)
	}
	return devices, nil
}

func measureDevice(l *C.library, ordinal int) (Device, error) {
	var name [256]C.char
	var milliseconds [Measures]C.float
	work := C.work{half: BufferBytes / 2, copies: Copies, measures: Measures, warm_up_ms: warmUpMilliseconds}
	code := C.measure_device(l, C.int(ordinal), &work, &name[0], C.int(len(name)), &milliseconds[0])
	if code != 0 {
		return Device{}, fmt.Errorf("CUDA device %d: %s", ordinal, failure(l, code))
	}
	device := Device{Name: C.GoString(&name[0])}
	for _, ms := range milliseconds {
		device.Seconds = append(device.Seconds, float64(ms)/1000)
	}
	return device, nil
}

func failure(l *C.library, code C.result) string {
	return fmt.Sprintf("%s (CUDA error %d)", C.GoString(C.error_text(l, code)), int(code))
}
