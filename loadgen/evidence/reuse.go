package evidence

import "slices"

// Reused has the observations of prompts that were sent again.
type Reused struct {
	// Requests is the number of requests sent again, with PromptTokens tokens that were sent before; 0 tokens are unknown.
	Requests     int
	PromptTokens float64
	// Cached are the prompt tokens that the answers report as cached, Found those that KVBM found below the device.
	Cached, Found Count
	// Engine has the engine's counts of the same phases, in which SentTokens were sent in all: at least PromptTokens.
	Engine     Hits
	SentTokens float64
}

// reusedShare is the least share of the prompts' tokens that must come from a cache.
const reusedShare = 0.5

// Reuse grades whether prompts that were sent before were answered from a cache, by counts of tokens alone. Whether it
// was worth it is a figure of its own, Worth: tokens from an SSD may take longer than computing them.
func Reuse(r Reused) Signal {
	if r.Requests == 0 {
		return Unseen(CountersAbsent)
	}
	if (r.Found.Reset || r.Engine.Found.Reset) && !r.Cached.Known && !r.Engine.known() {
		return Unseen(CountersReset)
	}
	all := r.reported()
	if len(all) == 0 {
		return Unseen(CountersAbsent)
	}
	least := reusedShare * r.PromptTokens
	computed := r.Engine.few(r.sent(), least) && !r.Engine.Many(r.sent(), least)
	switch {
	case anyAgrees(all) && !computed:
		return NewSignal(Proven, "", all...)
	case anyAgrees(all):
		return NewSignal(Consistent, "", all...) // the engine counts fewer tokens than the answers
	case r.Cached.Known, computed:
		return NewSignal(Contradicted, NoMatchedTokens, all...)
	case r.Found.Value > 0, r.Engine.known():
		return NewSignal(NotObservable, CountersAbsent, all...)
	}
	// KVBM does not see tokens found on the device, so that a small count of its own, or none, contradicts nothing.
	return NewSignal(NotObservable, NoMatchedTokens, all...)
}

// sent returns the number of tokens that the engine had to count.
func (r Reused) sent() float64 { return max(r.SentTokens, r.PromptTokens) }

// reported returns the figures of the answers, of the engine's counters and of KVBM's; none where the number of tokens that
// were sent again is unknown.
func (r Reused) reported() []Figure {
	if r.PromptTokens <= 0 {
		return nil
	}
	var all []Figure
	if r.Cached.Known {
		all = append(all, NewFigure("cached_tokens", r.Cached.Value, "tokens", Range{reusedShare * r.PromptTokens, r.PromptTokens}))
	}
	if r.Engine.known() && r.Engine.Looked.Known {
		all = append(all, r.Engine.NewFigure(r.sent(), reusedShare*r.PromptTokens))
	}
	if r.Found.Known && !r.Found.Reset {
		// A count above the number of tokens still agrees: KVBM also counts for requests that failed.
		all = append(all, NewFigure("kvbm_matched_tokens", r.Found.Value, "tokens", atLeast(reusedShare*r.PromptTokens)))
	}
	return all
}

// FromCache reports whether the answers or the engine's counters report the prompts as cached, in any tier.
func (r Reused) FromCache() bool {
	least := reusedShare * r.PromptTokens
	return least > 0 && (r.Cached.Known && r.Cached.Value >= least || r.Engine.Many(r.sent(), least))
}

func anyAgrees(figures []Figure) bool {
	return slices.ContainsFunc(figures, func(f Figure) bool { return f.Agrees })
}
