// Package spec has the types in which an inference engine is described, and what its pages of metrics are read with. The
// package of an engine (exporter/engine/NAME) holds all that is known of it in these terms; package supported lists them.
//
// Descriptions are data and parsers of texts: neither they nor this package connect to anything or read files.
package spec

import (
	"slices"
	"strings"
)

// Engine is all that is known of one engine, or of a cache that has a page of its own. A part that an engine lacks is
// empty.
type Engine struct {
	// Name identifies it in series, flags and records, Title is how its makers write it.
	Name, Title string
	Metrics     Metrics
	Identity    Identity
	Programs    []Program
	CommandLine CommandLine
	// Request is nil for an engine that requests are not fitted to: its fields are those of any server.
	Request *Request
	// Answer are the counts in its answers in addition to OpenAI's.
	Answer    []AnswerCount
	Reset     *Reset
	Tokenizer *Tokenizer
	Context   *Context
	Settings  Settings
	Wording   Wording
	// Sizing is nil for an engine that is not known to size its KV cache by a figure of memory.
	Sizing *Sizing
	// Log is nil for an engine whose log is not read.
	Log *Log
	// LogTiers reads a line about tiers of the KV cache below the device, in the log of any engine; nil if it writes none.
	LogTiers func(*Tiers, string)
	// LogNeeds is the option without which its log has no figures of memory.
	LogNeeds string
	// CachedTokens is the option without which answers do not have the tokens that were found in a cache.
	CachedTokens string
	// Ports are those of further pages of a process, by the environment variables of the engine.
	Ports func(command string, environ map[string]string) []uint16
	// Block are the names of its settings that are the tokens of a block of the KV cache.
	Block []string
	// Variables are the environment variables that move a port; Ports and Programs read no others.
	Variables []string
}

// Metrics describes the page of metrics of an engine.
type Metrics struct {
	// Forms are what pages of the engine look like; an engine without a page has none.
	Forms []Form
	// Path is where the engine serves it, "" for DefaultPath.
	Path string
	// Enable names the setting without which the engine has no page.
	Enable string
	// Draining is the path where the engine hands out its latest statistics, nil for most.
	Draining *Draining
	// TransferPrefixes begin the names on further pages, of what moves its KV cache. The collector of KV block managers reads them.
	TransferPrefixes []string
	// Around is set for an engine that passes on the series of another one.
	Around *Around
	// KeptIsFree is set if blocks that are kept for reuse only count as free in the share of the KV cache in use.
	KeptIsFree bool
	// Preempted is the engine's word for requests that lose their place for lack of KV cache, "" if it does not count them;
	// PreemptedLate is set if the count exists from the first one on.
	Preempted     string
	PreemptedLate bool
	// Bytes is whether the page has bytes of KV cache.
	Bytes Bytes
	// Cache are the counters of prompt tokens and of those found in a prefix cache, nil without a page that has them.
	Cache *CacheCounters
	// Drafts are the counters of speculative decoding; empty where no counter has them.
	Drafts DraftCounters
	// ContextGauge and BlockGauge are the series that have, by the label LabelModel, the longest prompt with its answer and
	// the tokens of a block of the KV cache.
	ContextGauge, BlockGauge string
	// Sizes are the series from which Size works out the size of the KV cache; it is nil without any.
	Sizes []string
	Size  func(Page) Size
}

// Bytes is whether a page has bytes of KV cache.
type Bytes int

// The cases.
const (
	BytesNever Bytes = iota
	BytesIfSet       // if the engine was given a size in bytes
	BytesAlways
)

// DefaultPath is the path of the page of most engines.
const DefaultPath = "/metrics"

// PagePath is the path of the engine's page, "" if it has none.
func (e Engine) PagePath() string {
	switch {
	case len(e.Metrics.Forms) == 0:
		return ""
	case e.Metrics.Path != "":
		return e.Metrics.Path
	}
	return DefaultPath
}

// Form is one form of an engine's page.
type Form struct {
	// Prefix begins the names of the engine's own series. With Names, these are all of them instead.
	Prefix string
	Names  []string
	// Mark is a label that a series must have where names alone could be those of any program, else "".
	Mark   string
	Labels Labels
	// Read returns the models of a page, at least one.
	Read func(View) []Model
}

