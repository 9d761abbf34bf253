package dynamo

import (
	"strings"

	"github.com/umascope/umascope/exporter/metric"
)

// KVBMPrefixes are the prefixes of KVBM's names: the dashboard that comes with Dynamo has dynamo_ before each.
func KVBMPrefixes() []string { return []string{"", "dynamo_"} }

// KVBMRoute is a route of KV blocks. The letters of its name mean different tiers by operation: h2d is from host to
// disk when offloading and from host to device when onboarding.
type KVBMRoute struct {
	// Op and Letters are KVBM's names for it, in the labels operation and route too.
	Op, Letters string
	// From and To are the tiers.
	From, To string
	// Blocks is the series that counts the blocks.
	Blocks string
}

// KVBMRoutes lists them all; the route from disk to host is of version 2.
func KVBMRoutes() []KVBMRoute {
	return []KVBMRoute{
		{metric.OpOffload, "d2h", metric.TierDevice, metric.TierHost, KVBMOffloadBlocksD2H},
		{metric.OpOffload, "h2d", metric.TierHost, metric.TierDisk, KVBMOffloadBlocksH2D},
		{metric.OpOffload, "d2d", metric.TierDevice, metric.TierDisk, KVBMOffloadBlocksD2D},
		{metric.OpOffload, "d2o", metric.TierDevice, metric.TierObject, KVBMOffloadBlocksD2O},
		{metric.OpOnboard, "d2h", metric.TierDisk, metric.TierHost, KVBMOnboardBlocksD2H},
		{metric.OpOnboard, "h2d", metric.TierHost, metric.TierDevice, KVBMOnboardBlocksH2D},
		{metric.OpOnboard, "d2d", metric.TierDisk, metric.TierDevice, KVBMOnboardBlocksD2D},
		{metric.OpOnboard, "o2d", metric.TierObject, metric.TierDevice, KVBMOnboardBlocksO2D},
	}
}

// KVBMRouteOf finds the route in the labels of a series of version 2.
func KVBMRouteOf(labels map[string]string) (KVBMRoute, bool) {
	for _, route := range KVBMRoutes() {
		if route.Op == labels[LabelKVBMOperation] && route.Letters == labels[LabelKVBMRoute] {
			return route, true
		}
	}
	return KVBMRoute{}, false
}

// KVBMTier parses the name or the number, G1 to G4, of a tier.
func KVBMTier(word string) string {
	switch strings.ToLower(word) {
	case metric.TierDevice, "g1":
		return metric.TierDevice
	case metric.TierHost, "g2":
		return metric.TierHost
	case metric.TierDisk, "g3":
		return metric.TierDisk
	case metric.TierObject, "g4":
		return metric.TierObject
	}
	return metric.TierOther
}
