package runner

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"strconv"
	"strings"
)

// Flag is a flag of a point's run, by its long name.
type Flag struct{ Name, Value string }

// The default size of a point: enough requests that one failure is within the one per cent that an SLO and validity
// allow, and that ramp and drain are the smaller part.
const (
	leastRequests   = 100
	requestsPerSlot = 10
	secondsOfRate   = 60
)

// Flags returns the flags that make a run the one of a point. The fixed ones are swept, so the user may not set them;
// the user's flags replace the fallback ones.
func (o Over) Flags(v OverValue) (fixed, fallback []Flag) {
	switch o.Name {
	case OverConcurrency:
		return []Flag{{OverConcurrency, v.Text}}, []Flag{requestsFlag(requestsPerSlot * v.Load)}
	case OverRate:
		return []Flag{{OverRate, v.Text}}, []Flag{{"arrival", "poisson"}, requestsFlag(secondsOfRate * v.Load)}
	case OverShape:
		at, err := findShape(v.Text)
		if err != nil {
			return nil, nil // ParseOver accepts no other
		}
		return allShapes()[at].flags()
	default:
		return []Flag{{"set", strings.TrimPrefix(o.Name, overSetPrefix) + "=" + v.Text}}, nil
	}
}

func requestsFlag(n float64) Flag {
	return Flag{"requests", strconv.Itoa(max(leastRequests, int(n)))}
}

func (s Shape) flags() (fixed, fallback []Flag) {
	number := strconv.Itoa
	return []Flag{{OverConcurrency, number(s.Batch)}, {"input-tokens", number(s.Input)}, {"output-tokens", number(s.Output)}, {"ignore-eos", "true"}},
		[]Flag{{"requests", number(shapeIterations * s.Batch)}, {"warmup", number(shapeWarmup * s.Batch)}}
}

// Label returns the name of the label with each run's value: a label is lower case without dots.
func (o Over) Label() string {
	name := regexp.MustCompile(`[^a-z0-9_]`).ReplaceAllString(strings.ToLower(o.Name), "_")
	return name[:min(len(name), 64)]
}

// RunID names the run of a trial within a sweep: by its place in time and by its value.
func (o Over) RunID(sweep string, t SweepRun) string {
	value := regexp.MustCompile(`[^A-Za-z0-9.]+`).ReplaceAllString(t.Value.Text, "-")
	return fmt.Sprintf("%s-%02d-%s-%s", sweep, t.Number, o.Label()[:min(len(o.Label()), 20)], value[:min(len(value), 16)])
}

// LongestSweepID bounds the name of a sweep, so that the names of its runs are not too long.
const LongestSweepID = 80

// Seed returns the seed of a trial: a function of the sweep's seed, the value, and how often the value was measured
// before. With a single seed, a point would repeat the requests of the previous one and be answered from its prefix
// cache. It does not depend on the other points: two sweeps with the same seed send the same requests at the same
// point. It has 53 bits, so that every reader of JSON can hold it.
func (o Over) Seed(seed uint64, v OverValue, repeat int) uint64 {
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%d %s=%s %d", seed, o.Name, v.Text, repeat)
	return hash.Sum64() >> 11
}
