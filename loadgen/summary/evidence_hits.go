package summary

import (
	"maps"
	"math"
	"slices"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// hits reads the engine's counts of its prefix cache while the phases sent so many prompt tokens. A frontend and the
// workers behind it count the same requests, and each of several workers counts a part: of every page alone, and of the
// pages together, the count closest to the tokens sent is the one of this run.
func (w counters) hits(phases []string, sent float64) evidence.Hits {
	var all []evidence.Hits
	var exported, scraped []evidence.Hits
	read := map[string]bool{}
	for _, source := range w.sources() {
		windows, whole := w.windows(source, phases)
		if !whole || len(windows) == 0 {
			continue
		}
		if source.Foreign {
			if h, is := foreignHits(lookup{source, windows, ""}, w.log.Engines); is {
				scraped = append(scraped, h)
			}
			continue
		}
		for _, page := range enginePages(source, metric.EnginePrefixCacheTokensTotal) {
			if key := pageKey(source, page); !read[key] {
				read[key] = true
				exported = append(exported, exportedHits(lookup{source, windows, page}))
			}
		}
	}
	for _, pages := range [][]evidence.Hits{exported, scraped} {
		all = append(all, pages...)
		if len(pages) > 1 {
			all = append(all, sumHits(pages))
		}
	}
	return closest(all, sent)
}

// nearShare is the largest relative difference between the looked-up tokens and the tokens sent, for both to be of the
// same requests.
const nearShare = 0.05

// closest returns the hits whose looked-up tokens are closest to the tokens sent; of those that are near, one with
// tiers, else one with bytes, which the engine's own page has and an exporter's has not.
func closest(all []evidence.Hits, sent float64) evidence.Hits {
	var best evidence.Hits
	distance := math.Inf(1)
	for _, h := range all {
		if !h.Looked.Known || !h.Found.Known {
			continue
		}
		d := math.Abs(h.Looked.Value - sent)
		if d <= nearShare*sent {
			d = 0
		}
		if d < distance || d == distance && detail(h) > detail(best) {
			best, distance = h, d
		}
	}
	return best
}

// detail ranks how much hits show of the tiers.
func detail(h evidence.Hits) int {
	switch {
	case h.Disk.Known:
		return 2
	case h.LoadedBytes.Known:
		return 1
	}
	return 0
}

func sumHits(pages []evidence.Hits) evidence.Hits {
	sum := pages[0]
	for _, h := range pages[1:] {
		sum.Found, sum.Looked = sum.Found.Add(h.Found), sum.Looked.Add(h.Looked)
		sum.Device, sum.Host, sum.Disk = sum.Device.Add(h.Device), sum.Host.Add(h.Host), sum.Disk.Add(h.Disk)
		sum.Elsewhere, sum.LoadedBytes = sum.Elsewhere.Add(h.Elsewhere), either(sum.LoadedBytes, h.LoadedBytes)
	}
	return sum
}

// lookup reads the counters of one page of an engine.
type lookup struct {
	source  *telemetry.SourceLog
	windows []telemetry.Window
	page    string // the label source of an exporter's series; empty on the engine's own page
}

// counted sums the growth of the matching series. A series with labels appears with its first count, so that one that
// was absent at the beginning began at 0; the caller checks that the page was there.
func (l lookup) counted(match func(*telemetry.Series) bool) evidence.Count {
	var count evidence.Count
	for _, series := range l.source.Series {
		if l.page != "" && series.Labels[string(metric.LabelSource)] != l.page || !match(series) {
			continue
		}
		for _, window := range l.windows {
			value, ends := series.At(window.ToNS)
			if _, began := series.At(window.FromNS); !began {
				if ends {
					count.Value, count.Known = count.Value+value, true
				}
				continue
			}
			increase, reset, ok := series.Increase(window)
			if !ok {
				count.Reset = true
				continue
			}
			count.Value, count.Known, count.Reset = count.Value+increase, true, count.Reset || reset
		}
	}
	return count
}

// whole is counted for series that are on the page from its beginning on.
func (l lookup) whole(name string) evidence.Count {
	match := func(s *telemetry.Series) bool { return s.Name == name }
	for _, window := range l.windows {
		there := slices.ContainsFunc(l.source.Series, func(s *telemetry.Series) bool {
			_, began := s.At(window.FromNS)
			return began && match(s)
		})
		if !there {
			return evidence.Count{}
		}
	}
	return l.counted(match)
}

// byTier sums the series of a name by the tier that one of their labels names. Where the page has none, the counts are
// unknown: an engine without hits so far may have no prefix cache.
func (l lookup) byTier(name, label string, tierOf func(string) string, also func(*telemetry.Series) bool) evidence.Hits {
	tiers := map[string]evidence.Count{}
	for _, s := range l.source.Series {
		if s.Name == name {
			tiers[tierOf(s.Labels[label])] = evidence.Count{}
		}
	}
	var h evidence.Hits
	for tier := range tiers {
		count := l.counted(func(s *telemetry.Series) bool {
			return s.Name == name && tierOf(s.Labels[label]) == tier && also(s)
		})
		h.Found = either(h.Found, count)
		switch tier {
		case metric.TierDevice:
			h.Device = either(h.Device, count)
		case metric.TierHost:
			h.Host = either(h.Host, count)
		case metric.TierDisk:
			h.Disk = either(h.Disk, count)
		case metric.TierNone:
		default:
			h.Elsewhere = either(h.Elsewhere, count)
		}
	}
	return h
}

func every(*telemetry.Series) bool { return true }

// exportedHits reads the hits from an exporter's series.
func exportedHits(l lookup) evidence.Hits {
	label := func(name metric.Label, value string) func(*telemetry.Series) bool {
		return func(s *telemetry.Series) bool { return s.Labels[string(name)] == value }
	}
	name := metric.EnginePrefixCacheTokensTotal.Def().Name
	h := l.byTier(name, string(metric.LabelTier), func(tier string) string { return tier }, label(metric.LabelResult, metric.ResultHit))
	h.Looked = l.whole(name)
	return h
}

// enginePages returns the pages of engines on which an exporter read a family.
func enginePages(source *telemetry.SourceLog, family metric.Definer) []string {
	pages := map[string]bool{}
	for _, s := range source.Find(family) {
		pages[s.Labels[string(metric.LabelSource)]] = true
	}
	return slices.Sorted(maps.Keys(pages))
}

// foreignHits reads the hits from an engine's own page; false for any other page. A program that passes on the series of
// another one comes first: its counts are of all requests.
func foreignHits(l lookup, engines spec.Engines) (evidence.Hits, bool) {
	for _, around := range []bool{true, false} {
		for _, e := range engines {
			if c := e.Metrics.Cache; c != nil && (e.Metrics.Around != nil) == around && l.source.Has(c.Marking()) {
				return l.cacheHits(*c), true
			}
		}
	}
	return evidence.Hits{}, false
}

// cacheHits reads the counters of an engine's page. A label source is kept under another name, since the exporter has a
// label of that name. Where prompt tokens are counted when a request begins and those found when it ends, both belong
// together only if the same number of requests was counted, and without any report the hits are unknown.
func (l lookup) cacheHits(c spec.CacheCounters) evidence.Hits {
	prompt := l.whole(c.Prompt)
	if c.Ended != "" {
		begun, ended := l.whole(c.Begun), l.whole(c.Ended)
		if !ended.Known || ended.Value == 0 {
			return evidence.Hits{}
		}
		if !begun.Known || begun.Value != ended.Value {
			prompt = evidence.Count{}
		}
	}
	var h evidence.Hits
	if c.Tiers != "" {
		label := c.TierLabel
		if label == string(metric.LabelSource) {
			label = spec.ExportedPrefix + label
		}
		h = l.byTier(c.Tiers, label, c.Tier, every)
	}
	if !h.Found.Known && len(c.Found) > 0 {
		h.Found = l.found(c)
		if c.OnDevice {
			h.Device, h.Elsewhere = h.Found, l.whole(c.External)
			h.Found.Value += h.Elsewhere.Value
			h.Found.Reset = h.Found.Reset || h.Elsewhere.Reset
		}
	}
	if h.Looked = prompt; c.Computed {
		h.Looked = h.Found.Add(prompt)
	}
	if c.Loaded != "" {
		h.LoadedBytes = l.counted(func(s *telemetry.Series) bool { return s.Name == c.Loaded && s.Labels[c.LoadedLabel] == c.LoadedValue })
	}
	return h
}

// found counts the tokens found by the first of the names that is on the page, else by the last.
func (l lookup) found(c spec.CacheCounters) evidence.Count {
	last := len(c.Found) - 1
	for _, name := range c.Found[:last] {
		if l.source.Has(name) {
			return l.whole(name)
		}
	}
	return l.whole(c.Found[last])
}
