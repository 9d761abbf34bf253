package summary

import (
	"cmp"
	"strconv"
	"strings"

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
		tokens := largestOf(source.Find(metric.EngineKVCapacityTokens))
		room.DeviceTokens = max(room.DeviceTokens, tokens, pageTokens(source))
		if bytes := largestOf(source.Find(metric.EngineKVCapacityBytes)); bytes > 0 && tokens > 0 {
			room.TokenBytes = bytes / tokens
		}
		if room.TokenBytes == 0 {
			room.TokenBytes = pageTokenBytes(source)
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

// pageTokenBytes returns the size of a token in the KV cache by an engine's own page; 0 if unknown. The bytes that vLLM
// was configured with are not those of its cache where the number of blocks was set too.
func pageTokenBytes(source *telemetry.SourceLog) float64 {
	gigabytes, tokens := 0.0, 0.0
	for _, s := range source.Series {
		switch s.Name {
		case metric.ForeignVLLMCacheConfigInfo:
			held := vllmTokens(s)
			if bytes := labelNumber(s, metric.ForeignVLLMLabelBytes); bytes > 0 && held > 0 && labelNumber(s, metric.ForeignVLLMLabelBlocksOverride) == 0 {
				return bytes / held
			}
		case metric.ForeignSGLangKVGigabytes:
			gigabytes = max(gigabytes, highest(s))
		case metric.ForeignSGLangMaxTokens:
			tokens = max(tokens, highest(s))
		}
	}
	if tokens == 0 {
		return 0
	}
	return gigabytes * (1 << 30) / tokens
}

// dynamoTokens returns the KV cache behind a frontend whose router names exactly one worker; its page has the size of
// one worker's cache, and the sum over several is unknown.
func dynamoTokens(source *telemetry.SourceLog, gauges map[string]float64) float64 {
	workers := map[[2]string]bool{}
	for _, s := range source.Series {
		if s.Name == metric.ForeignDynamoWorkerRegistered && highest(s) > 0 {
			workers[[2]string{s.Labels[metric.ForeignDynamoLabelRouterWorker], s.Labels[metric.ForeignDynamoLabelRank]}] = true
		}
	}
	if len(workers) != 1 {
		return 0
	}
	return gauges[metric.ForeignDynamoModelBlocks] * gauges[metric.ForeignDynamoModelBlockSize]
}

// pageTokens returns the size of the cache by an engine's own page, in tokens; 0 if it has none. vLLM writes its
// configuration into labels, the others have gauges.
func pageTokens(source *telemetry.SourceLog) float64 {
	vllm, gauges := 0.0, map[string]float64{}
	for _, s := range source.Series {
		if s.Name == metric.ForeignVLLMCacheConfigInfo {
			vllm = max(vllm, vllmTokens(s))
		}
		gauges[s.Name] = max(gauges[s.Name], highest(s))
	}
	tokens := max(
		vllm, gauges[metric.ForeignSGLangMaxTokens],
		gauges[metric.ForeignTensorRTLLMMaxBlocks]*gauges[metric.ForeignTensorRTLLMTokensPerBlock],
		dynamoTokens(source, gauges),
	)
	if tokens > mostTokens {
		return 0
	}
	return tokens
}

// vllmTokens returns the size of vLLM's cache by the labels of its configuration, in tokens; 0 if unknown.
func vllmTokens(s *telemetry.Series) float64 {
	tokens, _ := metric.ForeignVLLMCacheTokens(s.Labels)
	if tokens == nil || *tokens > mostTokens {
		return 0
	}
	return *tokens
}

// mostTokens is far above the size of any cache.
const mostTokens = 1e15

// labelNumber returns the value of a label that is a number above 0; 0 for any other.
func labelNumber(s *telemetry.Series, label string) float64 {
	value, err := strconv.ParseFloat(s.Labels[label], 64)
	if err != nil || !(value > 0 && value <= mostTokens) {
		return 0
	}
	return value
}

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
	if tokens := log.Value(enginelog.KVTokens); tokens != nil {
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

// ShapeTokenBytes returns the size of a token by the model's config.json and the type of the cache's values on vLLM's
// page; 0 if unknown. Layers with a window keep less than all tokens.
func ShapeTokenBytes(log *telemetry.Log, hosts []string, simulated bool, shape *roofline.Shape) float64 {
	if shape == nil || shape.Windowed {
		return 0
	}
	for _, source := range (counters{log, simulated, hosts}).sources() {
		for _, s := range source.Series {
			if s.Name != metric.ForeignVLLMCacheConfigInfo {
				continue
			}
			if bytes := shape.KVBytesPerToken(cacheValueBytes(s.Labels[metric.ForeignVLLMLabelCacheType])); bytes > 0 {
				return bytes
			}
		}
	}
	return 0
}

// cacheValueBytes returns the size of a value of vLLM's KV cache by its --kv-cache-dtype; 0 if unknown. auto is the
// model's type, which has two bytes unless --dtype float32 is given.
func cacheValueBytes(kind string) float64 {
	switch {
	case kind == "auto", kind == "bfloat16", kind == "float16":
		return 2
	case strings.HasPrefix(kind, "fp8"):
		return 1
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
