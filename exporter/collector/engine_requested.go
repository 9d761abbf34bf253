package collector

import (
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
)

// requestedKey identifies the counts of a model.
type requestedKey struct{ source, model string }

// requestedCount derives lookups from counts that an engine takes at the begin and at the end of requests. They belong
// to the same requests only while no request is in flight: between two such moments as many requests must have begun as
// reported cached tokens. An interval in which a request ended without a report is left out.
type requestedCount struct {
	at           spec.RequestedTokens // at the last moment without a request in flight
	hits, misses float64              // of requests up to then
	known        bool                 // whether there was an interval that counts
}

// next returns the count after another reading.
func (c requestedCount) next(now spec.RequestedTokens) requestedCount {
	if now.Begun < c.at.Begun || now.Reported < c.at.Reported { // the engine restarted
		c = requestedCount{}
	}
	if !now.Idle {
		return c
	}
	if now.Begun-c.at.Begun == now.Reported-c.at.Reported {
		prompt, cached := now.Prompt-c.at.Prompt, now.Cached-c.at.Cached
		c.hits, c.misses, c.known = c.hits+cached, c.misses+max(0, prompt-cached), true
	}
	c.at = now
	return c
}

// prefixTokens are the lookups of a model, those of its requested tokens as of the last moment without a request in
// flight; nil where there are none, or there was no such moment.
func (e *engines) prefixTokens(source string, m spec.Model, before map[requestedKey]requestedCount) *spec.Lookups {
	if m.Requested == nil {
		return m.PrefixTokens
	}
	key := requestedKey{source, m.Name}
	count := before[key].next(*m.Requested)
	e.requested[key] = count
	if !count.known {
		return nil
	}
	return &spec.Lookups{
		Total: count.hits + count.misses, Missed: count.misses, Hits: []spec.TierValue{{Tier: metric.TierAny, Value: count.hits}},
	}
}
