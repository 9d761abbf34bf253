package summary

import (
	"unicode/utf8"

	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/stats"
)

const (
	// alpha is the probability under the engine's own drift below which an excess of diverging outputs contradicts a
	// match; doubt is the probability below which a match is not consistent.
	alpha, doubt = 0.01, 0.05
	// mostExcess is the share of prompts that diverge in the replay beyond the drift, from which on a match is not
	// consistent: it must be ruled out with a confidence of 1 - doubt.
	mostExcess = 0.5
	// earlyTokens: rounding errors need some tokens until two likely tokens are close; a wrong cache does not.
	earlyTokens = 8
)

// OutputPair has the answers to one prompt in two passes. Tokens is the length of the first answer; without it (0) a token
// counts as four characters.
type OutputPair struct {
	First, Second string
	Tokens        int
}

// charactersPerToken is that of English text, in common vocabularies.
const charactersPerToken = 4

// diverges returns the token at which the answers differ first, counted from 0. It is estimated from the characters
// before it: streams report the number of tokens, not where each begins.
func (p OutputPair) diverges() (token int, differs bool) {
	if p.First == p.Second {
		return 0, false
	}
	common := 0
	for common < min(len(p.First), len(p.Second)) && p.First[common] == p.Second[common] {
		common++
	}
	for common > 0 && common < len(p.First) && !utf8.RuneStart(p.First[common]) {
		common--
	}
	if p.Tokens == 0 || p.First == "" {
		return common / charactersPerToken, true
	}
	return int(float64(common) / float64(len(p.First)) * float64(p.Tokens)), true
}

// OutputDrift counts how often pairs of answers differ.
type OutputDrift struct {
	Pairs, Diverging int
	// Early counts the pairs that diverge before token 8.
	Early int
	// Earliest is the first token at which any pair diverges; -1 if none does.
	Earliest int
}

// CompareOutputs counts the diverging pairs.
func CompareOutputs(pairs []OutputPair) OutputDrift {
	d := OutputDrift{Pairs: len(pairs), Earliest: -1}
	for _, p := range pairs {
		token, differs := p.diverges()
		if !differs {
			continue
		}
		d.Diverging++
		if token < earlyTokens {
			d.Early++
		}
		if d.Earliest < 0 || token < d.Earliest {
			d.Earliest = token
		}
	}
	return d
}

// MatchOutputs grades whether answers from a cache are those that were computed: baseline is the same prompts sent twice without a
// cache, replayed are those with a cache against those without. Engines differ from themselves now and then (rounding), so
// only more than that counts:
//
//   - contradicted: more prompts diverge than in the baseline by Fisher's exact test, one-sided, p < 0.01, or one diverges before
//     token 8 where none of the baseline does;
//   - not observable: p < 0.05, or that half of the prompts diverge beyond the baseline is not ruled out with 95 % confidence
//     (Newcombe's score interval of the difference of two shares): too few prompts were compared;
//   - proven: none diverges, consistent: some do.
//
// computed reports that the first answers were computed. Where that is not known, they may have come from the cache too, and
// equal answers prove nothing.
func MatchOutputs(baseline, replayed OutputDrift, computed bool) evidence.Signal {
	if baseline.Pairs == 0 || replayed.Pairs == 0 {
		return evidence.Unseen(evidence.NoBaseline)
	}
	p, excess := excessOf(baseline, replayed)
	early := replayed.Early > 0 && baseline.Early == 0
	figures := []evidence.Figure{
		evidence.NewFigure("baseline_diverging", float64(baseline.Diverging), "prompts", evidence.Range{0, float64(baseline.Pairs)}),
		evidence.NewFigure("replay_diverging", float64(replayed.Diverging), "prompts", evidence.Range{0, mostDiverging(baseline, replayed.Pairs)}),
		evidence.NewFigure("excess_by_chance", p, "probability", evidence.Range{doubt, 1}),
		evidence.NewFigure("excess_at_most", excess, "share", evidence.Range{0, mostExcess}),
		earlyFigure(baseline, replayed),
	}
	switch {
	case early || p < alpha:
		return evidence.NewSignal(evidence.Contradicted, evidence.OutputsDiffer, figures...)
	case replayed.Diverging > 0 && stats.FisherExact(replayed.Pairs, replayed.Pairs, baseline.Diverging, baseline.Pairs) >= alpha:
		return evidence.NewSignal(evidence.NotObservable, evidence.DriftTooLarge, figures...)
	case p < doubt, excess > mostExcess:
		return evidence.NewSignal(evidence.NotObservable, evidence.TooFewPrompts, figures...)
	case replayed.Diverging > 0:
		return evidence.NewSignal(evidence.Consistent, "", figures...)
	case !computed:
		return evidence.NewSignal(evidence.Consistent, evidence.CountersAbsent, figures...)
	}
	return evidence.NewSignal(evidence.Proven, "", figures...)
}

// excessOf compares the shares of diverging prompts: p is the probability that at least so many diverge in the replay
// by drift alone; most is the upper end of the interval of the difference of the shares. Impossible counts give 1.
func excessOf(baseline, replayed OutputDrift) (p, most float64) {
	p = stats.FisherExact(replayed.Diverging, replayed.Pairs, baseline.Diverging, baseline.Pairs)
	_, most, err := stats.ShareDifference(replayed.Diverging, replayed.Pairs, baseline.Diverging, baseline.Pairs, 1-2*doubt)
	if err != nil {
		return p, 1
	}
	return p, max(most, 0)
}

// earlyFigure counts the divergences before token 8; any number agrees where the baseline has some.
func earlyFigure(baseline, replayed OutputDrift) evidence.Figure {
	most := 0.0
	if baseline.Early > 0 {
		most = float64(replayed.Pairs)
	}
	return evidence.NewFigure("replay_diverging_before_token_8", float64(replayed.Early), "prompts", evidence.Range{0, most})
}

// mostDiverging returns the largest number of prompts that may diverge under the baseline's drift.
func mostDiverging(baseline OutputDrift, pairs int) float64 {
	for k := pairs; k > 0; k-- {
		if stats.FisherExact(k, pairs, baseline.Diverging, baseline.Pairs) >= alpha {
			return float64(k)
		}
	}
	return 0
}
