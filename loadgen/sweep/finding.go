package sweep

import (
	"fmt"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/summary"
)

// Finding returns what the search has found so far; nil for a sweep over a list.
func (p Sweep) Finding(done []Run) *campaign.Finding {
	if p.Search == nil || len(done) == 0 {
		return nil
	}
	s := *p.Search
	b := s.bracket(done)
	f := &campaign.Finding{
		Search: string(s.Kind), Rule: s.Rule(), Within: optional(b.within), Beyond: optional(b.beyond), Tolerance: s.Tolerance,
		Says: s.says(p.Over, done, b), Contradictions: s.contradictions(done),
	}
	if highest, at, m := highestThroughput(done); highest > 0 {
		f.HighestThroughput, f.HighestAt, f.ThroughputUnit = &highest, &at, m.unit()
	}
	return f
}

func optional(load float64) *float64 {
	if load == 0 {
		return nil
	}
	return &load
}

func highestThroughput(done []Run) (highest, at float64, m throughputMeasure) {
	m = measureOf(done)
	for _, t := range done {
		if v, known := t.throughput(m); known && t.usable() && v > highest {
			highest, at = v, t.Value.Load
		}
	}
	return highest, at, m
}

// says returns the finding as a sentence.
func (s Search) says(over Over, done []Run, b bracket) string {
	below, above := valueOf(b.within).Text, valueOf(b.beyond).Text
	var text string
	switch {
	case b.within == 0 && b.beyond == 0:
		text = "No run shows anything of the limit."
	case b.within == 0:
		text = fmt.Sprintf("The lowest %s that was measured, %s, %s already.", over.Name, above, s.words(beyond))
	case b.beyond == 0:
		text = fmt.Sprintf("%s %s %s; the limit lies above.", over.heading(), below, s.words(within))
	default:
		text = fmt.Sprintf("The limit lies between %s %s, which %s, and %s, which %s.", over.Name, below, s.words(within), above, s.words(beyond))
	}
	return text + s.unfinished(done)
}

func (o Over) heading() string {
	if o.Name == OverRate {
		return "Rate"
	}
	return "Concurrency"
}

// words describes a load on a side of the limit.
func (s Search) words(at loadSide) string {
	switch {
	case s.Kind == ForSLO && at == within:
		return "keeps the SLO"
	case s.Kind == ForSLO:
		return "misses the SLO"
	case s.split == nil && at == within:
		return "does not saturate the server"
	case s.split == nil:
		return "saturates the server"
	case at == within:
		return "is kept up with"
	default:
		return "is not kept up with"
	}
}

// unfinished returns why a search ended early; empty if it did not.
func (s Search) unfinished(done []Run) string {
	last := done[len(done)-1]
	switch {
	case !last.usable():
		return fmt.Sprintf(" The search ended here: the run at %s is %s%s.", last.Value.Text, last.Status, last.codes())
	case !s.decides(last):
		return fmt.Sprintf(" The search ended here: the run at %s does not show on which side of the limit it is; measure more requests.", last.Value.Text)
	}
	if len(done) >= mostTrials {
		return fmt.Sprintf(" The search was given up after %d runs.", len(done))
	}
	if _, more := s.next(done); more {
		return " The search was not finished."
	}
	return ""
}

// codes returns the reasons for which a run is invalid, in brackets.
func (t Run) codes() string {
	if t.Summary == nil || len(t.Summary.InvalidReasons) == 0 {
		return ""
	}
	return " (" + joinCodes(t.Summary.InvalidReasons, ", ") + ")"
}

func joinCodes(reasons []summary.Reason, separator string) string {
	text := ""
	for i, r := range reasons {
		if i > 0 {
			text += separator
		}
		text += string(r.Code)
	}
	return text
}
