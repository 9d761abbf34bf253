package summary

import (
	"cmp"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/roofline"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// ReadKVRoom reads the sizes of the tiers. A frontend and the engines behind it report the same cache, so that the largest of
// several counts, never their sum.
func ReadKVRoom(log *telemetry.Log, hosts []string, simulated bool, expect KVExpectation) evidence.Room {
	seen := SeeKVTiers(log, simulated)
	room := evidence.Room{KVBM: seen.up, Off: offTiers(seen, expect)}
	for _, source := range (counters{log, simulated, hosts}).sources() {
		room.KVBM = room.KVBM || len(source.Find(metric.KVBMConfiguredCacheBytes))+len(source.Find(metric.KVBMDiskFileBytes)) > 0
		room.Off.DiskFilter = cmp.Or(room.Off.DiskFilter, filterByEnvironment(source))
		tokens, sizes := largestOf(source.Find(metric.EngineKVCapacityTokens)), pageSizes(source, log.Engines)
		room.DeviceTokens = max(room.DeviceTokens, tokens, pageTokens(sizes))
		if bytes := largestOf(source.Find(metric.EngineKVCapacityBytes)); bytes > 0 && tokens > 0 {
			room.TokenBytes = bytes / tokens
		}
		if room.TokenBytes == 0 {
			room.TokenBytes = pageTokenBytes(sizes)
		}
		for _, s := range source.Find(metric.KVBMConfiguredCacheBytes) {
			switch s.Labels[string(metric.LabelTier)] {
			case metric.TierHost:
				room.HostBytes = max(room.HostBytes, highest(s))
			case metric.TierDisk:
				room.DiskBytes = max(room.DiskBytes, highest(s))
			}
		}
		// The file is allocated as a whole, even where the tier was configured as a number of blocks.
		room.DiskBytes = max(room.DiskBytes, largestOf(source.Find(metric.KVBMDiskFileBytes)))
	}
	return room
}

// filterByEnvironment returns the state of KVBM's disk filter by the environment of the engines. Of several engines, one
// with a filter is enough: its prompts are not written.
func filterByEnvironment(source *telemetry.SourceLog) evidence.Filter {
	state := evidence.FilterUnknown
	for _, s := range source.Find(metric.KVBMDiskFilterEnabled) {
		for p := range s.Points() {
			switch {
			case p.Value > 0:
				return evidence.FilterOn
			case p.Value == 0:
				state = evidence.FilterOff
			}
		}
	}
	return state
}

func largestOf(series []*telemetry.Series) float64 {
	most := 0.0
	for _, s := range series {
		most = max(most, highest(s))
	}
	return most
}

// pageSizes returns what the engines' own series on a page say of the size of the KV cache, each by its highest value.
func pageSizes(source *telemetry.SourceLog, engines spec.Engines) []spec.Size {
	page := spec.Page{}
	for _, s := range source.Series {
		page[s.Name] = append(page[s.Name], spec.Series{Labels: s.Labels, Value: highest(s)})
	}
	var sizes []spec.Size
	for _, e := range engines {
		if e.Metrics.Size != nil {
			sizes = append(sizes, e.Metrics.Size(page))
		}
	}
	return sizes
}

// pageTokenBytes returns the size of a token in the KV cache by an engine's own page; 0 if unknown.
func pageTokenBytes(sizes []spec.Size) float64 {
	for _, size := range sizes {
		if size.TokenBytes > 0 {
			return size.TokenBytes
		}
	}
	return 0
}

// pageTokens returns the size of the cache by an engine's own page, in tokens; 0 if it has none.
func pageTokens(sizes []spec.Size) float64 {
	tokens := 0.0
	for _, size := range sizes {
		tokens = max(tokens, size.Tokens)
	}
	if tokens > mostTokens {
		return 0
	}
	return tokens
}

// mostTokens is far above the size of any cache.
const mostTokens = 1e15

// RoomOfLog returns the sizes of the tiers by the engine's log. Sizes of one of several ranks are left out.
func RoomOfLog(log *enginelog.Reading) evidence.Room {
	tiers := log.Tiers()
	room := evidence.Room{KVBM: tiers.KVBM, Files: tiers.Files}
	switch {
	case tiers.Filter != nil && *tiers.Filter:
		room.Off.DiskFilter = evidence.FilterOn
	case tiers.Filter != nil, tiers.Files && !tiers.KVBM:
		room.Off.DiskFilter = evidence.FilterOff
	}
	if log.Ranks() > 1 {
		return room
	}
	room.HostBytes, room.DiskBytes, room.TokenBytes, room.BlockBytes = tiers.HostBytes, tiers.DiskBytes, tiers.TokenBytes, tiers.BlockBytes
	if tokens := log.Value(spec.KVTokens); tokens != nil {
		room.DeviceTokens = *tokens
	}
	if room.TokenBytes == 0 {
		room.TokenBytes = tokenBytesOf(EngineOf(log, ""))
	}
	return room
}

// tokenBytesOf returns the size of a token by the engine's report of its KV cache; 0 if unknown.
func tokenBytesOf(e *rundir.EngineReport) float64 {
	if e == nil || e.KV == nil || e.KVTokens == nil || *e.KVTokens <= 0 {
		return 0
	}
	return *e.KV / *e.KVTokens
}

// ShapeTokenBytes returns the size of a token by the model's config.json and the type of the cache's values on an engine's
// page; 0 if unknown. Layers with a window keep less than all tokens.
func ShapeTokenBytes(log *telemetry.Log, hosts []string, simulated bool, shape *roofline.Shape) float64 {
	if shape == nil || shape.Windowed {
		return 0
	}
	for _, source := range (counters{log, simulated, hosts}).sources() {
		for _, size := range pageSizes(source, log.Engines) {
			if bytes := shape.KVBytesPerToken(size.ValueBytes); bytes > 0 {
				return bytes
			}
		}
	}
	return 0
}

// offTiers returns the tiers with a sign that they are off; an expectation counts where no observation contradicts it,
// since it is checked by itself.
func offTiers(seen KVTiersSeen, expect KVExpectation) evidence.Tiers {
	return evidence.Tiers{
		HostOff: seen.host.on == "" && (seen.host.off != "" || expect == KVOff),
		DiskOff: seen.disk.on == "" && (seen.disk.off != "" || expect == KVOff || expect == KVCPUOnly),
	}
}
