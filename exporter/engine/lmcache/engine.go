// Package lmcache has all that is known of LMCache.
package lmcache

import "github.com/umascope/umascope/exporter/engine/spec"

// Engine describes LMCache, a cache with a page of its own, which may also be part of the page of the engine that it
// serves.
func Engine() spec.Engine {
	return spec.Engine{
		Name: "lmcache", Title: "LMCache",
		Metrics: spec.Metrics{
			Bytes: spec.BytesAlways,
			Forms: []spec.Form{
				{Prefix: Prefix, Labels: labels(), Read: read},
				{Prefix: ServerPrefix, Labels: serverLabels(), Read: readServer},
			},
		},
		Identity:    spec.Identity{Title: "LMCache", About: &spec.About{Path: spec.VersionPath, Read: readVersion}},
		CommandLine: commandLine(),
		Programs:    []spec.Program{{Command: "lmcache", Verb: "server", Flag: "--http-port", Port: 8080}}, // 0.5.6
	}
}

// serverLabels are the labels of the page of the server.
func serverLabels() spec.Labels {
	return spec.Labels{Replica: []string{LabelL1Tag}, Others: []string{spec.LabelModelName, LabelCacheSalt, LabelBackend, LabelL2Name}}
}

// labels are the labels of the page of a process.
func labels() spec.Labels {
	return spec.Labels{Replica: []string{"worker_id"}, Others: []string{spec.LabelModelName}}
}
