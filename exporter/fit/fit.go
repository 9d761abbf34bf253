// Package fit computes how much of a GPU's memory an inference engine can be given, in the engine's own terms, and how
// many tokens its KV cache would hold. It reads models, and no machine: the caller brings the figures of its memory.
package fit

import (
	"github.com/umascope/umascope/exporter/engine/spec"
)

// Engines computes what each engine can be given. Without a model, weights is nil.
func Engines(known spec.Engines, m spec.GPUMemory, weights *int64) []spec.Grant {
	runtime := known.Runtime(m.Total)
	var grants []spec.Grant
	for _, e := range Sizing(known) {
		grant := e.Sizing.Grant(m, runtime, e.Release(), weights)
		grant.Name = e.Title
		grants = append(grants, grant)
	}
	return grants
}

// Sizing lists the engines of Engines, in that order: those of which it is known how they size their KV cache.
func Sizing(known spec.Engines) spec.Engines {
	var all spec.Engines
	for _, e := range known {
		if e.Sizing != nil {
			all = append(all, e)
		}
	}
	return all
}
