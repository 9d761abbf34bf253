package summary

import (
	"maps"
	"slices"
	"strconv"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// Speculation has the counts of speculative decoding in the measured phases.
type Speculation struct {
	// Answers counts the requests that ended ok whose answers report it; Engine is the engine's own count, which includes
	// the requests of other clients.
	Answers *DraftCounts `json:"answers,omitempty"`
	Engine  *DraftCounts `json:"engine,omitempty"`
}

// AcceptanceRatio is that of the run's own requests, where the answers report it.
func (s *Speculation) AcceptanceRatio() *float64 {
	switch {
	case s == nil:
		return nil
	case s.Answers != nil:
		return &s.Answers.AcceptanceRatio
	}
	return &s.Engine.AcceptanceRatio
}

// DraftCounts has the tokens that were drafted, and those of them that the model accepted.
type DraftCounts struct {
	DraftTokens     int64   `json:"draft_tokens"`
	AcceptedTokens  int64   `json:"accepted_tokens"`
	AcceptanceRatio float64 `json:"acceptance_ratio"`
	// Drafts are the drafts that the model verified; absent where they are not counted.
	Drafts *int64 `json:"drafts,omitempty"`
	// MeanAcceptedLength is 1 + accepted tokens / drafts, since each verified draft gives a token of the model too.
	MeanAcceptedLength *float64 `json:"mean_accepted_length,omitempty"`
	// AcceptedByPosition has the accepted tokens by their position in the draft, from 0 on.
	AcceptedByPosition []int64 `json:"accepted_by_position,omitempty"`
	// AcceptanceByRequest is the distribution of the acceptance ratio of requests.
	AcceptanceByRequest *Distribution `json:"acceptance_by_request,omitempty"`
}

// newDraftCounts returns nil if nothing was drafted: llama.cpp counts without speculative decoding, too.
func newDraftCounts(drafted, accepted int64, drafts *int64) *DraftCounts {
	if drafted <= 0 {
		return nil
	}
	c := &DraftCounts{DraftTokens: drafted, AcceptedTokens: accepted, AcceptanceRatio: float64(accepted) / float64(drafted)}
	if drafts != nil && *drafts > 0 {
		c.Drafts, c.MeanAcceptedLength = drafts, new(1+float64(accepted)/float64(*drafts))
	}
	return c
}

// draftTokens sums what the answers of a phase report.
type draftTokens struct {
	drafted, accepted, drafts int64
	// uncounted is the number of answers that report tokens without the number of drafts.
	uncounted int
	// ratios are the acceptance ratios of the answers, in millionths.
	ratios []int64
}

const ratioUnits = 1e6

// add adds an answer that ended ok. One without a drafted token has no ratio.
func (d *draftTokens) add(r openai.Record) {
	if r.TokensDrafted == nil || r.TokensAccepted == nil || *r.TokensDrafted == 0 {
		return
	}
	d.drafted += int64(*r.TokensDrafted)
	d.accepted += int64(*r.TokensAccepted)
	d.ratios = append(d.ratios, int64(ratioUnits*float64(*r.TokensAccepted)/float64(*r.TokensDrafted)))
	if r.Drafts == nil {
		d.uncounted++
		return
	}
	d.drafts += int64(*r.Drafts)
}

func (d *draftTokens) merge(o draftTokens) {
	d.drafted += o.drafted
	d.accepted += o.accepted
	d.drafts += o.drafts
	d.uncounted += o.uncounted
	d.ratios = append(d.ratios, o.ratios...)
}

func (d *draftTokens) counts() *DraftCounts {
	drafts := &d.drafts
	if d.uncounted > 0 {
		drafts = nil
	}
	c := newDraftCounts(d.drafted, d.accepted, drafts)
	if c != nil {
		c.AcceptanceByRequest = newDistribution(d.ratios, ratioUnits)
	}
	return c
}

// speculation returns nil where nothing was drafted, or nothing counts it.
func (in inputs) speculation(total *aggregate) *Speculation {
	w := counters{log: in.Telemetry, simulated: in.Model.Simulated}
	s := Speculation{Answers: total.drafts.counts()}
	if !in.several() {
		s.Engine = w.drafts(phaseNames(in.measured()))
	}
	if s.Answers == nil && s.Engine == nil {
		return nil
	}
	return &s
}

// drafts returns the engine's counts in the phases: the sum over all pages of engines that exporters read, or else over
// the pages that were scraped. It is nil where a counter was reset, or a page has no samples at the phases' borders.
func (w counters) drafts(phases []string) *DraftCounts {
	var exported, scraped []drafted
	read := map[string]bool{}
	for _, source := range w.sources() {
		windows, whole := w.windows(source, phases)
		if len(windows) == 0 {
			continue
		}
		if source.Foreign {
			scraped = append(scraped, foreignDrafts(lookup{source, windows, ""}, w.log.Engines, whole)...)
			continue
		}
		for _, page := range enginePages(source, metric.EngineSpecDraftTokensTotal) {
			if key := pageKey(source, page); !read[key] {
				read[key] = true
				exported = append(exported, exportedDrafts(lookup{source, windows, page}, whole))
			}
		}
	}
	if len(exported) > 0 {
		return sumDrafts(exported)
	}
	return sumDrafts(scraped)
}

// drafted are the counts of one page of an engine.
type drafted struct {
	tokens, accepted, drafts evidence.Count
	byPosition               map[int]float64
}

func exportedDrafts(l lookup, whole bool) drafted {
	return l.drafts(whole, metric.EngineSpecDraftTokensTotal.Def().Name, metric.EngineSpecAcceptedTokensTotal.Def().Name,
		metric.EngineSpecDraftsTotal.Def().Name, metric.EngineSpecAcceptedTokensTotal.Def().Name, string(metric.LabelPosition))
}

// foreignDrafts reads an engine's own page; none for a page without counts of drafted tokens.
func foreignDrafts(l lookup, engines spec.Engines, whole bool) []drafted {
	var found []drafted
	for _, e := range engines {
		if d := e.Metrics.Drafts; d.Tokens != "" && l.source.Has(d.Tokens) {
			found = append(found, l.drafts(whole, d.Tokens, d.Accepted, d.Drafts, d.ByPosition, d.PositionLabel))
		}
	}
	return found
}

// drafts reads the counters of these names. A counter of accepted tokens may appear with its first one only.
func (l lookup) drafts(whole bool, tokens, accepted, drafts, byPosition, label string) drafted {
	if !whole {
		return drafted{tokens: evidence.Count{Reset: true}}
	}
	named := func(name string) func(*telemetry.Series) bool {
		return func(s *telemetry.Series) bool { return s.Name == name }
	}
	d := drafted{tokens: l.counted(named(tokens)), accepted: l.counted(named(accepted)), drafts: l.counted(named(drafts)), byPosition: map[int]float64{}}
	for _, s := range l.source.Series {
		at, err := strconv.Atoi(s.Labels[label])
		if s.Name != byPosition || err != nil || at < 0 || at > maxPosition {
			continue
		}
		if count := l.counted(func(o *telemetry.Series) bool { return named(byPosition)(o) && o.Labels[label] == s.Labels[label] }); count.Known {
			d.byPosition[at] = count.Value
		}
	}
	return d
}

// maxPosition is far above the length of any draft.
const maxPosition = 63

// sumDrafts adds up pages. The drafts are unknown where a page that drafted does not count them.
func sumDrafts(pages []drafted) *DraftCounts {
	var all drafted
	all.byPosition = map[int]float64{}
	known := true
	for _, p := range pages {
		if p.tokens.Reset || p.accepted.Reset || p.drafts.Reset {
			return nil
		}
		known = known && (p.drafts.Known || p.tokens.Value == 0)
		all.tokens, all.accepted, all.drafts = either(all.tokens, p.tokens), either(all.accepted, p.accepted), either(all.drafts, p.drafts)
		for at, tokens := range p.byPosition {
			all.byPosition[at] += tokens
		}
	}
	var drafts *int64
	if known {
		drafts = new(int64(all.drafts.Value))
	}
	c := newDraftCounts(int64(all.tokens.Value), int64(all.accepted.Value), drafts)
	if c != nil && len(all.byPosition) > 0 {
		c.AcceptedByPosition = make([]int64, slices.Max(slices.Collect(maps.Keys(all.byPosition)))+1)
		for at, tokens := range all.byPosition {
			c.AcceptedByPosition[at] = int64(tokens)
		}
	}
	return c
}
