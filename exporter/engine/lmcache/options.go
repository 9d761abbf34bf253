package lmcache

import "github.com/umascope/umascope/exporter/engine/spec"

// commandLine describes how the engine is started: it runs in the process of the engine that it serves.
func commandLine() spec.CommandLine {
	return spec.CommandLine{
		Source:   "LMCache, configuration",
		Prefixes: []string{"LMCACHE_"},
		Variables: []spec.Option{
			spec.Number("LMCACHE_CHUNK_SIZE"), spec.Toggle("LMCACHE_LOCAL_CPU"), spec.Number("LMCACHE_MAX_LOCAL_CPU_SIZE"), spec.Number("LMCACHE_MAX_LOCAL_DISK_SIZE"),
		},
	}
}
