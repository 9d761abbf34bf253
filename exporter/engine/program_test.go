package engine

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/engine/supported"
)

func TestPortsThatAServerProgramServes(t *testing.T) {
	for name, c := range map[string]struct {
		command string
		environ map[string]string
		want    []uint16
	}{
		"vLLM at its default":                 {"/usr/bin/python3 /usr/local/bin/vllm serve org/m", nil, []uint16{8000}},
		"vLLM at a flag":                      {"python3.12 /opt/venv/bin/vllm serve org/m --port 8001 --max-model-len 4096", nil, []uint16{8001}},
		"vLLM, the last flag counts":          {"/opt/venv/bin/vllm serve org/m --port=8001 --port 8002", nil, []uint16{8002}},
		"vLLM by its module":                  {"python -u -X dev -m vllm.entrypoints.openai.api_server --model org/m --port 9000", nil, []uint16{9000}},
		"vLLM by the file of its module":      {"python3 /app/vllm/entrypoints/openai/api_server.py --port 9000", nil, []uint16{9000}},
		"vLLM, a flag that is no port":        {"vllm serve org/m --port http", nil, nil},
		"vLLM's benchmark":                    {"python3 /usr/local/bin/vllm bench serve --port 8000", nil, nil},
		"a worker of vLLM":                    {"VLLM::EngineCore", nil, nil},
		"a worker of vLLM with KVBM":          {"VLLM::EngineCore", map[string]string{"DYN_KVBM_CPU_CACHE_GB": "2"}, []uint16{6880}},
		"KVBM at another port":                {"VLLM::EngineCore", map[string]string{"DYN_KVBM_DISK_CACHE_GB": "8", "DYN_KVBM_METRICS_PORT": "6990"}, []uint16{6990}},
		"KVBM's port is no number":            {"VLLM::EngineCore", map[string]string{"DYN_KVBM_DISK_CACHE_GB": "8", "DYN_KVBM_METRICS_PORT": "x"}, nil},
		"vLLM's server with KVBM":             {"vllm serve m", map[string]string{"DYN_KVBM_CPU_CACHE_GB": "2"}, []uint16{8000, 6880}},
		"SGLang":                              {"python3 -m sglang.launch_server --model-path m", nil, []uint16{30000}},
		"SGLang by its command":               {"python3 /usr/local/bin/sglang serve --model-path m --port 30001", nil, []uint16{30001}},
		"SGLang's router":                     {"python3 -m sglang_router.launch_router --port 30000", nil, nil},
		"TensorRT-LLM":                        {"/usr/bin/python3 /usr/local/bin/trtllm-serve serve org/m --port 8355", nil, []uint16{8355}},
		"TensorRT-LLM below mpirun":           {"mpirun -n 1 trtllm-serve org/m --port 8355", nil, nil},
		"a worker of TensorRT-LLM":            {"python3 -m mpi4py.futures.server", nil, nil},
		"llama.cpp":                           {"/app/llama-server -m m.gguf", nil, []uint16{8080}},
		"llama.cpp by its variable":           {"llama-server -m m.gguf", map[string]string{"LLAMA_ARG_PORT": "8090"}, []uint16{8090}},
		"llama.cpp, the flag before all":      {"llama-server --port 8091", map[string]string{"LLAMA_ARG_PORT": "8090"}, []uint16{8091}},
		"Ollama":                              {"/usr/local/bin/ollama serve", nil, []uint16{11434}},
		"Ollama at a host":                    {"ollama serve", map[string]string{"OLLAMA_HOST": "0.0.0.0"}, []uint16{11434}},
		"Ollama at a port":                    {"ollama serve", map[string]string{"OLLAMA_HOST": ":11500"}, []uint16{11500}},
		"Ollama at a URL":                     {"ollama serve", map[string]string{"OLLAMA_HOST": "http://[::1]:11501/"}, []uint16{11501}},
		"Ollama at a URL without a port":      {"ollama serve", map[string]string{"OLLAMA_HOST": "https://spark-1"}, []uint16{443}},
		"a runner of Ollama":                  {"/usr/local/bin/ollama runner --model m --port 41234", nil, nil},
		"Dynamo's frontend":                   {"python3 -m dynamo.frontend", nil, []uint16{8000}},
		"Dynamo's frontend by its variable":   {"python3 -m dynamo.frontend", map[string]string{"DYN_HTTP_PORT": "8100"}, []uint16{8100}},
		"Dynamo's frontend, the flag":         {"python3 -m dynamo.frontend --http-port 8200", map[string]string{"DYN_HTTP_PORT": "8100"}, []uint16{8200}},
		"a worker of Dynamo":                  {"python3 -m dynamo.vllm --model m", map[string]string{"DYN_SYSTEM_PORT": "8081"}, []uint16{8081}},
		"a worker of Dynamo without a page":   {"python3 -m dynamo.vllm --model m", map[string]string{"DYN_SYSTEM_PORT": "-1"}, nil},
		"another program with Dynamo's":       {"redis-server *:8081", map[string]string{"DYN_SYSTEM_PORT": "8081", "OLLAMA_HOST": ":8081", "DYN_HTTP_PORT": "8081"}, nil},
		"LMCache":                             {"python3 /usr/local/bin/lmcache server --port 5555", nil, []uint16{8080}},
		"Mooncake":                            {"/usr/local/bin/mooncake_master --enable_offload", nil, []uint16{9003}},
		"Mooncake at a flag":                  {"mooncake_master -metrics_port=9100 --port 50051", nil, []uint16{9100}},
		"Mooncake by Python":                  {"python3 /venv/bin/mooncake_master --metrics_port 9100", nil, []uint16{9100}},
		"LMCache at a flag":                   {"lmcache server --http-port 8085", nil, []uint16{8085}},
		"LMCache's old server, no HTTP":       {"python3 /usr/local/bin/lmcache_server 0.0.0.0 8080", nil, nil},
		"a program of Python":                 {"python3 -c import_zmq --port 8000", nil, nil},
		"Python without anything":             {"python3", nil, nil},
		"a module without a name":             {"python3 -m", nil, nil},
		"a program that names one":            {"bash -c vllm serve m", nil, nil},
		"a file of another package":           {"python3 /srv/my/api_server.py", nil, nil},
		"nothing":                             {"", nil, nil},
		"a program whose name begins like it": {"vllm-router serve", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ServedPorts(supported.Engines(), strings.Fields(c.command), c.environ); !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", c.command, got, c.want)
			}
		})
	}
}

