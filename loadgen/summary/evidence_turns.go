package summary

import (
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/stats"
)

// turns returns the observations of conversations: a turn sends the prompt and the answer of the turn before it again.
func (o observed) turns(v *evidence.Verification, m evidence.Moved) evidence.Reused {
	r := evidence.Reused{Found: m.MatchedTokens, Cached: evidence.Count{Known: true}}
	type place struct {
		conversation string
		turn         int
	}
	said := map[place]answered{}
	for _, a := range o.passes[v.First] {
		said[place{a.conversation, a.turn}] = a
		r.SentTokens += float64(a.tokensIn)
	}
	for at, a := range said {
		before, follows := said[place{at.conversation, at.turn - 1}]
		if !follows {
			continue
		}
		r.Requests++
		r.PromptTokens += float64(before.tokensIn)
		if a.cached == nil {
			r.Cached.Known = false
		} else {
			r.Cached.Value += min(float64(*a.cached), float64(before.tokensIn))
		}
	}
	r.Cached.Known = r.Cached.Known && r.Requests > 0
	r.Engine = o.hits([]string{v.First}, r.SentTokens)
	return r
}

// medianOrZero returns the median; 0 for no values.
func medianOrZero(times []float64) float64 {
	if len(times) == 0 {
		return 0
	}
	return stats.Median(times)
}
