package lmcache

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
)

// readServer reads a page of the server of multiprocess mode, which serves several engines. Lookups have a model. Bytes of the
// tiers have none: they go to a model without a name.
//
// /status has sizes and O_DIRECT too, but each request checks all allocations and writes three lines to the log.
func readServer(all spec.View) []spec.Model {
	tiers := spec.Model{TierBytes: l1Bytes(all)}
	if capacity := l1Capacity(all); capacity != nil {
		tiers.TierCapacityBytes = []spec.TierValue{{Tier: metric.TierHost, Value: *capacity}}
	}
	l2 := metric.TierExternal
	names := spec.LabelValues(all.Series(ServerL2Bytes), LabelL2Name)
	for i, name := range names {
		tier := l2Tier(name)
		if i == 0 || tier == l2 {
			l2 = tier
		} else {
			l2 = metric.TierOther
		}
		if bytes := all.With(LabelL2Name, name).Gauge(ServerL2Bytes); bytes != nil {
			tiers.TierBytes = addTier(tiers.TierBytes, tier, *bytes)
		}
	}
	models := []spec.Model{tiers}
	if len(all.Series(ServerRequestedTokens)) == 0 {
		return models
	}
	return append(models, spec.PerModel(all, spec.LabelModelName, []string{ServerRequestedTokens}, func(v spec.View) spec.Model {
		return spec.Model{PrefixTokens: spec.NewLookups(v.Counter(ServerRequestedTokens), map[string]*float64{
			metric.TierHost: v.Counter(ServerL1HitTokens), l2: v.Counter(ServerL2HitTokens),
		})}
	})...)
}

func l1Bytes(all spec.View) []spec.TierValue {
	var tiers []spec.TierValue
	for _, backend := range spec.LabelValues(all.Series(ServerL1Bytes), LabelBackend) {
		if bytes := all.With(LabelBackend, backend).Gauge(ServerL1Bytes); bytes != nil {
			tiers = addTier(tiers, l1Tier(backend), *bytes)
		}
	}
	return tiers
}

// l1Capacity is the size of L1 in memory. The page has the share in use only, which gives no size while it is 0.
func l1Capacity(all spec.View) *float64 {
	capacity := 0.0
	for _, manager := range all.With(LabelBackend, dram).Replicas(ServerL1Bytes) {
		used, ratio := manager.Gauge(ServerL1Bytes), spec.Ratio(manager.Gauge(ServerL1Ratio))
		if used == nil || ratio == nil || *ratio == 0 {
			return nil
		}
		capacity += math.Round(*used / *ratio)
	}
	return spec.AboveZero(&capacity)
}

func addTier(tiers []spec.TierValue, tier string, value float64) []spec.TierValue {
	if i := slices.IndexFunc(tiers, func(t spec.TierValue) bool { return t.Tier == tier }); i >= 0 {
		tiers[i].Value += value
		return tiers
	}
	return append(tiers, spec.TierValue{Tier: tier, Value: value})
}

const dram = "dram"

// l1Tier is the tier of a backend of L1, from lmcache/v1/distributed/api.py of 0.5.6.
func l1Tier(backend string) string {
	switch backend {
	case dram:
		return metric.TierHost
	case "gds": // a file or a drive
		return metric.TierDisk
	}
	return metric.TierOther
}

// l2Tier is the tier of a type of adapter, from lmcache/v1/distributed/l2_adapters of 0.5.6. The others have files or objects by
// their settings, or are plugins.
func l2Tier(name string) string {
	switch name {
	case "fs", "fs_native", "raw_block":
		return metric.TierDisk
	case "s3", "hfbucket":
		return metric.TierObject
	case "aerospike", "bigtable", "hf3fs", "mooncake_store", "p2p", "resp", "sagemaker-hyperpod", "valkey":
		return metric.TierExternal
	}
	return metric.TierOther
}

// readVersion reads "0.5.6-g3e11e108": a release and its commit.
func readVersion(body []byte) (spec.Facts, error) {
	var version string
	err := json.Unmarshal(body, &version)
	return spec.Facts{Version: version}, err
}
