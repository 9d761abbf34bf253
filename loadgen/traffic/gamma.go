package traffic

import (
	"math"
	"math/rand/v2"
)

// gamma draws from the gamma distribution with the given shape and scale 1, whose mean is the shape, by the method of
// Marsaglia and Tsang (ACM Transactions on Mathematical Software 26:3, 2000). The standard library has no gamma
// distribution, and gonum's takes its own type of source: plans would then change with its version.
func gamma(random *rand.Rand, shape float64) float64 {
	if shape < 1 {
		// Their section 6: gamma(a) is gamma(a+1) times a uniform draw to the power of 1/a.
		return gamma(random, shape+1) * math.Pow(1-random.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := random.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-random.Float64()) < 0.5*x*x+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
