package llamacpp

import (
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// log reads the log of llama.cpp's server (0.5.0, the version in llama-cpp-python 0.3.36, November 2026). Sizes
// are in MiB, one line for each device, such as these of an H200
//
//	0.00.323.589 I load_tensors:   CPU_Mapped model buffer size =     2.26 MiB
//	0.00.323.590 I load_tensors:        CUDA0 model buffer size =  5410.77 MiB
//	0.00.894.698 I llama_context: n_ctx                 = 131072
//	0.00.897.968 I llama_kv_cache:      CUDA0 KV buffer size =  8192.00 MiB
//	0.00.920.958 I sched_reserve:      CUDA0 compute buffer size =  1344.01 MiB
//	0.00.920.962 I sched_reserve:  CUDA_Host compute buffer size =    48.01 MiB
//
// CUDA_Host is pinned memory of the host. Weights are the sum over all devices, host memory included. A model with two
// kinds of attention has two lines of KV, and a draft model has its own lines: both are added. Compute buffers that a
// context reserves again replace the earlier ones. The server prints these lines only from verbosity 4 on (-lv 4).
func log() *spec.Log {
	return &spec.Log{
		Help:  "llama.cpp's server (started with -lv 4): weights, KV cache, compute buffers",
		First: spec.PhaseLoad,
		Marks: []spec.Mark{
			{Text: "llama_server: model loaded", To: spec.PhaseReady},
			{Text: "server is listening on", To: spec.PhaseReady},
		},
		Versions: []string{"common_params_print_info: build"},
		Restarts: []string{"llama_server: initializing ..."},
		Contexts: "constructing llama_context",
		Figures: []spec.Figure{
			{Of: spec.WeightsBytes, After: []string{"model buffer size ="}, Unit: "MiB", Factor: spec.MiB, Sum: true},
			{Of: spec.KVBytes, After: []string{"KV buffer size ="}, Unit: "MiB", Factor: spec.MiB, Sum: true},
			{Of: spec.KVBytes, After: []string{"RS buffer size ="}, Unit: "MiB", Factor: spec.MiB, Sum: true}, // state of recurrent layers
			{Of: spec.KVTokens, After: []string{"llama_context: n_ctx "}, Factor: spec.One},
			{Of: spec.ComputeBytes, After: []string{"compute buffer size ="}, Unit: "MiB", Factor: spec.MiB, Each: true, Device: onDevice},
			{Of: spec.HostComputeBytes, After: []string{"compute buffer size ="}, Unit: "MiB", Factor: spec.MiB, Each: true, Device: inHost},
		},
	}
}

// inHost reports whether a device of llama.cpp is host memory.
func inHost(device string) bool {
	return strings.HasPrefix(device, "CPU") || strings.HasSuffix(device, "_Host")
}

func onDevice(device string) bool { return device != "" && !inHost(device) }
