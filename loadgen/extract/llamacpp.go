package extract

import "strings"

// llamaCPP reads the log of llama.cpp's server (its server in llama-cpp-python 0.3.36, November 2026). Sizes are in MiB, a
// line for each device, such as
//
//	0.00.036.093 I load_tensors:   CPU_Mapped model buffer size =     2.54 MiB
//	0.00.036.225 I llama_context: n_ctx                 = 8192
//	0.00.039.910 I llama_kv_cache:        CPU KV buffer size =     8.00 MiB
//	0.00.069.545 I sched_reserve:        CPU compute buffer size =     8.01 MiB
//
// With CUDA the devices are CUDA0, CUDA1 and CUDA_Host, which is pinned memory of the host. A model with two kinds of
// attention has two lines of KV, and a draft model has lines of its own: both are added. Compute buffers that a context reserves
// again take the place of those before. The server prints all of this from verbosity 4 on only (-lv 4).
func llamaCPP() Tool {
	return Tool{
		Name: "llamacpp", Help: "llama.cpp's server (started with -lv 4): weights, KV cache, compute buffers",
		First: PhaseLoad,
		marks: []mark{
			{text: "llama_server: model loaded", to: PhaseReady},
			{text: "server is listening on", to: PhaseReady},
		},
		versions: []string{"common_params_print_info: build"},
		restarts: []string{"llama_server: initializing ..."},
		contexts: "constructing llama_context",
		figures: []figure{
			{of: WeightsBytes, after: []string{"model buffer size ="}, unit: "MiB", factor: mib, sum: true},
			{of: KVBytes, after: []string{"KV buffer size ="}, unit: "MiB", factor: mib, sum: true},
			{of: KVBytes, after: []string{"RS buffer size ="}, unit: "MiB", factor: mib, sum: true}, // state of recurrent layers
			{of: KVTokens, after: []string{"llama_context: n_ctx "}, factor: one},
			{of: ComputeBytes, after: []string{"compute buffer size ="}, unit: "MiB", factor: mib, each: true, device: onDevice},
			{of: HostComputeBytes, after: []string{"compute buffer size ="}, unit: "MiB", factor: mib, each: true, device: inHost},
		},
	}
}

// inHost says whether a device of llama.cpp is memory of the host.
func inHost(device string) bool {
	return strings.HasPrefix(device, "CPU") || strings.HasSuffix(device, "_Host")
}

func onDevice(device string) bool { return device != "" && !inHost(device) }
