package sweep

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// The default size of a point: enough requests that one failure is within the one per cent that an SLO and validity
// allow, and that ramp and drain are the smaller part.
const (
	leastRequests   = 100
	requestsPerSlot = 10
	secondsOfRate   = 60
)

// Flags returns the flags that make a run the one of a point. The fixed ones are swept, so the user may not set them;
// the user's flags replace the fallback ones.
func (o Over) Flags(v Value) (fixed, fallback []plan.Flag) {
	switch o.Name {
	case OverConcurrency:
		return flags(OverConcurrency, v.Text), flags("requests", requests(requestsPerSlot*v.Load))
	case OverRate:
		return flags(OverRate, v.Text), flags("arrival", "poisson", "requests", requests(secondsOfRate*v.Load))
	case OverShape:
		at, err := findShape(v.Text)
		if err != nil {
			return nil, nil // ParseOver accepts no other
		}
		return allShapes()[at].flags()
	default:
		return flags("set", strings.TrimPrefix(o.Name, overSetPrefix)+"="+v.Text), nil
	}
}

// flags returns flags from their names and values, in turn.
func flags(texts ...string) []plan.Flag {
	var all []plan.Flag
	for pair := range slices.Chunk(texts, 2) {
		all = append(all, plan.Flag{Name: pair[0], Value: pair[1]})
	}
	return all
}

func requests(n float64) string { return strconv.Itoa(max(leastRequests, int(n))) }

func (s Shape) flags() (fixed, fallback []plan.Flag) {
	number := strconv.Itoa
	return flags(OverConcurrency, number(s.Batch), "input-tokens", number(s.Input), "output-tokens", number(s.Output), "ignore-eos", "true"),
		flags("requests", number(shapeIterations*s.Batch), "warmup", number(shapeWarmup*s.Batch))
}

// Label returns the name of the label with each run's value: a label is lower case without dots.
func (o Over) Label() string {
	name := regexp.MustCompile(`[^a-z0-9_]`).ReplaceAllString(strings.ToLower(o.Name), "_")
	return name[:min(len(name), 64)]
}

// scenarioName names a run within a sweep by its place in time and by its value.
func (o Over) scenarioName(t Run) string {
	value := regexp.MustCompile(`[^A-Za-z0-9.]+`).ReplaceAllString(t.Value.Text, "-")
	return fmt.Sprintf("%02d-%s-%s", t.Number, o.Label()[:min(len(o.Label()), 20)], value[:min(len(value), 16)])
}

// Seed returns the seed of a trial: a function of the sweep's seed, the value, and how often the value was measured
// before. With a single seed, a point would repeat the requests of the previous one and be answered from its prefix
// cache. It does not depend on the other points: two sweeps with the same seed send the same requests at the same
// point. It has 53 bits, so that every reader of JSON can hold it.
func (o Over) Seed(seed uint64, v Value, repeat int) uint64 {
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%d %s=%s %d", seed, o.Name, v.Text, repeat)
	return hash.Sum64() >> 11
}
