package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/combin"
)

// FisherExact returns the p value of Fisher's exact test, one-sided: the probability that at least hits of n fall to
// the first group by chance, given hits+otherHits of n+otherN in all. R's fisher.test(matrix(c(hits, n-hits, otherHits,
// otherN-otherHits), 2), alternative = "greater") gives the same. It is 1 for impossible counts.
func FisherExact(hits, n, otherHits, otherN int) float64 {
	if hits < 0 || otherHits < 0 || hits > n || otherHits > otherN {
		return 1
	}
	all := hits + otherHits
	p := 0.0
	for k := hits; k <= min(all, n); k++ {
		// The hypergeometric distribution: k of the hits in the first group.
		p += math.Exp(logChoose(n, k) + logChoose(otherN, all-k) - logChoose(n+otherN, all))
	}
	return probability(p)
}

// logChoose returns the logarithm of n over k; minus infinity where there is no way to choose.
func logChoose(n, k int) float64 {
	if k < 0 || k > n {
		return math.Inf(-1)
	}
	return combin.LogGeneralizedBinomial(float64(n), float64(k))
}
