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
	said, first, later := map[place]answered{}, []float64(nil), []float64(nil)
	for _, a := range o.passes[v.First] {
		said[place{a.conversation, a.turn}] = a
		r.SentTokens += float64(a.tokensIn)
	}
	for at, a := range said {
		before, follows := said[place{at.conversation, at.turn - 1}]
		switch {
		case at.turn == 1 && a.first > 0:
			first = append(first, a.first)
		case follows:
			r.Requests++
			r.PromptTokens += float64(before.tokensIn)
			if a.first > 0 {
				later = append(later, a.first)
			}
			if a.cached == nil {
				r.Cached.Known = false
			} else {
				r.Cached.Value += min(float64(*a.cached), float64(before.tokensIn))
			}
		}
	}
	r.Cached.Known = r.Cached.Known && r.Requests > 0
	r.Engine = o.hits([]string{v.First}, r.SentTokens)
	// Later prompts are longer: a later first token proves nothing, an earlier one does.
	if one, two := medianOrZero(first), medianOrZero(later); two <= evidence.FasterShare*one {
		r.FirstSeconds, r.AgainSeconds = one, two
	}
	return r
}

// medianOrZero returns the median; 0 for no values.
func medianOrZero(times []float64) float64 {
	if len(times) == 0 {
		return 0
	}
	return stats.Median(times)
}
