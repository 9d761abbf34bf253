package vllm

import (
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
)

// simpleOffload is what SimpleCPUOffloadConnector reports (vllm/v1/simple_kv_offload of 0.33.0). It has one tier, the host or a
// file, and counts blocks.
//
// Two of its counts are not read. used_blocks are only the blocks that a transfer or a request holds now, not the content of
// the tier. save_outcomes has the states at the end of a prompt, not the other blocks, which are most of what is stored.
type simpleOffload struct {
	moved              []spec.Move
	capacity, directIO []spec.TierValue
}

// readSimpleOffload reads the replicas, which are started alike and have one kind of tier.
func readSimpleOffload(v spec.View) simpleOffload {
	replicas, infos := v.Replicas(SimpleOffloadInfo), v.Series(SimpleOffloadInfo)
	if len(replicas) == 0 {
		return simpleOffload{}
	}
	for _, label := range []string{LabelBackend, LabelPageCache} {
		if len(spec.LabelValues(infos, label)) > 1 {
			v.LeaveOut("%s is not used: it has several values of %s", SimpleOffloadInfo, label)
			return simpleOffload{}
		}
	}
	var found simpleOffload
	tier := simpleTier(infos[0].Labels[LabelBackend])
	if tier == metric.TierDisk {
		switch infos[0].Labels[LabelPageCache] {
		case "true":
			found.directIO = []spec.TierValue{{Tier: tier, Value: 0}}
		case "false":
			found.directIO = []spec.TierValue{{Tier: tier, Value: 1}}
		}
	}
	capacity, loaded := new(0.0), new(0.0)
	for _, replica := range replicas {
		each := simpleBlockTokens(v, config(v, replica, len(replicas)))
		blocks := spec.LabelNumber(replica.Series(SimpleOffloadInfo)[0].Labels, LabelPoolBlocks)
		if len(spec.LabelValues(replica.Series(SimpleOffloadInfo), LabelPoolBlocks)) > 1 {
			blocks = nil
		}
		capacity = sum(capacity, spec.Product(blocks, each))
		loaded = sum(loaded, spec.Product(replica.Counter(SimpleLoadedBlocks), each))
	}
	if capacity != nil {
		found.capacity = []spec.TierValue{{Tier: tier, Value: *capacity}}
	}
	found.moved = spec.Moves(spec.Move{From: tier, To: metric.TierDevice, Tokens: loaded})
	return found
}

func simpleTier(backend string) string {
	switch backend {
	case "cpu":
		return metric.TierHost
	case "disk":
		return metric.TierDisk
	}
	return metric.TierOther
}

// simpleBlockTokens is nil where the configurations of a replica do not give one number.
func simpleBlockTokens(v spec.View, configs []spec.Series) *float64 {
	var each *float64
	for i, one := range configs {
		tokens, unknown := blockTokens(one.Labels)
		if unknown != "" {
			v.LeaveOut("blocks of %s are not turned into tokens: %s", SimpleOffloadInfo, unknown)
		}
		if tokens == nil || i > 0 && *tokens != *each {
			return nil
		}
		each = tokens
	}
	return each
}

// sum is nil if a part is.
func sum(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return new(*a + *b)
}
