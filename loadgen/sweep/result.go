package sweep

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/campaign"
)

// Good reports whether the whole sweep may be used as it is.
func (p Sweep) Good(o campaign.Outcome, done []Run) bool {
	return o.State == campaign.Complete && p.Judge(done) != Unsound
}

// Axis returns the swept parameter with its unit.
func (o Over) Axis() string {
	switch o.Name {
	case OverConcurrency:
		return "requests in flight"
	case OverRate:
		return "requests due per second"
	default:
		return strings.TrimPrefix(o.Name, overSetPrefix)
	}
}

// Verdict returns the outcome of the sweep, in a sentence.
func (p Sweep) Verdict(o campaign.Outcome, done []Run) string {
	if o.State != campaign.Complete && o.State != campaign.Ended {
		return fmt.Sprintf("This sweep is %s: %s", o.State, o.Reason)
	}
	switch judged := p.Judge(done); {
	case judged == Unmet:
		return "No run keeps the SLO."
	case judged == Unsound && p.Search != nil:
		return "INVALID: the search ended with a run that shows nothing of the limit."
	case judged == Unsound:
		return "A run of this sweep is INVALID."
	case p.Search != nil:
		return "The runs that the search goes by may be used."
	default:
		return "Every run is valid."
	}
}

// Notes returns the findings, in sentences.
func (p Sweep) Notes(done []Run) []string {
	var notes []string
	if f := p.Finding(done); f != nil {
		notes = append(notes, f.Says, "Rule: "+f.Rule+".")
		if f.HighestThroughput != nil {
			notes = append(notes, fmt.Sprintf("The highest throughput of all usable runs is %.4g %s, at %s.", *f.HighestThroughput, f.ThroughputUnit, valueOf(*f.HighestAt).Text))
		}
		for _, c := range f.Contradictions {
			notes = append(notes, "Not what a sharp limit shows: "+c+".")
		}
	} else if best := highestWithin(done); best != "" {
		notes = append(notes, best)
	}
	if few := tooFew(done); few != "" {
		notes = append(notes, few)
	}
	if stopped := p.Stopped(done); stopped != "" {
		notes = append(notes, "Stopped: "+stopped+".")
	}
	for _, t := range done {
		if t.Problem != "" {
			notes = append(notes, fmt.Sprintf("%s at %s: %s", t.Status, t.Value.Text, t.Problem))
		}
	}
	return notes
}

// tooFew names the loads of runs with so few requests that a single one decides whether the SLO is kept; empty if there
// are none.
func tooFew(done []Run) string {
	var values []string
	least := 0
	for _, t := range done {
		if t.Summary == nil || t.Summary.SLO == nil {
			continue
		}
		g := t.Summary.SLO
		allowed := 1 - g.RequiredRatio
		if few := float64(g.Requests)*allowed < 1; few && g.Requests > 0 && !slices.Contains(values, t.Value.Text) {
			values, least = append(values, t.Value.Text), int(math.Round(1/allowed))
		}
	}
	if len(values) == 0 {
		return ""
	}
	return fmt.Sprintf("With fewer than %d requests a single one decides whether the SLO is kept: so it is at %s.", least, strings.Join(values, ", "))
}

// highestWithin names the highest value of a list that keeps the SLO, and reports whether a lower one misses it; empty
// without an SLO or a load.
func highestWithin(done []Run) string {
	best, lowestMiss, asked := 0.0, 0.0, false
	for _, t := range done {
		load := t.Value.Load
		met, known := t.met()
		if !known || load == 0 {
			continue
		}
		asked = true
		if met {
			best = max(best, load)
		} else if lowestMiss == 0 || load < lowestMiss {
			lowestMiss = load
		}
	}
	switch {
	case !asked:
		return ""
	case best == 0:
		return "None of these loads keeps the SLO."
	case lowestMiss != 0 && lowestMiss <= best:
		return fmt.Sprintf("The highest of these loads that keeps the SLO is %s, though %s misses it.", valueOf(best).Text, valueOf(lowestMiss).Text)
	default:
		return fmt.Sprintf("The highest of these loads that keeps the SLO is %s.", valueOf(best).Text)
	}
}
