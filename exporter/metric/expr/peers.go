package expr

import "github.com/umascope/umascope/exporter/metric"

// normal makes the median absolute deviation of normally distributed values their standard deviation: it is the third
// quartile of the standard normal distribution.
const normal = 0.6745

// RobustZ is how far each series is from the median of its peers, in robust deviations: 0.6745 (x - median) / MAD, where
// MAD is the median of the absolute distances from the median (Iglewicz and Hoaglin, How to Detect and Handle Outliers,
// 1993). Peers agree in these labels. Where most peers are equal MAD is 0 and any difference would be infinite: MAD is
// at least the given least, the smallest difference that means something. Without at least so many series, the one in
// question included, there is no answer.
func (e Expr) RobustZ(least float64, fewest int, peers ...metric.Label) Expr {
	if least <= 0 {
		e = e.refused("", "a least deviation of %v divides by nothing", least)
	}
	together, same := By(peers...), On(peers...).GroupLeft()
	distance := e.Minus(e.Quantile(0.5, together), same)
	deviation := distance.Abs().Quantile(0.5, together).ClampMin(least)
	enough := e.Count(together).AtLeast(Number(float64(fewest)))
	z := distance.Times(Number(normal)).DividedBy(deviation, same).And(enough, On(peers...))
	z.unit, z.percentile = Unit{Base: metric.Deviations}, false
	z.addends = []addend{{family: e.families(), rule: metric.SumNever()}}
	return z
}
