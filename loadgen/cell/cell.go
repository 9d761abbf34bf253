// Package cell computes the figures that owners of a DGX Spark compare by: prompt processing (pp) and token generation
// (tg) at a depth and a concurrency.
//
// It has them twice: as llama-benchy 0.4.0 computes them, so that they can be put beside what others publish, and
// measured, by the tokens that the server computed and by the time in which all requests decode. Where the two part, it
// has the reason. Both are pure functions of the records of a run.
package cell

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/summary"
)

// Position is a place in the grid of cells.
type Position struct {
	// Depth is how many tokens of context come before the prompt, Prompt and Response are the tokens asked for.
	Depth, Concurrency, Prompt, Response int
}

// Compare orders positions by depth, then by concurrency.
func (p Position) Compare(o Position) int {
	return cmp.Or(cmp.Compare(p.Depth, o.Depth), cmp.Compare(p.Concurrency, o.Concurrency), cmp.Compare(p.Prompt, o.Prompt), cmp.Compare(p.Response, o.Response))
}

// Row is one phase of a cell: batches of requests that were sent at one moment, each after the end of the one before.
type Row struct {
	Position
	// Run is the folder of the run that it was read from, Model the model that answered, Arm the variant.
	Run, Model, Arm string
	// Simulated is true if the engine reports itself as simulated.
	Simulated      bool
	Started, Ended time.Time
	// Context is true for the requests that send the depth itself ahead; Cached for those of the prompt after it, which
	// a prefix cache should answer but for the prompt.
	Context, Cached bool
	// CacheBlock is the tokens of a block of the engine's KV cache; 0 if it does not report them.
	CacheBlock int
	// LatencySeconds is the probed latency of the network, which llama-benchy takes off; LatencyMode is how it was
	// probed.
	LatencySeconds float64
	LatencyMode    string
	// Batches are the requests in the order in which they were sent; empty for figures of another tool.
	Batches [][]openai.Record
	// Reported are the figures of a tool that recorded no requests, and Tool is its name and version; empty if their file
	// was written by this package.
	Reported          *LlamaBenchy
	ReportedLatencyMS *float64
	Tool              string
	// PrefixCaching is true if the run was set to send depths ahead, also for a row without a depth.
	PrefixCaching bool
	// Used is what the machine used in the batches, from the first request sent to the end of the last answer; nil if it
	// was not measured.
	Used *summary.Used
	// repetition is the number of the row among those of its cell, from 1; 0 for the only one.
	repetition int
	// Found are flags of the run that its requests do not show.
	Found []Flag
}

// caching reports whether the depth was, or would be, sent ahead.
func (r Row) caching() bool { return r.PrefixCaching || r.Context || r.Cached }

// before orders rows by their position, the context of a cell before its prompt.
func (r Row) before(o Row) int {
	c := r.Position.Compare(o.Position)
	switch {
	case c != 0 || r.Context == o.Context:
		return c
	case r.Context:
		return -1
	}
	return 1
}

// prompt returns the prompt tokens that the cell asks of a request, as llama-benchy counts them: of a depth that was
// sent ahead only the prompt after it.
func (r Row) prompt() int {
	switch {
	case r.Context:
		return r.Depth
	case r.Cached:
		return r.Prompt
	}
	return r.Depth + r.Prompt
}

// names returns the names of the two halves of the row, as llama-benchy has them.
func (r Row) names(withConcurrency bool) (prefill, decode string) {
	suffix := ""
	if r.Depth > 0 {
		suffix = fmt.Sprintf(" @ d%d", r.Depth)
	}
	if withConcurrency {
		suffix += fmt.Sprintf(" (c%d)", r.Concurrency)
	}
	if r.repetition > 0 {
		suffix += fmt.Sprintf(" #%d", r.repetition)
	}
	if r.Context {
		return "ctx_pp" + suffix, "ctx_tg" + suffix
	}
	return fmt.Sprintf("pp%d%s", r.Prompt, suffix), fmt.Sprintf("tg%d%s", r.Response, suffix)
}

// requests returns the requests that ended ok, of all batches.
func (r Row) requests() []openai.Record {
	var all []openai.Record
	for _, batch := range r.Batches {
		all = append(all, answered(batch)...)
	}
	return all
}

// answered returns the requests of a batch that ended ok and brought a token.
func answered(batch []openai.Record) []openai.Record {
	var all []openai.Record
	for _, r := range batch {
		if r.Status == openai.StatusOK && r.DispatchNS != nil && r.FirstTokenNS != nil && len(r.ArrivalsNS) > 0 {
			all = append(all, r)
		}
	}
	return all
}

// arrivals returns the moments of the arrivals of an answer, in nanoseconds since the run's start.
func arrivals(r openai.Record) []int64 {
	moments := make([]int64, len(r.ArrivalsNS))
	var at int64
	for i, gap := range r.ArrivalsNS {
		at += gap
		moments[i] = at
	}
	return moments
}

// tokensByArrival reports whether the server counted the tokens of each arrival.
func tokensByArrival(r openai.Record) bool {
	return len(r.ArrivalTokens) > 0 && len(r.ArrivalTokens) == len(r.ArrivalsNS)
}

// idsByArrival reports whether the server listed the ids of the tokens of each arrival. Records of older versions have
// no source; they are taken to have them.
func idsByArrival(r openai.Record) bool {
	return tokensByArrival(r) && (r.ArrivalTokensSource == "" || r.ArrivalTokensSource == openai.TokensFromIDs)
}

// silent returns how many tokens before an arrival came in events without text.
func silent(r openai.Record, arrival int) int {
	if len(r.SilentTokens) != len(r.ArrivalsNS) {
		return 0
	}
	return r.SilentTokens[arrival]
}

// seconds converts a duration in nanoseconds.
func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// nanoseconds converts a duration in seconds.
func nanoseconds(s float64) int64 { return int64(math.Round(s * 1e9)) }
