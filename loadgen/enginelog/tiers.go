package enginelog

import (
	"strconv"
	"strings"
)

// Tiers is what the log of an engine has of the tiers of its KV cache below the device. 0 is unknown. The sizes are
// those of one worker.
type Tiers struct {
	// KVBM is true if Dynamo's KV block manager started.
	KVBM bool
	// HostBytes is the host tier of vLLM's own offloading, DiskBytes the file of KVBM's disk tier.
	HostBytes, DiskBytes float64
	// BlockBytes and TokenBytes are the sizes of a block of KVBM and of a token in it.
	BlockBytes, TokenBytes float64
	// Files is true if vLLM's own offloading has a tier of files, which has no limit of its own.
	Files bool
	// Filter is the state of KVBM's disk filter; nil if the log does not show it.
	Filter *bool

	valueBytes float64 // of the worker that starts
	unfiltered bool    // the manager that starts has no filter
}

// Empty reports whether the log has no line about tiers.
func (t Tiers) Empty() bool { return t == Tiers{} }

// read reads a line of KVBM 1.4.2 (ai-dynamo/dynamo, lib/llm/src/block_manager) or of vLLM 0.26's own offloading:
//
//	Initializing KvbmWorker with params: num_device_blocks=2048, page_size=16, dtype_width_bytes=2
//	Layout: num_layers=16, outer_dim=1, outer_contiguous=false, page_size=16, inner_dim=1024
//	DiskStorage created: fd=137, file=/data/kv/dynamo-kvbm-disk-cache-Hh2yir, size=7999586304 bytes
//	Host to Disk offload filter is not provided. All blocks in host will be offloaded to disk.
//	Configured offload transfer settings max_concurrent_transfers=4 max_transfer_batch_size=16
//	Created mmap file /dev/shm/vllm_offload_264d4074.mmap (2.15 GB)
//	Created secondary tier #0 (fs)
//
// KVBM has no line for a filter that is on: it logs the absence of one, just before the transfer settings. So settings
// without that line before them mean a filter.
func (t *Tiers) read(line string) {
	switch {
	case strings.Contains(line, "Initializing KvbmWorker with params:"):
		*t = Tiers{KVBM: true, valueBytes: numberAfter(line, "dtype_width_bytes=")}
	case t.KVBM && strings.Contains(line, "Layout: num_layers="):
		page := numberAfter(line, " page_size=")
		block := numberAfter(line, "num_layers=") * numberAfter(line, " outer_dim=") * page * numberAfter(line, " inner_dim=") * t.valueBytes
		if block > 0 && block <= largest {
			t.BlockBytes, t.TokenBytes = block, block/page
		}
	case strings.Contains(line, "DiskStorage created:"):
		t.KVBM, t.DiskBytes = true, numberAfter(line, ", size=")
	case strings.Contains(line, "Host to Disk offload filter is not provided"):
		t.KVBM, t.unfiltered, t.Filter = true, true, new(false)
	case strings.Contains(line, "Configured offload transfer settings"):
		t.KVBM, t.Filter = true, new(!t.unfiltered)
	case strings.Contains(line, "Created mmap file /dev/shm/vllm_offload_"):
		if _, size, found := strings.Cut(line, ".mmap ("); found && strings.Contains(size, " GB)") {
			t.HostBytes = min(leading(size)*1e9, largest)
		}
	case strings.Contains(line, "Created secondary tier #") && strings.Contains(line, "(fs)"):
		t.Files = true
	}
}

// numberAfter returns the number after a label; 0 if the line has none.
func numberAfter(line, label string) float64 {
	_, rest, _ := strings.Cut(line, label)
	return leading(rest)
}

func leading(text string) float64 {
	number, _ := leadingNumber(text)
	value, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
	if err != nil || value > largest {
		return 0
	}
	return value
}
