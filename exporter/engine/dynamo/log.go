package dynamo

import (
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// tiers reads a line of KVBM 1.4.2 (ai-dynamo/dynamo, lib/llm/src/block_manager), in the log of whichever engine loads it:
//
//	Initializing KvbmWorker with params: num_device_blocks=2048, page_size=16, dtype_width_bytes=2
//	Layout: num_layers=16, outer_dim=1, outer_contiguous=false, page_size=16, inner_dim=1024
//	DiskStorage created: fd=137, file=/data/kv/dynamo-kvbm-disk-cache-Hh2yir, size=7999586304 bytes
//	Host to Disk offload filter is not provided. All blocks in host will be offloaded to disk.
//	Configured offload transfer settings max_concurrent_transfers=4 max_transfer_batch_size=16
//
// KVBM has no line for a filter that is on: it logs the absence of one, just before the transfer settings. So settings
// without that line before them mean a filter.
func tiers(t *spec.Tiers, line string) {
	switch {
	case strings.Contains(line, "Initializing KvbmWorker with params:"):
		*t = spec.Tiers{KVBM: true, ValueBytes: spec.NumberAfter(line, "dtype_width_bytes=")}
	case t.KVBM && strings.Contains(line, "Layout: num_layers="):
		page := spec.NumberAfter(line, " page_size=")
		block := spec.NumberAfter(line, "num_layers=") * spec.NumberAfter(line, " outer_dim=") * page * spec.NumberAfter(line, " inner_dim=") * t.ValueBytes
		if block > 0 && block <= spec.Largest {
			t.BlockBytes, t.TokenBytes = block, block/page
		}
	case strings.Contains(line, "DiskStorage created:"):
		t.KVBM, t.DiskBytes = true, spec.NumberAfter(line, ", size=")
	case strings.Contains(line, "Host to Disk offload filter is not provided"):
		t.KVBM, t.Unfiltered, t.Filter = true, true, new(false)
	case strings.Contains(line, "Configured offload transfer settings"):
		t.KVBM, t.Filter = true, new(!t.Unfiltered)
	}
}
