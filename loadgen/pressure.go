package loadgen

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// seeRoom looks once at all pages, before the run, for how much the tiers of the KV cache hold. Only
// scenarios that push something out of them ask; what no page says is not known, which is no error.
func (r *run) seeRoom(ctx context.Context) evidence.Room {
	if r.settings.sets == nil || len(r.sources) == 0 {
		return evidence.Room{}
	}
	log, err := r.glance(ctx)
	if err != nil {
		r.log.Warn("the size of the KV cache could not be looked up", "why", printable(err.Error()))
		return evidence.Room{}
	}
	return roomOf(log, r.seeKV(log), r.settings.expect)
}

// glance takes one sample of every source. The sampler writes files, so this one is written beside the
// run's and removed at once.
func (r *run) glance(ctx context.Context) (*telemetry.Log, error) {
	folder, err := os.MkdirTemp("", "uma-load-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	start, file := time.Now(), filepath.Join(folder, fileTelemetry)
	sampler, err := telemetry.Start(ctx, telemetry.Options{
		Sources: r.sources, Interval: telemetry.MinInterval, File: file, Clock: func() int64 { return int64(time.Since(start)) },
	})
	if err != nil {
		return nil, err
	}
	sampler.Mark(phaseReady)
	if _, err := sampler.Stop(); err != nil {
		return nil, err
	}
	return telemetry.Read(file)
}

// roomOf reads the sizes of the tiers. A frontend and the engines behind it tell of the same cache, so
// that the largest of several counts, never their sum.
func roomOf(log *telemetry.Log, seen kvSeen, expect kvExpectation) evidence.Room {
	room := evidence.Room{Off: offTiers(seen, expect)}
	for _, source := range log.Sources {
		tokens := largestOf(source.Find(metric.EngineKVCapacityTokens))
		room.DeviceTokens = max(room.DeviceTokens, tokens, pageTokens(source))
		if bytes := largestOf(source.Find(metric.EngineKVCapacityBytes)); bytes > 0 && tokens > 0 {
			room.TokenBytes = bytes / tokens
		}
		for _, s := range source.Find(metric.KVBMConfiguredCacheBytes) {
			switch s.Labels[string(metric.LabelTier)] {
			case metric.TierHost:
				room.HostBytes = max(room.HostBytes, highest(s))
			case metric.TierDisk:
				room.DiskBytes = max(room.DiskBytes, highest(s))
			}
		}
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

// pageTokens is what vLLM's own page says of its cache: the labels of its configuration are numbers.
func pageTokens(source *telemetry.SourceLog) float64 {
	for _, s := range source.Series {
		if s.Name != metric.ForeignVLLMCacheConfigInfo {
			continue
		}
		blocks, err := strconv.ParseFloat(s.Labels[metric.ForeignVLLMLabelBlocks], 64)
		size, sizeErr := strconv.ParseFloat(s.Labels[metric.ForeignVLLMLabelBlockSize], 64)
		if err == nil && sizeErr == nil && blocks > 0 && size > 0 && blocks*size < 1e15 {
			return blocks * size
		}
	}
	return 0
}

// offTiers are the tiers that something says are off; an expectation counts where nothing was seen
// against it, as it is judged by itself.
func offTiers(seen kvSeen, expect kvExpectation) evidence.Tiers {
	return evidence.Tiers{
		HostOff: seen.host.on == "" && (seen.host.off != "" || expect == kvOff),
		DiskOff: seen.disk.on == "" && (seen.disk.off != "" || expect == kvOff || expect == kvCPUOnly),
	}
}
