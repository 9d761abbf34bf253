// A driver library of two GPUs whose copies take 1 ms, in the time of its own clock. It ends the process if it is called
// as no driver may be. -D selects what is wrong with it.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double clock_ms;
static int contexts, memories, events, bound;
static unsigned long long base = 1 << 20, size;

static void demand(int truth) {
	if (!truth) abort();
}

int cuInit(unsigned flags) {
#ifdef NO_DEVICE
	return 100;
#endif
#ifdef HANGS
	for (;;) pause();
#endif
	return 0;
}

int cuDeviceGetCount(int *count) {
#ifdef NONE
	*count = 0;
#else
	*count = 2;
#endif
	return 0;
}

int cuDeviceGet(int *device, int ordinal) {
	*device = 10 + ordinal;
	return 0;
}

int cuDeviceGetName(char *name, int length, int device) {
	strncpy(name, device == 10 ? "NVIDIA H200" : "NVIDIA GB10", length);
	return 0;
}

int cuGetErrorString(int code, const char **text) {
	*text = code == 2 ? "out of memory" : code == 100 ? "no CUDA-capable device is detected" : NULL;
	return *text ? 0 : 1;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
	contexts++;
	*context = &contexts;
	return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
	demand(contexts-- == 1 && memories == 0 && events == 0 && !bound);
	return 0;
}

int cuCtxSetCurrent(void *context) {
	bound = context != NULL;
	return 0;
}

int cuMemAlloc_v2(unsigned long long *memory, size_t bytes) {
#ifdef FULL
	return 2;
#endif
	demand(bound);
	memories++;
	*memory = base;
	size = bytes;
	return 0;
}

int cuMemFree_v2(unsigned long long memory) {
	demand(bound && memory == base && memories-- == 1);
	return 0;
}

int cuMemsetD8_v2(unsigned long long memory, unsigned char value, size_t bytes) {
	demand(bound && memory == base && bytes == size);
	return 0;
}

int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void *stream) {
	demand(bound && from == base && to == base + bytes && 2 * bytes == size);
	clock_ms += 1;
	return 0;
}

int cuEventCreate(void **event, unsigned flags) {
	events++;
	*event = calloc(1, sizeof clock_ms);
	return 0;
}

#ifndef OLD
int cuEventDestroy_v2(void *event) {
	events--;
	free(event);
	return 0;
}
#endif

int cuEventRecord(void *event, void *stream) {
	*(double *)event = clock_ms;
	return 0;
}

int cuEventSynchronize(void *event) {
#ifdef FAULT
	return 700;
#endif
	return 0;
}

int cuEventElapsedTime(float *ms, void *start, void *stop) {
#ifdef STILL
	*ms = 0;
#else
	*ms = *(double *)stop - *(double *)start;
#endif
	return 0;
}
