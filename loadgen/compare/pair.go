package compare

// pairing is which runs of two arms share a pair, by their places, and how many pairs are none.
type pairing struct {
	a, b []int // places of the runs of each pair
	// ambiguous are pairs with several runs of an arm, rebooted those with a reboot within: a boot of the
	// machine is a block, and runs of two boots share no conditions.
	ambiguous, rebooted int
}

// pairsOf pairs the runs of two arms.
func pairsOf(a, b []*Run) pairing {
	partners, count := map[string][]int{}, map[string]int{}
	for j, r := range b {
		partners[r.Pair] = append(partners[r.Pair], j)
	}
	for _, r := range a {
		count[r.Pair]++
	}
	var p pairing
	several := map[string]bool{}
	for i, r := range a {
		at := partners[r.Pair]
		switch {
		case r.Pair == "" || len(at) == 0:
		case len(at) > 1 || count[r.Pair] > 1:
			several[r.Pair] = true
		case !r.sameBoot(b[at[0]]):
			p.rebooted++
		default:
			p.a, p.b = append(p.a, i), append(p.b, at[0])
		}
	}
	p.ambiguous = len(several)
	return p
}

// at are the values at some places.
func at(places []int, values []float64) []float64 {
	var picked []float64
	for _, i := range places {
		picked = append(picked, values[i])
	}
	return picked
}
