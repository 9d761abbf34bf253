package summary

import (
	"fmt"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

// PrefixCache has the prompt tokens of measured requests that ended ok, and how many of them were answered from a
// cache. By the engine's counters it covers all requests: these counters are known to the token only before and after
// the whole load.
type PrefixCache struct {
	PromptTokens int64 `json:"prompt_tokens"`
	HitTokens    int64 `json:"hit_tokens"`
	// UnplannedHitTokens are the hits beyond what the schedule repeats, and beyond what prompts of different runs share at
	// their beginning (chat template and opening), summed per request; absent where the template's tokens are unknown.
	UnplannedHitTokens *int64 `json:"unplanned_hit_tokens,omitempty"`
	// Source is where the hits were counted: the answers, or the engine's counters where answers do not report any.
	Source string `json:"source" pack:"word"`
}

// Sources of hits.
const (
	hitsOfAnswers = "answers"
	hitsOfEngine  = "engine"
)

// UnplannedRatio returns the share of prompt tokens that a cache answered beyond the schedule; nil where it is unknown.
func (c *PrefixCache) UnplannedRatio() *float64 {
	if c == nil || c.UnplannedHitTokens == nil || c.PromptTokens == 0 {
		return nil
	}
	ratio := float64(*c.UnplannedHitTokens) / float64(c.PromptTokens)
	return &ratio
}

func (c *PrefixCache) String() string {
	return fmt.Sprintf("%d of %d prompt tokens (%s) came from a prefix cache beyond what the schedule repeats", *c.UnplannedHitTokens, c.PromptTokens, format.Ratio(*c.UnplannedRatio()))
}

// prefixTokens sums the prompt tokens of a phase.
type prefixTokens struct {
	prompt, hits int64
	// expected counts the prompt tokens that may be found in a cache; unplanned counts the hits beyond that, request by
	// request.
	expected, unplanned int64
	counted             int // answers that report cached tokens
	// history is the number of tokens of each conversation so far: the next turn sends them again.
	history map[string]int
}

// add adds the record of a request that ended ok. Common is the number of leading tokens that prompts of different runs
// share.
func (p *prefixTokens) add(r openai.Record, common int) {
	if r.TokensIn == nil {
		return
	}
	expected := min(*r.TokensIn, p.expects(r, common))
	p.prompt += int64(*r.TokensIn)
	p.expected += int64(expected)
	if r.TokensCached != nil {
		p.counted++
		p.hits += int64(*r.TokensCached)
		p.unplanned += int64(max(0, *r.TokensCached-expected))
	}
	if r.Turn > 0 {
		p.keep(r)
	}
}

// expects returns how many of a request's prompt tokens may be found in a cache that had none of its run before. What
// the schedule repeats is computed as a share of the prompt: the planned lengths may be estimates that differ from the
// server's count.
func (p *prefixTokens) expects(r openai.Record, common int) int {
	if r.Turn > 1 {
		if history, known := p.history[conversation(r)]; known {
			return max(common, history)
		}
		return *r.TokensIn
	}
	if r.InputTokensTarget == 0 {
		return common
	}
	return common + int(float64(*r.TokensIn)*float64(r.RepeatedTokensTarget)/float64(r.InputTokensTarget))
}

// keep records the length of a conversation including the answer.
func (p *prefixTokens) keep(r openai.Record) {
	if p.history == nil {
		p.history = map[string]int{}
	}
	if r.TokensOut == nil {
		delete(p.history, conversation(r))
		return
	}
	p.history[conversation(r)] = *r.TokensIn + *r.TokensOut
}

// conversation returns the name of the conversation that a request belongs to.
func conversation(r openai.Record) string { return r.Session + "/" + r.Conversation }

func (p *prefixTokens) merge(o prefixTokens) {
	p.prompt += o.prompt
	p.hits += o.hits
	p.expected += o.expected
	p.unplanned += o.unplanned
	p.counted += o.counted
}

// prefix sums all phases, measured or not.
func (p phaseAggregates) prefix() prefixTokens {
	var all prefixTokens
	for _, a := range p.of {
		all.merge(a.prefix)
	}
	return all
}

// commonTokens returns the number of leading tokens that prompts of different runs share; 0 where it is unknown.
func (in inputs) commonTokens() int {
	if in.PrefixReuse == nil || in.PrefixReuse.CommonTokens == nil {
		return 0
	}
	return *in.PrefixReuse.CommonTokens
}

// prefixCache returns the hits of a prefix cache; nil where they were not counted. The engine's counters cover all its
// clients, so they are used only if it served no other.
func (in inputs) prefixCache(phases phaseAggregates, total *aggregate) *PrefixCache {
	p := total.prefix
	if in.PrefixReuse == nil || p.prompt == 0 {
		return nil
	}
	c := &PrefixCache{PromptTokens: p.prompt, HitTokens: p.hits, Source: hitsOfAnswers}
	unplanned := p.unplanned
	if p.counted == 0 {
		whole := phases.prefix()
		hits, alone := in.engineHits(whole.prompt)
		if !alone {
			return nil
		}
		c = &PrefixCache{PromptTokens: whole.prompt, HitTokens: hits, Source: hitsOfEngine}
		unplanned = max(0, hits-whole.expected)
	}
	if in.PrefixReuse.CommonTokens != nil {
		c.UnplannedHitTokens = &unplanned
	}
	return c
}

// Limits of the difference between an engine's count of prompt tokens and that of the run; within them the engine
// served the run alone.
const (
	leastCounted = 0.95
	mostCounted  = 1.01
)

// engineHits returns the hits that the engine counted, if it counted the requests of the run and no others. All tokens
// that it counted beyond those of the run may have been hits, so they are subtracted.
func (in inputs) engineHits(sent int64) (hits int64, alone bool) {
	e := in.PrefixReuse.Engine
	if e == nil || e.Tokens < leastCounted*float64(sent) || e.Tokens > mostCounted*float64(sent) {
		return 0, false
	}
	return int64(max(0, e.HitTokens-max(0, e.Tokens-float64(sent)))), true
}

// judgePrefixReuse finds prompts that the server had seen before the run. Where a flag or a prompt file repeats
// prompts, that is a caveat.
func judgePrefixReuse(e grounds, limit float64) verdict {
	c, ratio := e.cache, e.cache.UnplannedRatio()
	switch {
	case ratio == nil || e.in.PrefixReuse.Repeats != "":
		return verdict{}
	case *ratio > limit:
		return verdict{true, c.String() + ": the server had seen these prompts before the run, or takes different prompts for one"}
	}
	return verdict{known: true}
}

// judgeDepthEvicted finds cells whose depth was computed again: their prompt processing is that of another cell. Where
// answers do not report cached tokens, this is unknown.
func judgeDepthEvicted(e grounds, limit float64) verdict {
	p, held := e.total.prefix, rundir.CacheHolds(e.in.DepthTokens, e.in.CacheBlock)
	switch {
	case e.in.DepthTokens == 0 || held == 0:
		return verdict{known: true}
	case p.counted == 0:
		return verdict{}
	}
	wanted := int64(p.counted) * int64(held)
	if missed := 1 - float64(p.hits)/float64(wanted); missed > limit {
		return verdict{true, fmt.Sprintf("%s of the depth was not in the prefix cache: %d of %d tokens of %d prompts; the cache is off, evicted it, or is smaller than the batch", format.Ratio(missed), max(0, wanted-p.hits), wanted, p.counted)}
	}
	return verdict{known: true}
}

// repeatedPrompts returns the caveat of a run whose prompts the server may have seen before, and whether it had.
func (in inputs) repeatedPrompts(c *PrefixCache) (caveat string, seen bool) {
	ratio, rule := c.UnplannedRatio(), in.limit(CodePrefixReuse)
	if ratio == nil || in.PrefixReuse.Repeats == "" || rule == nil || *ratio <= *rule {
		return "", false
	}
	return fmt.Sprintf("%s (%s): the server had seen these prompts before the run, and latencies are those of a warm cache", c, in.PrefixReuse.Repeats), true
}
