package stats

import (
	"math"
	"slices"
	"testing"
)

// samples makes two samples of fuzz input: small multiples of 1/4, so that sums, shifts and scales by 2 are
// exact and ties are common.
func samples(raw []byte, split uint8) (a, b []float64) {
	raw = raw[:min(len(raw), 56)]
	at := min(int(split), len(raw))
	for i, v := range raw {
		x := float64(int8(v)) / 4
		if i < at {
			a = append(a, x)
		} else {
			b = append(b, x)
		}
	}
	return a, b
}

// mapped is x with f done to each value.
func mapped(x []float64, f func(v float64) float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = f(v)
	}
	return y
}

// alike says whether two figures are the same but for rounding.
func alike(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

func FuzzTestsOfTwoSamples(f *testing.F) {
	f.Add([]byte{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5}, uint8(5))
	f.Add([]byte{1, 1, 1, 1, 2, 1, 1, 1}, uint8(4))
	f.Add([]byte{250, 251, 252, 1, 2, 3, 9, 200, 77}, uint8(3))
	f.Fuzz(func(t *testing.T, raw []byte, split uint8) {
		a, b := samples(raw, split)
		meansHold(t, a, b)
		ranksHold(t, a, b)
		if n := min(len(a), len(b)); n > 0 {
			ordersHold(t, a[:n], b[:n])
		}
	})
}

// meansHold checks what is true of every t test.
func meansHold(t *testing.T, a, b []float64) {
	for name, test := range map[string]func(a, b []float64) (TTest, error){"Welch": Welch, "Pooled": Pooled, "Paired": Paired,
		"BalancedPairs": func(a, b []float64) (TTest, error) { return BalancedPairs(a, b, abba(len(a))) }} {
		w, err := test(a, b)
		back, backErr := test(b, a)
		if (err == nil) != (backErr == nil) {
			t.Fatalf("%s of %v and %v: %v, swapped %v", name, a, b, err, backErr)
		}
		if err != nil {
			continue
		}
		if !(w.P > 0 && w.P <= 1) || !alike(w.P, back.P) || !alike(w.Difference, -back.Difference) {
			t.Fatalf("%s of %v and %v: %+v, swapped %+v", name, a, b, w, back)
		}
		moved := must[TTest](t)(test(mapped(a, func(v float64) float64 { return 2*v + 64 }), mapped(b, func(v float64) float64 { return 2*v + 64 })))
		if !alike(moved.T, w.T) || !alike(moved.P, w.P) || !alike(moved.Difference, 2*w.Difference) {
			t.Fatalf("%s of %v and %v: %+v, shifted and scaled %+v", name, a, b, w, moved)
		}
		intervalsHold(t, w)
	}
}

// intervalsHold checks that the intervals and the tests of a difference say the same.
func intervalsHold(t *testing.T, w TTest) {
	narrow, wide := w.Interval(.90), w.Interval(.95)
	if !(wide.Low <= narrow.Low && narrow.Low <= w.Difference && w.Difference <= narrow.High && narrow.High <= wide.High) {
		t.Fatalf("%+v: %v in %v", w, narrow, wide)
	}
	if math.Abs(w.P-.05) > 1e-9 && wide.Holds(0) != (w.P > .05) {
		t.Fatalf("%+v: interval %v", w, wide)
	}
	for _, margin := range []float64{.5 * w.SE, 2 * w.SE, 2*w.SE + math.Abs(w.Difference), 8 * w.SE} {
		e := w.EquivalentBetween(-margin, margin)
		if !(e.P > 0 && e.P <= 1) || e.P != max(e.PL, e.PU) {
			t.Fatalf("%+v within %v: %+v", w, margin, e)
		}
		if math.Abs(e.P-.05) > 1e-9 && narrow.Inside(-margin, margin) != (e.P <= .05) {
			t.Fatalf("%+v within %v: %+v, interval %v", w, margin, e, narrow)
		}
	}
}

// ranksHold checks what is true of every test of ranks.
func ranksHold(t *testing.T, a, b []float64) {
	r, err := MannWhitney(a, b)
	if err != nil {
		return
	}
	back := must[RankTest](t)(MannWhitney(b, a))
	if !(r.P > 0 && r.P <= 1) || !alike(r.P, back.P) || !alike(r.Less, back.Greater) || r.U+back.U != float64(len(a)*len(b)) {
		t.Fatalf("%v and %v: %+v, swapped %+v", a, b, r, back)
	}
	if r.Less+r.Greater < 1-1e-9 {
		t.Fatalf("%v and %v: %+v", a, b, r)
	}
	cubed := func(v float64) float64 { return v * v * v }
	if moved := must[RankTest](t)(MannWhitney(mapped(a, cubed), mapped(b, cubed))); moved != r {
		t.Fatalf("%v and %v: %+v, of cubes %+v", a, b, r, moved)
	}
	shift := must[float64](t)(HodgesLehmann(a, b))
	up := must[float64](t)(HodgesLehmann(a, mapped(b, func(v float64) float64 { return v + 3 })))
	if back := must[float64](t)(HodgesLehmann(b, a)); back != -shift || up != shift+3 {
		t.Fatalf("%v and %v: shift %v, back %v, of b + 3 %v", a, b, shift, back, up)
	}
}

// ordersHold checks what is true of every rank correlation.
func ordersHold(t *testing.T, x, y []float64) {
	c, err := Spearman(x, y)
	if err != nil {
		return
	}
	back := must[Correlation](t)(Spearman(y, x))
	down := must[Correlation](t)(Spearman(x, mapped(y, func(v float64) float64 { return -v })))
	if !(c.P > 0 && c.P <= 1) || math.Abs(c.R) > 1 || !alike(c.R, back.R) || !alike(c.R, -down.R) {
		t.Fatalf("%v and %v: %+v, back %+v, down %+v", x, y, c, back, down)
	}
	if c.Exact && (!alike(c.P, back.P) || !alike(c.P, down.P)) {
		t.Fatalf("%v and %v: %+v, back %+v, down %+v", x, y, c, back, down)
	}
}

func FuzzOneSample(f *testing.F) {
	f.Add([]byte{3, 1, 4, 1, 5, 9, 2, 6}, uint8(100))
	f.Add([]byte{1, 1}, uint8(255))
	f.Fuzz(func(t *testing.T, raw []byte, p uint8) {
		x, _ := samples(raw, 255)
		if len(x) == 0 {
			return
		}
		sorted := slices.Sorted(slices.Values(x))
		q := Quantile(sorted, float64(p)/255)
		if q < sorted[0] || q > sorted[len(x)-1] || q > Quantile(sorted, min(float64(p)/255+.1, 1)) {
			t.Fatalf("quantile %v of %v: %v", float64(p)/255, sorted, q)
		}
		d := must[Description](t)(Describe(x))
		if d.Min != sorted[0] || d.Max != sorted[len(x)-1] || d.Mean < d.Min || d.Mean > d.Max || d.Median != Quantile(sorted, .5) {
			t.Fatalf("%v: %+v", x, d)
		}
		if d.SD != nil && (*d.SD < *d.PopulationSD || *d.SD > (d.Max-d.Min)*.7072) {
			t.Fatalf("%v: sd %v, of the population %v", x, *d.SD, *d.PopulationSD)
		}
		outliersHold(t, x)
		if r, err := Lag1(x); err == nil && math.Abs(r) > 1 {
			t.Fatalf("%v: lag-1 %v", x, r)
		}
		if n, err := ShapiroWilk(x); err == nil && (n.W <= 0 || n.W > 1) {
			t.Fatalf("%v: %+v", x, n)
		}
	})
}

// outliersHold checks that what is flagged is the farthest.
func outliersHold(t *testing.T, x []float64) {
	g, err := Grubbs(x, .05)
	if err != nil {
		return
	}
	d := must[Description](t)(Describe(x))
	n := float64(len(x))
	for _, v := range x {
		if math.Abs(v-d.Mean) > math.Abs(x[g.At]-d.Mean)+1e-9 {
			t.Fatalf("%v: %v lies farther than %v", x, v, x[g.At])
		}
	}
	if most := (n - 1) / math.Sqrt(n); g.G > most+1e-9 || g.Critical > most {
		t.Fatalf("%v: %+v, at most %v", x, g, most)
	}
	if z, err := ModifiedZ(x); err == nil && slices.ContainsFunc(z, math.IsNaN) {
		t.Fatalf("%v: %v", x, z)
	}
}

func FuzzFamiliesOfP(f *testing.F) {
	f.Add([]byte{1, 4, 3, 5})
	f.Add([]byte{0, 0, 255, 255})
	f.Fuzz(func(t *testing.T, raw []byte) {
		raw = raw[:min(len(raw), 64)]
		p := make([]float64, len(raw))
		for i, v := range raw {
			p[i] = float64(v) / 254 // a few are no p: 0 and above 1
		}
		holm, bh := Holm(p), BenjaminiHochberg(p)
		for i := range p {
			if !(0 < bh[i] && min(p[i], 1) <= bh[i]*(1+1e-12) && bh[i] <= holm[i]*(1+1e-12) && holm[i] <= min(1, max(p[i], leastP)*float64(len(p)))*(1+1e-12)) {
				t.Fatalf("p %v of %d: Benjamini-Hochberg %v, Holm %v", p[i], len(p), bh[i], holm[i])
			}
			for j := range p {
				if p[i] < p[j] && (holm[i] > holm[j] || bh[i] > bh[j]) || p[i] == p[j] && (holm[i] != holm[j] || bh[i] != bh[j]) {
					t.Fatalf("p %v and %v: Holm %v and %v, Benjamini-Hochberg %v and %v", p[i], p[j], holm[i], holm[j], bh[i], bh[j])
				}
			}
		}
	})
}

func FuzzPower(f *testing.F) {
	f.Add(1., 10., .05)
	f.Add(.2, 3., .01)
	f.Add(40., 2., .001)
	f.Add(.9333333333333336, 196., .5)         // once not a number
	f.Add(62.7, 972039., .0007142857142857144) // once above 1
	f.Fuzz(func(t *testing.T, d, n, alpha float64) {
		d, n, alpha = math.Abs(d), math.Abs(n), math.Abs(alpha)
		for name, power := range map[string]func(t TTest, d, alpha float64) (float64, error){"t": TTest.Power, "equivalence": TTest.EquivalencePower} {
			if n < 2 || n > mostRuns {
				continue
			}
			p, err := power(ofArms(n), d, alpha)
			if err != nil {
				continue
			}
			more, err := power(ofArms(n), d*1.1, alpha)
			if err != nil {
				continue // beyond the largest shift
			}
			if !(p >= 0 && p <= 1) || more < p-1e-6 {
				t.Fatalf("%s: power %v of %v, %v of %v, n %v, alpha %v", name, p, d, more, d*1.1, n, alpha)
			}
		}
	})
}
