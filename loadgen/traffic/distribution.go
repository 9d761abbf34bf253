package traffic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// distribution is a random number in the format of vLLM's multi-turn generator:
//
//	{"distribution": "constant", "value": 500}
//	{"distribution": "uniform", "min": 12, "max": 18}
//	{"distribution": "lognormal", "average": 1000, "median_ratio": 0.85, "max": 5000}
//	{"distribution": "lognormal", "mean": 6, "sigma": 4, "max": 1500}
//	{"distribution": "zipf", "alpha": 1.2, "max": 100}
//	{"distribution": "poisson", "alpha": 10, "max": 50}
//
// Unlike in vLLM, lognormal draws are not rescaled to the exact average: a draw would then depend on the number of the
// others.
type distribution struct {
	Kind        string   `json:"distribution"`
	Value       *float64 `json:"value"`
	Min         *float64 `json:"min"`
	Max         *float64 `json:"max"`
	Average     *float64 `json:"average"`
	MedianRatio *float64 `json:"median_ratio"`
	Mean        *float64 `json:"mean"`
	Sigma       *float64 `json:"sigma"`
	Alpha       *float64 `json:"alpha"`
}

// medianRatio is the default ratio of median to average of a lognormal distribution.
const medianRatio = 0.85

// mostDrawn bounds every draw, as MaxTokens bounds every length.
const mostDrawn = MaxTokens

// UnmarshalJSON refuses unknown fields: a misspelt one would change the workload.
func (d *distribution) UnmarshalJSON(data []byte) error {
	type plain distribution
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode((*plain)(d)); err != nil {
		return err
	}
	return d.check()
}

// check returns an error if a parameter of the kind is missing or out of bounds.
func (d *distribution) check() error {
	between := func(name string, value *float64, least, most float64) error {
		// The negation catches NaN.
		if value == nil || !(*value >= least && *value <= most) {
			return fmt.Errorf("%s: %s is missing or not from %g to %g", d.Kind, name, least, most)
		}
		return nil
	}
	if d.Max != nil {
		if err := between("max", d.Max, 0, mostDrawn); err != nil {
			return err
		}
	}
	switch d.Kind {
	case "constant":
		return between("value", d.Value, 0, mostDrawn)
	case "uniform":
		if err := errors.Join(between("max", d.Max, 0, mostDrawn), between("min", d.Min, 0, mostDrawn)); err != nil {
			return errors.New("uniform: min or max is missing or out of bounds")
		}
		return between("min", d.Min, 0, *d.Max)
	case "lognormal":
		return d.checkLognormal(between)
	case "zipf":
		return between("alpha", d.Alpha, 1.01, 100)
	case "poisson":
		return between("alpha", d.Alpha, 0, 1e6)
	}
	return fmt.Errorf("distribution %.40q is none of constant, uniform, lognormal, zipf, poisson", d.Kind)
}

func (d *distribution) checkLognormal(between func(string, *float64, float64, float64) error) error {
	if d.Average == nil {
		if err := between("mean", d.Mean, -20, 20); err != nil {
			return err
		}
		return between("sigma", d.Sigma, 0, 20)
	}
	if d.Mean != nil || d.Sigma != nil {
		return errors.New("lognormal: average, or mean and sigma, not both")
	}
	if d.MedianRatio == nil {
		ratio := medianRatio
		d.MedianRatio = &ratio
	}
	if err := between("median_ratio", d.MedianRatio, 0.01, 0.999999); err != nil {
		return err
	}
	return between("average", d.Average, 1, mostDrawn)
}

// draw returns a whole number of at least least.
func (d *distribution) draw(random *rand.Rand, least int) int {
	most := float64(mostDrawn)
	if d.Max != nil {
		most = *d.Max
	}
	return max(least, int(math.Round(min(d.raw(random), most))))
}

func (d *distribution) raw(random *rand.Rand) float64 {
	switch d.Kind {
	case "constant":
		return *d.Value
	case "uniform":
		low, high := math.Round(*d.Min), math.Round(*d.Max)
		return low + float64(random.IntN(int(high-low)+1))
	case "lognormal":
		mu, sigma := d.normal()
		return math.Exp(mu + sigma*random.NormFloat64())
	case "zipf":
		return zipf(random, *d.Alpha)
	default:
		return poisson(random, *d.Alpha)
	}
}

// normal returns the parameters of the normal distribution below a lognormal one. The average is exp(mu + sigma²/2) and
// the median exp(mu), so their ratio gives sigma.
func (d *distribution) normal() (mu, sigma float64) {
	if d.Average == nil {
		return *d.Mean, *d.Sigma
	}
	return math.Log(*d.Average * *d.MedianRatio), math.Sqrt(-2 * math.Log(*d.MedianRatio))
}

// zipf draws from the zeta distribution by Devroye's rejection (Non-Uniform Random Variate
// Generation, 1986, chapter X.6). The standard library's Zipf needs another parameter and a bound.
func zipf(random *rand.Rand, alpha float64) float64 {
	b := math.Pow(2, alpha-1)
	for {
		u, v := 1-random.Float64(), random.Float64()
		x := math.Floor(math.Pow(u, -1/(alpha-1)))
		if x > mostDrawn {
			return mostDrawn // far beyond every cap, at the limit of floating point
		}
		t := math.Pow(1+1/x, alpha-1)
		if v*x*(t-1)/(b-1) <= t/b {
			return x
		}
	}
}

// poisson counts exponential gaps within an interval of the given length.
func poisson(random *rand.Rand, mean float64) float64 {
	n := 0.0
	for left := mean - random.ExpFloat64(); left > 0; left -= random.ExpFloat64() {
		n++
	}
	return n
}
