/* A driver library of a few functions, as an old or broken one would have: what is not here must
 * be answered with FUNCTION_NOT_FOUND, for calling it would end the process. */
#include <string.h>
#include <unistd.h>

typedef struct { unsigned int pid; unsigned long long used; unsigned int gi, ci; } process;
typedef struct { void *device; unsigned long long type, data; unsigned int gi, ci; } event;
typedef struct { unsigned int id, scope; long long at, latency; unsigned int type, code; unsigned char value[8]; } field;

static int device;

int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) { return "?"; }
int nvmlDeviceGetCount_v2(unsigned int *count) { *count = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **handle) { *handle = &device; return index == 0 ? 0 : 2; }
int nvmlSystemGetDriverVersion(char *text, unsigned int size) { strncpy(text, "470.1", size); return 0; }
int nvmlDeviceGetUUID(void *handle, char *text, unsigned int size) { strncpy(text, "GPU-1", size); return 0; }
int nvmlDeviceGetTemperature(void *handle, int sensor, unsigned int *celsius) { *celsius = 41; return 0; }
int nvmlDeviceGetPowerUsage(void *handle, unsigned int *milliwatts) { return 3; }

int nvmlDeviceGetComputeRunningProcesses(void *handle, unsigned int *count, void *list) { return 999; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned int *count, process *list)
{
	if (*count < 3) { *count = 3; return 7; }
	list[0] = (process){11, 4096, ~0u, ~0u};
	list[1] = (process){12, ~0ull, ~0u, ~0u};
	*count = 2;
	return 0;
}

/* Two XIDs are waiting, then nothing happens; a performance state is not what was asked for. */
int nvmlEventSetCreate(void **set) { *set = &device; return 0; }
int nvmlEventSetFree(void *set) { return 0; }
int nvmlDeviceGetSupportedEventTypes(void *handle, unsigned long long *types) { *types = 8 | 4; return 0; }
int nvmlDeviceRegisterEvents(void *handle, unsigned long long types, void *set) { return types == 8 ? 0 : 3; }
int nvmlEventSetWait(void *set, event *e, unsigned int milliseconds) { return 999; }
int nvmlEventSetWait_v2(void *set, event *e, unsigned int milliseconds)
{
	static int waits;
	switch (waits++) {
	case 0: *e = (event){set, 8, 31, ~0u, ~0u}; return 0;
	case 1: *e = (event){set, 4, 2, ~0u, ~0u}; return 0;
	case 2: *e = (event){set, 8, 79, ~0u, ~0u}; return 0;
	}
	usleep(1000 * milliseconds);
	return 10;
}

int nvmlDeviceGetFieldValues(void *handle, int count, field *list)
{
	for (int i = 0; i < count; i++) {
		int slowdown = -2;
		unsigned long long nanoseconds = 5000000000ull;
		list[i].code = 0;
		switch (list[i].id) {
		case 74: list[i].type = 3; memcpy(list[i].value, &nanoseconds, 8); break;
		case 194: list[i].type = 5; memcpy(list[i].value, &slowdown, 4); break;
		default: list[i].code = 3;
		}
	}
	return 0;
}