// Owns reports whether a family is the engine's own.
func (f Form) Owns(family string) bool {
	if len(f.Names) > 0 {
		return slices.Contains(f.Names, family)
	}
	return strings.HasPrefix(family, f.Prefix)
}

// Draining describes statistics that an engine hands to one reader only: each entry is served once.
type Draining struct {
	Path string
	// Refusal is the error for an address whose page cannot be read without emptying the statistics.
	Refusal string
	// Latest returns what the newest entry of an answer adds to a model; nil for an answer without an entry.
	Latest func(body []byte) (func(*Model), error)
}

// Around describes what an engine adds to the page of another one that it runs.
type Around struct {
	// Labels are added to all series.
	Labels []string
	// Complete adds to the models what their own series lack.
	Complete func(View, []Model)
}

// CacheCounters name the counters of a page that show a prefix cache at work.
type CacheCounters struct {
	// Prompt counts prompt tokens; Computed is set if it counts only those that were in no cache.
	Prompt   string
	Computed bool
	// Tiers counts the tokens found, by a label that Tier translates to a value of metric.LabelTier; "" if there is none.
	Tiers, TierLabel string
	Tier             func(string) string
	// Found counts the tokens found, where Tiers is not on the page: the first of the names that there is. OnDevice is set
	// if they were found on the device, and External counts those that a connector found besides.
	Found    []string
	OnDevice bool
	External string
	// Loaded counts bytes that came back from a lower tier, in the series with the value LoadedValue of LoadedLabel.
	Loaded, LoadedLabel, LoadedValue string
	// Begun and Ended count requests where Prompt is counted at the beginning of a request and Found at its end.
	Begun, Ended string
}

// Marking is the series that shows that a page has these counters.
func (c CacheCounters) Marking() string {
	if c.Computed {
		return c.Found[0]
	}
	return c.Prompt
}

// Size is what a page says of the size of the KV cache; 0 is unknown. TokenBytes is the size of a token in it, ValueBytes
// that of one of its values.
type Size struct{ Tokens, TokenBytes, ValueBytes float64 }

// DraftCounters name the counters of speculative decoding: tokens drafted and accepted, drafts, and accepted tokens by
// the position in a label.
type DraftCounters struct{ Tokens, Accepted, Drafts, ByPosition, PositionLabel string }

// Engines are known engines, in the order in which people see them.
type Engines []Engine

// Find returns the engine of that name.
func (all Engines) Find(name string) (Engine, bool) {
	i := slices.IndexFunc(all, func(e Engine) bool { return e.Name == name })
	if i < 0 {
		return Engine{}, false
	}
	return all[i], true
}

// TransferPrefixes are the prefixes of the series of all KV block managers and transfer layers, in the order of the engines.
func (all Engines) TransferPrefixes() []string {
	var prefixes []string
	for _, e := range all {
		prefixes = append(prefixes, e.Metrics.TransferPrefixes...)
	}
	return prefixes
}

// PagePrefixes are the prefixes of the series of all engines. Those of an engine that passes on the series of another one
// are the last.
func (all Engines) PagePrefixes() []string {
	var own, around []string
	for _, e := range all {
		for _, form := range e.Metrics.Forms {
			if e.Metrics.Around != nil {
				around = append(around, form.Prefix)
			} else if len(form.Names) == 0 {
				own = append(own, form.Prefix)
			}
		}
	}
	return append(own, around...)
}

// CacheSeries are the series that show a prefix cache at work, and how much the cache holds.
func (all Engines) CacheSeries() []string {
	var names []string
	for _, e := range all {
		if c := e.Metrics.Cache; c != nil {
			names = append(names, c.Prompt, c.Tiers, c.External, c.Loaded, c.Begun, c.Ended)
			names = append(names, c.Found...)
		}
		names = append(names, e.Metrics.Sizes...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// BlockSettings are the names of the settings of all engines that are the tokens of a block of the KV cache.
func (all Engines) BlockSettings() []string {
	var names []string
	for _, e := range all {
		names = append(names, e.Block...)
	}
	return names
}
