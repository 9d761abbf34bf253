package summary

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/openai"
)

// goodRatio is the share of measured requests that must be good for an SLO to be met: the same one per cent that
// validity allows to fail.
const goodRatio = 0.99

// SLO is a service-level objective: a request is good when it ended ok and none of its
// latencies is above its limit.
type SLO []Objective

// Objective is the limit of one latency of a request. First token, first visible output and end count from the intended
// start, so that a backlog in front of a slow server is not hidden. A request without such a latency, such as the time
// per output token of a one-token answer, meets the objective.
type Objective struct {
	Latency string
	Limit   time.Duration
}

// objectives lists the latencies that an SLO may name.
func objectives() []objective {
	return []objective{
		{"ttft", true, func(r openai.Record) (time.Duration, bool) { return r.TTFT(openai.FromIntended) }, intended(boundedTTFT)},
		{"ttfo", true, func(r openai.Record) (time.Duration, bool) { return r.TTFO(openai.FromIntended) }, intended(boundedTTFO)},
		{"tpot", true, openai.Record.TPOT, boundedTPOT},
		{"e2e", false, func(r openai.Record) (time.Duration, bool) { return r.E2E(openai.FromIntended) }, intended(boundedE2E)},
	}
}

type objective struct {
	name     string
	streamed bool // true if only a streamed answer has it
	of       func(openai.Record) (time.Duration, bool)
	bounds   func() bounded
}

func intended(of func() func(openai.Origin) bounded) func() bounded {
	return func() bounded { return of()(openai.FromIntended) }
}

func findObjective(name string) (objective, error) {
	return terminal.Named(objectives(), func(o objective) string { return o.name }, name)
}

// ParseSLO reads latencies and their limits, such as ttft=500ms,tpot=50ms.
func ParseSLO(text string) (SLO, error) {
	var slo SLO
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		if _, err := findObjective(name); err != nil {
			return nil, fmt.Errorf("%w; want such as ttft=500ms,tpot=50ms", err)
		}
		if slices.ContainsFunc(slo, func(o Objective) bool { return o.Latency == name }) {
			return nil, fmt.Errorf("%s is given twice", name)
		}
		limit, err := time.ParseDuration(value)
		if err != nil || limit <= 0 {
			return nil, fmt.Errorf("%s=%s is no limit: want a duration above 0, such as %s=500ms", name, value, name)
		}
		slo = append(slo, Objective{name, limit})
	}
	return slo, nil
}

// String formats the SLO as ParseSLO reads it.
func (s SLO) String() string {
	var parts []string
	for _, o := range s {
		parts = append(parts, o.Latency+"="+o.Limit.String())
	}
	return strings.Join(parts, ",")
}

// NeedsStream returns the first objective whose latency only streamed answers have; "" if there is none. For other
// answers it cannot be evaluated.
func (s SLO) NeedsStream() string {
	for _, o := range s {
		if latency, err := findObjective(o.Latency); err == nil && latency.streamed {
			return o.Latency
		}
	}
	return ""
}

// Good reports whether a request ended ok and meets every objective.
func (s SLO) Good(record openai.Record) bool {
	if record.Status != openai.StatusOK {
		return false
	}
	for _, o := range s {
		latency, err := findObjective(o.Latency)
		if err != nil {
			return false
		}
		if value, ok := latency.of(record); ok && value > o.Limit {
			return false
		}
	}
	return true
}

// addGood counts a request if it is good, if it may be, and if it surely is: the client's delays may have made its
// latencies longer than they were, or a time per output token shorter.
func (a *aggregate) addGood(r openai.Record, s sample) {
	good := a.settings.slo.Good(r)
	if good {
		a.good++
	}
	if a.settings.slo.good(s, func(b bounded) Quantity { return b.low }) {
		a.perhaps++
	}
	if good && a.settings.slo.good(s, func(b bounded) Quantity { return b.high }) {
		a.surely++
	}
}

// good is Good by one side of the bounds of each latency.
func (s SLO) good(of sample, side func(bounded) Quantity) bool {
	if !of.ok {
		return false
	}
	for _, o := range s {
		latency, err := findObjective(o.Latency)
		if err != nil {
			return false
		}
		if value := side(latency.bounds())(of); value != absent && value > o.Limit.Nanoseconds() {
			return false
		}
	}
	return true
}

// SLOResult is the part of the load that was served within the SLO.
type SLOResult struct {
	SLO string `json:"slo" pack:"word"`
	// Good counts the good requests among all measured Requests, failed ones included.
	Good     int     `json:"good"`
	Requests int     `json:"requests"`
	Ratio    float64 `json:"ratio"`
	// RequestsPerSecond is Good divided by the duration of Throughput.
	RequestsPerSecond *float64 `json:"requests_per_second"`
	// RequiredRatio is the share at which the SLO is met; Met is whether it was reached.
	RequiredRatio float64 `json:"required_ratio"`
	Met           bool    `json:"met"`
	// GoodBounds are the least and the most good requests that the client's delays allow; absent where they are not
	// known. Undecided is true if the SLO is met at one of them only.
	GoodBounds *[2]int `json:"good_bounds,omitempty"`
	Undecided  bool    `json:"undecided,omitempty"`
}

// met reports whether so many good requests meet the SLO.
func (g *SLOResult) met(good int) bool {
	return g.Requests > 0 && float64(good)/float64(g.Requests) >= goodRatio
}

// warning returns the caveat about an SLO that the client's delays leave undecided.
func (g *SLOResult) warning() string {
	if g == nil || !g.Undecided {
		return ""
	}
	return fmt.Sprintf("whether the SLO %s is met is not decided: because of the client's own delays between %d and %d of %d requests meet it, and %s must", g.SLO, g.GoodBounds[0], g.GoodBounds[1], g.Requests, format.Ratio(goodRatio))
}

func (in inputs) sloResult(a *aggregate) *SLOResult {
	slo := in.Objectives
	if len(slo) == 0 {
		return nil
	}
	g := SLOResult{SLO: slo.String(), Good: a.good, Requests: a.total(), RequiredRatio: goodRatio}
	if g.Requests > 0 {
		g.Ratio = float64(g.Good) / float64(g.Requests)
	}
	g.RequestsPerSecond = a.perSecond(float64(g.Good))
	g.Met = g.met(g.Good)
	if in.Client.StampedArrivals && a.sent.unbounded() == 0 {
		g.GoodBounds = &[2]int{a.surely, a.perhaps}
		g.Undecided = g.met(a.surely) != g.met(a.perhaps)
	}
	return &g
}
