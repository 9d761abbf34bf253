package collector

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/umascope/umascope/exporter/engine"
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
)

// engineSpec is the collector of inference engines.
func engineSpec() Spec {
	return Spec{
		Name:    metric.CollectorEngine,
		Help:    "Inference engines: KV cache, prefix cache and queues.",
		Metrics: engineMetrics(),
		Needs:   []Need{needDiscovery()},
		Open: func(host Host, options Options) Collect {
			engines := &engines{
				client:  engine.Client{HTTP: host.HTTP, Engines: options.Sources.Known, IterationStats: options.Sources.IterationStats},
				sources: newSources(options.Sources),
			}
			return engines.collect
		},
	}
}

// engines are the sources with their previous readings. The runner never runs a collector twice at a time.
type engines struct {
	client  engine.Client
	sources *sources
	before  map[string]engine.Reading // by source
	missed  map[missKey]missCount

	requested map[requestedKey]requestedCount
}

func (e *engines) collect(ctx context.Context, sample *Sample, batch *Batch) error {
	named, targetErr := e.sources.now()
	found := sample.discover(ctx, named)
	found.emit(batch)
	answers := readSources(ctx, found.targets.Engines, func(ctx context.Context, at *engine.Endpoint) (engine.Reading, error) {
		return e.client.Read(ctx, at, e.before[at.Source])
	})
	sample.enginePages.Store(pagesOf(answers))
	missed, requested := e.missed, e.requested
	e.before, e.missed, e.requested = map[string]engine.Reading{}, map[missKey]missCount{}, map[requestedKey]requestedCount{}
	for _, a := range answers {
		if !errors.Is(a.Err, engine.ErrUnreachable) { // otherwise another engine may listen there next
			e.before[a.Source] = a.Value
		}
		batch.Gauge(metric.EngineUp, number(a.Err == nil), a.Source)
		if a.Err == nil {
			for _, note := range engineNotes(a.Source, a.Value) {
				batch.Note(note)
			}
			e.emit(batch, a.Source, a.Value, missed, requested)
		} else {
			e.keep(missed, requested, a.Source)
		}
	}
	outcome := sourcesOutcome("engines", "--engine.url", found, answers)
	failed := errors.Join(targetErr, found.err)
	if failed != nil && errors.Is(outcome, ErrAbsent) {
		return failed // the user named the file, so an unreadable one is a failure, not a machine without engines
	}
	return errors.Join(failed, outcome)
}

// EnginePage is what an engine reports on a page.
type EnginePage struct {
	Source string
	engine.Reading
}

func pagesOf(answers []answer[engine.Reading]) *[]EnginePage {
	var pages []EnginePage
	for _, a := range answers {
		if a.Err == nil {
			pages = append(pages, EnginePage{a.Source, a.Value})
		}
	}
	return &pages
}

// EnginePages are the pages that the engine collector of this sample read; none before it has returned.
func (s *Sample) EnginePages() []EnginePage {
	if pages := s.enginePages.Load(); pages != nil {
		return *pages
	}
	return nil
}

// engineNotes report how much of a page is read, since releases add and rename series, and what is not used and why.
func engineNotes(source string, r engine.Reading) []string {
	name := r.Engine
	if r.Version != "" {
		name += " " + r.Version
	}
	var notes []string
	if r.Families == 0 {
		notes = []string{fmt.Sprintf("%s: %s, which has no page", source, name)}
	} else {
		notes = []string{fmt.Sprintf("%s: %s, %d of its %d metrics; %d are not read", source, name, r.Families-r.Unread, r.Families, r.Unread)}
	}
	if len(r.UnknownLabels) > 0 {
		notes = append(notes, fmt.Sprintf("%s: labels that are not %s's own: %s; they make no replica", source, r.Engine, strings.Join(r.UnknownLabels, ", ")))
	}
	for _, reason := range r.Absent {
		notes = append(notes, source+": "+reason)
	}
	return notes
}

func (e *engines) emit(batch *Batch, source string, r engine.Reading, missed map[missKey]missCount, requested map[requestedKey]requestedCount) {
	for _, m := range r.Models {
		batch.Gauge(metric.EngineInfo, 1, source, r.Engine, m.Name, r.Version)
		for _, row := range []struct {
			metric metric.Gauge
			value  *float64
		}{
			{metric.EngineKVCapacityBytes, m.CapacityBytes}, {metric.EngineKVCapacityTokens, m.CapacityTokens},
			{metric.EngineKVCapacityBlocks, m.CapacityBlocks}, {metric.EngineKVUsedRatio, m.UsedRatio}, {metric.EngineKVUsedTokens, m.UsedTokens},
		} {
			if row.value != nil {
				batch.Gauge(row.metric, *row.value, source, m.Name)
			}
		}
		for _, row := range []struct {
			metric metric.Gauge
			tiers  []spec.TierValue
		}{
			{metric.EngineKVTierUsedBytes, m.TierBytes}, {metric.EngineKVTierCapacityBytes, m.TierCapacityBytes},
			{metric.EngineKVTierUsedTokens, m.TierUsedTokens}, {metric.EngineKVTierCapacityTokens, m.TierCapacityTokens},
			{metric.EngineKVTierDirectIO, m.TierDirectIO},
		} {
			for _, tier := range row.tiers {
				batch.Gauge(row.metric, tier.Value, source, m.Name, tier.Tier)
			}
		}
		for _, pool := range m.StatePools {
			batch.Gauge(metric.EngineStatePoolUsedRatio, pool.UsedRatio, source, m.Name, pool.Kind)
		}
		for kind, bytes := range m.Memory {
			batch.Gauge(metric.EngineMemoryBytes, bytes, source, m.Name, kind)
		}
		for state, count := range m.Requests {
			batch.Gauge(metric.EngineRequests, count, source, m.Name, state)
		}
		emitEngineCounts(batch, source, m)
		e.emitLookups(batch, metric.EnginePrefixCacheTokensTotal, e.prefixTokens(source, m, requested), missed, source, m.Name)
		e.emitLookups(batch, metric.EnginePrefixCacheBlocksTotal, m.PrefixBlocks, missed, source, m.Name)
	}
}

