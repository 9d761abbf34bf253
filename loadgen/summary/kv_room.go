package summary

import (
	"strconv"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// ReadKVRoom reads the sizes of the tiers. A frontend and the engines behind it report the same cache, so that the largest of
// several counts, never their sum.
func ReadKVRoom(log *telemetry.Log, hosts []string, simulated bool, expect KVExpectation) evidence.Room {
	room := evidence.Room{Off: offTiers(SeeKVTiers(log, simulated), expect)}
	for _, source := range (counters{log, simulated, hosts}).sources() {
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
			held := labelNumber(s, metric.ForeignVLLMLabelBlocks) * labelNumber(s, metric.ForeignVLLMLabelBlockSize)
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
			vllm = max(vllm, labelNumber(s, metric.ForeignVLLMLabelBlocks)*labelNumber(s, metric.ForeignVLLMLabelBlockSize))
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

// offTiers returns the tiers with a sign that they are off; an expectation counts where no observation contradicts it,
// since it is checked by itself.
func offTiers(seen KVTiersSeen, expect KVExpectation) evidence.Tiers {
	return evidence.Tiers{
		HostOff: seen.host.on == "" && (seen.host.off != "" || expect == KVOff),
		DiskOff: seen.disk.on == "" && (seen.disk.off != "" || expect == KVOff || expect == KVCPUOnly),
	}
}
