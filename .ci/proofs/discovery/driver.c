/* A library of NVIDIA's driver with one GB10, whose processes are the lines of the file $GPU_PROCESSES: process and bytes. What it
 * lacks is answered by the exporter as not there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned int pid; unsigned long long used; unsigned int gi, ci; } process;

static int device;
enum { most = 64, not_supported = 3, insufficient_size = 7, unknown = 999 };

int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) { return "?"; }
int nvmlDeviceGetCount_v2(unsigned int *count) { *count = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **handle) { *handle = &device; return index == 0 ? 0 : 2; }
int nvmlSystemGetDriverVersion(char *text, unsigned int size) { strncpy(text, "stand-in", size); return 0; }
int nvmlDeviceGetUUID(void *handle, char *text, unsigned int size) { strncpy(text, "GPU-1", size); return 0; }
int nvmlDeviceGetName(void *handle, char *text, unsigned int size) { strncpy(text, "NVIDIA GB10", size); return 0; }
int nvmlDeviceGetMemoryInfo(void *handle, void *memory) { return not_supported; }
int nvmlDeviceGetMemoryInfo_v2(void *handle, void *memory) { return not_supported; }

int nvmlDeviceGetComputeRunningProcesses(void *handle, unsigned int *count, void *list) { return unknown; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned int *count, process *list)
{
	process all[most];
	unsigned int n = 0;
	FILE *file = fopen(getenv("GPU_PROCESSES"), "r");
	if (!file)
		return unknown;
	for (process one = {0, 0, ~0u, ~0u}; n < most && fscanf(file, "%u %llu", &one.pid, &one.used) == 2;)
		all[n++] = one;
	fclose(file);
	if (*count < n) {
		*count = n;
		return insufficient_size;
	}
	memcpy(list, all, n * sizeof *all);
	*count = n;
	return 0;
}
int nvmlDeviceGetGraphicsRunningProcesses(void *handle, unsigned int *count, void *list) { return unknown; }
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *handle, unsigned int *count, process *list) { *count = 0; return 0; }
int nvmlDeviceGetMPSComputeRunningProcesses(void *handle, unsigned int *count, void *list) { return not_supported; }
int nvmlDeviceGetMPSComputeRunningProcesses_v3(void *handle, unsigned int *count, process *list) { return not_supported; }
