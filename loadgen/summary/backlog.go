package summary

import (
	"math"

	"github.com/umascope/umascope/loadgen/openai"
)

// Backlog reports whether requests ended as fast as they became due, in a phase with arrivals by the clock. A server
// that keeps up ends as many as become due, apart from chance; on one that does not, more and more of them wait,
// however fast the first ones were.
//
// It covers the second half of the time from the first to the last intended start: in the first half, requests in
// flight grow on every server, since it began with none.
type Backlog struct {
	// DuePerSecond is the requested rate and EndedPerSecond the achieved one, in that half.
	DuePerSecond   float64 `json:"due_per_second"`
	EndedPerSecond float64 `json:"ended_per_second"`
	// Before and After are the numbers of requests that were due and had not ended, at the beginning and the end of that
	// half.
	Before int `json:"before"`
	After  int `json:"after"`
	// Grows is true if After is more than Before by 5 % of what became due, and by two standard deviations of the
	// difference of two Poisson counts, sqrt(Before + After): the requests in a server that keeps up vary about so much.
	Grows bool `json:"grows"`
}

// Limits of the growth of a backlog.
const (
	backlogShare      = 0.05
	backlogDeviations = 2
)

// backlog evaluates all requests of the aggregate; nil if they did not become due over a time.
func (a *aggregate) backlog() *Backlog {
	firstNS, lastNS := a.dueNS()
	halfNS := firstNS + (lastNS-firstNS)/2
	if lastNS <= firstNS || halfNS <= firstNS {
		return nil
	}
	var b Backlog
	due, ended := 0, 0
	a.due(func(intendedNS, endNS int64) {
		switch {
		case intendedNS > halfNS:
			due++
		case endNS > halfNS:
			b.Before++
		}
		switch {
		case endNS > lastNS:
			b.After++
		case endNS > halfNS:
			ended++
		}
	})
	time := seconds(lastNS - halfNS)
	b.DuePerSecond, b.EndedPerSecond = float64(due)/time, float64(ended)/time
	growth := float64(b.After - b.Before)
	b.Grows = growth > backlogShare*float64(due) && growth > backlogDeviations*math.Sqrt(float64(b.Before+b.After))
	return &b
}

// due visits the moments at which every request became due and ended; a request that was given up before it was sent
// never ends.
func (a *aggregate) due(visit func(intendedNS, endNS int64)) {
	for s := range a.sent.all() {
		visit(s.intendedNS, s.endNS)
	}
	for _, intendedNS := range a.unsentNS {
		visit(intendedNS, math.MaxInt64)
	}
}

// dueNS returns the first and the last intended start.
func (a *aggregate) dueNS() (first, last int64) {
	first = math.MaxInt64
	a.due(func(intendedNS, _ int64) { first, last = min(first, intendedNS), max(last, intendedNS) })
	return first, last
}

// unsent records a request that became due and was never sent.
func (a *aggregate) unsent(r openai.Record) { a.unsentNS = append(a.unsentNS, r.IntendedNS) }
