package ollama

import "github.com/umascope/umascope/exporter/engine/spec"

// commandLine describes how the engine is started.
func commandLine() spec.CommandLine {
	return spec.CommandLine{
		Source:   "Ollama, envconfig/config.go",
		Commands: []string{"ollama"},
		Images:   []string{"ollama"},
		Prefixes: []string{"OLLAMA_"},
		Variables: []spec.Option{
			spec.Number("OLLAMA_CONTEXT_LENGTH"), spec.Number("OLLAMA_NUM_PARALLEL"), spec.Number("OLLAMA_MAX_LOADED_MODELS"), spec.Word("OLLAMA_KV_CACHE_TYPE"),
			spec.Toggle("OLLAMA_FLASH_ATTENTION"), spec.Number("OLLAMA_GPU_OVERHEAD"), spec.Number("OLLAMA_MAX_QUEUE"), spec.Number("OLLAMA_KEEP_ALIVE"),
			spec.Toggle("OLLAMA_SCHED_SPREAD"), spec.Toggle("OLLAMA_NEW_ENGINE"),
		},
	}
}