func emitEngineCounts(batch *Batch, source string, m spec.Model) {
	if m.Preemptions != nil {
		batch.Counter(metric.EnginePreemptionsTotal, *m.Preemptions, source, m.Name)
	}
	emitMoved(batch, source, m)
	emitSpeculation(batch, source, m)
	if m.PromptTokens != nil {
		batch.Counter(metric.EngineTokensTotal, *m.PromptTokens, source, m.Name, metric.DirectionPrompt)
	}
	if m.GenerationTokens != nil {
		batch.Counter(metric.EngineTokensTotal, *m.GenerationTokens, source, m.Name, metric.DirectionGeneration)
	}
}

// emitMoved counts what went from one tier of the KV cache to another, and what left the GPU.
func emitMoved(batch *Batch, source string, m spec.Model) {
	for _, move := range m.Moved {
		if move.Bytes != nil {
			batch.Counter(metric.EngineKVMovedBytesTotal, *move.Bytes, source, m.Name, move.From, move.To)
		}
		if move.Tokens != nil {
			batch.Counter(metric.EngineKVMovedTokensTotal, *move.Tokens, source, m.Name, move.From, move.To)
		}
	}
	if m.EvictedTokens != nil {
		batch.Counter(metric.EngineKVEvictedTokensTotal, *m.EvictedTokens, source, m.Name)
	}
}

func emitSpeculation(batch *Batch, source string, m spec.Model) {
	if m.Drafts != nil {
		batch.Counter(metric.EngineSpecDraftsTotal, *m.Drafts, source, m.Name)
	}
	if m.DraftTokens != nil {
		batch.Counter(metric.EngineSpecDraftTokensTotal, *m.DraftTokens, source, m.Name)
	}
	for _, at := range m.Accepted {
		batch.Counter(metric.EngineSpecAcceptedTokensTotal, at.Value, source, m.Name, at.Position)
	}
	if m.AcceptedLength != nil {
		batch.Gauge(metric.EngineSpecAcceptedLength, *m.AcceptedLength, source, m.Name)
	}
}

func (e *engines) emitLookups(batch *Batch, family metric.Counter, lookups *spec.Lookups, before map[missKey]missCount, source, model string) {
	if lookups == nil {
		return
	}
	for _, hit := range lookups.Hits {
		batch.Counter(family, hit.Value, source, model, hit.Tier, metric.ResultHit)
	}
	key := missKey{family.Def().Name, source, model}
	now := before[key].next(*lookups)
	e.missed[key] = now
	if now.misses >= 0 {
		batch.Counter(family, now.misses, source, model, metric.TierNone, metric.ResultMiss)
	}
}

// missKey identifies a count of misses.
type missKey struct{ family, source, model string }

// keep keeps the counts of a source that does not answer now: it may continue from them.
func (e *engines) keep(missed map[missKey]missCount, requested map[requestedKey]requestedCount, source string) {
	for key, count := range missed {
		if key.source == source {
			e.missed[key] = count
		}
	}
	for key, count := range requested {
		if key.source == source {
			e.requested[key] = count
		}
	}
}

// missCount is the number of lookups that missed, and the number of lookups.
type missCount struct{ total, misses float64 }

// next returns the count after another reading. Misses are a difference of two counts that the engine does not read at
// one moment, so they may step back a little. A reader of a counter takes any step back for a restart, so the count
// stays the same unless the lookups themselves restarted.
func (c missCount) next(lookups spec.Lookups) missCount {
	now := missCount{lookups.Total, lookups.Missed}
	if now.total >= c.total {
		now.misses = max(now.misses, c.misses)
	}
	return now
}

func engineMetrics() []metric.Definer {
	return []metric.Definer{
		metric.EngineUp, metric.EngineInfo, metric.EngineKVCapacityBytes, metric.EngineKVCapacityTokens,
		metric.EngineKVCapacityBlocks, metric.EngineKVUsedRatio, metric.EngineStatePoolUsedRatio, metric.EngineKVUsedTokens, metric.EngineKVTierUsedBytes, metric.EngineKVTierCapacityBytes,
		metric.EngineKVTierUsedTokens, metric.EngineKVTierCapacityTokens, metric.EngineKVTierDirectIO,
		metric.EngineKVMovedBytesTotal, metric.EngineKVMovedTokensTotal, metric.EngineKVEvictedTokensTotal, metric.EngineMemoryBytes,
		metric.EnginePrefixCacheTokensTotal, metric.EnginePrefixCacheBlocksTotal, metric.EnginePreemptionsTotal,
		metric.EngineSpecDraftsTotal, metric.EngineSpecDraftTokensTotal, metric.EngineSpecAcceptedTokensTotal, metric.EngineSpecAcceptedLength,
		metric.EngineRequests, metric.EngineTokensTotal, metric.EngineDiscoverySockets,
	}
}
