// Package mooncake has all that is known of Mooncake's store of KV cache.
package mooncake

import (
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
)

// Engine describes the master of a store, which keeps the list of what its clients hold. The clients are the engines.
func Engine() spec.Engine {
	return spec.Engine{
		Name: "mooncake", Title: "Mooncake",
		Metrics: spec.Metrics{
			Bytes: spec.BytesAlways,
			Forms: []spec.Form{{Prefix: Prefix, Read: read}},
		},
		CommandLine: spec.CommandLine{
			Source: "mooncake_master -help of 0.3.13.post1", Commands: []string{program},
			Options: []spec.Option{
				spec.Number("--eviction_high_watermark_ratio"), spec.Number("--eviction_ratio"), spec.Number("--default_kv_lease_ttl"),
				spec.Word("--memory_allocator"), spec.Toggle("--enable_offload"), spec.Toggle("--enable_disk_eviction"), spec.Number("--global_file_segment_size"),
			},
		},
		Programs: []spec.Program{{Command: program, Flag: "--metrics_port", Port: 9003}},
	}
}

const program = "mooncake_master"

// read reads a page of the master. A tier that no client has is 0 of 0 bytes, and is left out.
//
// Its counts of gets are not read: an engine asks whether a key exists before it gets it, so that nearly all gets are hits.
func read(v spec.View) []spec.Model {
	var m spec.Model
	for _, tier := range []struct{ tier, used, capacity string }{
		{metric.TierHost, MemoryBytes, MemoryCapacity},
		{metric.TierDisk, FileBytes, FileCapacity},
		{metric.TierExternal, RemoteDiskBytes, RemoteDiskCapacity},
	} {
		used, capacity := v.Gauge(tier.used), v.Gauge(tier.capacity)
		if spec.AboveZero(used) == nil && spec.AboveZero(capacity) == nil {
			continue
		}
		if used != nil {
			m.TierBytes = append(m.TierBytes, spec.TierValue{Tier: tier.tier, Value: *used})
		}
		if capacity != nil {
			m.TierCapacityBytes = append(m.TierCapacityBytes, spec.TierValue{Tier: tier.tier, Value: *capacity})
		}
	}
	return []spec.Model{m}
}