// FuzzServedPorts holds that only a known program has ports, none of them 0, and that an added flag moves the port.
func FuzzServedPorts(f *testing.F) {
	f.Add("python3 -m sglang.launch_server --port 1", "127.0.0.1:1", uint16(9))
	f.Add("vllm serve m", "http://x:y/", uint16(0))
	f.Add("ollama serve", "[::1", uint16(65535))
	f.Fuzz(func(t *testing.T, command, variable string, port uint16) {
		environ := map[string]string{"OLLAMA_HOST": variable, "LLAMA_ARG_PORT": variable, "DYN_HTTP_PORT": variable, "DYN_SYSTEM_PORT": variable}
		arguments := strings.Fields(command)
		ports := ServedPorts(supported.Engines(), arguments, environ)
		if slices.Contains(ports, 0) {
			t.Errorf("%q serves port 0", arguments)
		}
		program, _ := startedProgram(supported.Engines(), arguments)
		starts := strings.HasPrefix(program, "dynamo.")
		for _, e := range supported.Engines() {
			starts = starts || slices.ContainsFunc(e.Programs, func(p spec.Program) bool { return p.Command == program })
		}
		if !starts && len(ports) > 0 {
			t.Errorf("%q is not known, and serves %v", arguments, ports)
		}
		if program == "llama-server" && port > 0 {
			moved := ServedPorts(supported.Engines(), slices.Concat(arguments, []string{"--port", strconv.Itoa(int(port))}), environ)
			if !slices.Equal(moved, []uint16{port}) {
				t.Errorf("%q moved to %d: %v", arguments, port, moved)
			}
		}
	})
}
