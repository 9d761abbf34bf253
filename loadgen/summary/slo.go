package summary

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/cmd/terminal"
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
		{"ttft", true, func(r openai.Record) (time.Duration, bool) { return r.TTFT(openai.FromIntended) }},
		{"ttfo", true, func(r openai.Record) (time.Duration, bool) { return r.TTFO(openai.FromIntended) }},
		{"tpot", true, openai.Record.TPOT},
		{"e2e", false, func(r openai.Record) (time.Duration, bool) { return r.E2E(openai.FromIntended) }},
	}
}

type objective struct {
	name     string
	streamed bool // true if only a streamed answer has it
	of       func(openai.Record) (time.Duration, bool)
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

// Goodput is the part of the load that was served within the SLO.
type Goodput struct {
	SLO string `json:"slo"`
	// Good counts the good requests among all measured Requests, failed ones included.
	Good     int     `json:"good"`
	Requests int     `json:"requests"`
	Ratio    float64 `json:"ratio"`
	// RequestsPerSecond is Good divided by the duration of Throughput.
	RequestsPerSecond *float64 `json:"requests_per_second"`
	// RequiredRatio is the share at which the SLO is met; Met is whether it was reached.
	RequiredRatio float64 `json:"required_ratio"`
	Met           bool    `json:"met"`
}

func goodput(slo SLO, a *aggregate) *Goodput {
	if len(slo) == 0 {
		return nil
	}
	g := Goodput{SLO: slo.String(), Good: a.good, Requests: a.total(), RequiredRatio: goodRatio}
	if g.Requests > 0 {
		g.Ratio = float64(g.Good) / float64(g.Requests)
	}
	g.RequestsPerSecond = a.perSecond(float64(g.Good))
	g.Met = g.Requests > 0 && g.Ratio >= goodRatio
	return &g
}
