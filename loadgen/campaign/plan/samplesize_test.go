package plan

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func ask(t *testing.T, q SampleSizeQuestion) *SampleSize {
	t.Helper()
	a, err := AskSampleSize(q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func usual(cv, margin float64) SampleSizeQuestion {
	return SampleSizeQuestion{CV: cv, Margin: margin, Difference: margin, Power: 0.8, Alpha: 0.05}
}

// Ten runs of each arm detect 1.325 standard deviations and show equivalence within 1.361 (load-generation
// 6.3): the CV that takes exactly ten runs for 2 % is ln(1.02) of that many.
func TestTenRunsSayWhatTheTableSays(t *testing.T) {
	const digits = 0.0005
	for _, c := range []struct {
		what       string
		deviations float64
		runs       func(*SampleSize) int
	}{
		{"equivalence", 1.361, func(a *SampleSize) int { return a.ToEqual }},
		{"difference", 1.325, func(a *SampleSize) int { return a.ToFind }},
	} {
		cv := func(deviations float64) float64 {
			sd := math.Log1p(0.02) / deviations
			return math.Sqrt(math.Expm1(sd * sd))
		}
		if got := c.runs(ask(t, usual(cv(c.deviations+digits), 0.02))); got != 10 {
			t.Errorf("%s: %d runs, want 10", c.what, got)
		}
		if got := c.runs(ask(t, usual(cv(c.deviations-2*digits), 0.02))); got != 11 {
			t.Errorf("%s, runs that differ a little more: %d runs, want 11", c.what, got)
		}
	}
}

func TestTheTableAgreesWithTheAnswer(t *testing.T) {
	for _, q := range []SampleSizeQuestion{usual(0.015, 0.02), usual(0.05, 0.05), usual(0.003, 0.01), {CV: 0.1, Margin: 0.05, Difference: 0.2, Power: 0.9, Alpha: 0.01}} {
		a := ask(t, q)
		for i, r := range a.Rows {
			if i > 0 && (r.Runs <= a.Rows[i-1].Runs || r.Finds != nil && *r.Finds >= *a.Rows[i-1].Finds) {
				t.Errorf("%+v: row %d does not say more than the one before", q, i)
			}
			if enough := r.Equal != nil && *r.Equal <= q.Margin; enough != (r.Runs >= a.ToEqual) {
				t.Errorf("%+v: %d runs, equal within %v, needed %d", q, r.Runs, orNone(r.Equal), a.ToEqual)
			}
			if enough := r.Finds != nil && *r.Finds <= q.Difference; enough != (r.Runs >= a.ToFind) {
				t.Errorf("%+v: %d runs find %v, needed %d", q, r.Runs, orNone(r.Finds), a.ToFind)
			}
		}
	}
}

func TestMoreIsNeededForLess(t *testing.T) {
	base := ask(t, usual(0.015, 0.02))
	for what, q := range map[string]SampleSizeQuestion{
		"runs that differ more": usual(0.03, 0.02),
		"a smaller margin":      usual(0.015, 0.01),
		"more power":            {CV: 0.015, Margin: 0.02, Difference: 0.02, Power: 0.95, Alpha: 0.05},
		"fewer errors":          {CV: 0.015, Margin: 0.02, Difference: 0.02, Power: 0.8, Alpha: 0.01},
	} {
		if a := ask(t, q); a.ToEqual <= base.ToEqual || a.ToFind <= base.ToFind {
			t.Errorf("%s: %d and %d, want more than %d and %d", what, a.ToEqual, a.ToFind, base.ToEqual, base.ToFind)
		}
	}
}

func TestWhatCannotBeAnsweredSaysWhy(t *testing.T) {
	for _, c := range []struct {
		q    SampleSizeQuestion
		want string
	}{
		{usual(0, 0.02), "runs that do not differ at all"},
		{usual(math.NaN(), 0.02), "runs that do not differ at all"},
		{usual(0.9, 1e-6), "to show arms equal within 0.0001 %: "},
		{SampleSizeQuestion{CV: 0.9, Margin: 0.5, Difference: 1e-6, Power: 0.8, Alpha: 0.05}, "to find a difference of 0.0001 %: "},
	} {
		if _, err := AskSampleSize(c.q); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s…", c.q, err, c.want)
		}
	}
}

func TestTheAnswerIsWrittenWithItsArithmetic(t *testing.T) {
	var text strings.Builder
	if err := ask(t, usual(0.015, 0.02)).Write(&text); err != nil {
		t.Fatal(err)
	}
	want := `Runs of each arm, if runs of one arm differ by a CV of 1.5 %, at 80 % power and 5 % significance:

    11  to show two equal arms equivalent within 2 %
    11  to find a difference of 2 %

A campaign that is to show either takes 11 iterations; in the order abba 12, so that the last way forth has its way back.

A ratio is compared as a difference of logarithms. The CV is a standard deviation of 0.0150,
the margin ln(1+0.02) = 0.0198, which is 1.32 of them, the difference 1.32 of them.

  runs  find a difference of  show equivalence within
     3                4.71 %                   4.48 %
     5                3.08 %                   3.09 %
     6                2.73 %                   2.76 %
     8                2.29 %                   2.34 %
    10                2.01 %                   2.06 %
    11                1.90 %                   1.96 %
    15                1.60 %                   1.66 %
    20                1.37 %                   1.42 %
    30                1.11 %                   1.15 %
`
	if text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", text.String(), want)
	}
}

// The logarithms of e^1, e^2, e^3 have the standard deviation 1, those of 1, e^2 the variance 2: pooled
// (2*1 + 1*2)/3 = 4/3.
func TestSpreadIsPooledWithinGroups(t *testing.T) {
	e := math.E
	s, err := PoolSpread([][]float64{{e, e * e, e * e * e}, {7}, {1, e * e}})
	if err != nil {
		t.Fatal(err)
	}
	if want := math.Sqrt(math.Expm1(4.0 / 3)); math.Abs(s.CV-want) > 1e-12 || s.Groups != 2 || s.Freedom != 3 {
		t.Errorf("%+v, want a CV of %v of 2 groups with 3 degrees of freedom", s, want)
	}
}

// Of ten runs the interval is 0.688 to 1.826 of what was found (load-generation 6.2).
func TestTheIntervalOfASmallSpreadIsThatOfAStandardDeviation(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	values := make([]float64, 10)
	for i := range values {
		values[i] = 100 + 0.01*random.NormFloat64()
	}
	s, err := PoolSpread([][]float64{values})
	if err != nil {
		t.Fatal(err)
	}
	if low, high := s.Low/s.CV, s.High/s.CV; math.Abs(low-0.688) > 5e-4 || math.Abs(high-1.826) > 5e-4 {
		t.Errorf("%.4f to %.4f of the CV, want 0.688 to 1.826", low, high)
	}
}

func TestRunsThatCannotBePooledSayWhy(t *testing.T) {
	if _, err := PoolSpread([][]float64{{1}, {2}, nil}); !errors.Is(err, ErrNoRepeats) {
		t.Errorf("of single runs: %v", err)
	}
	for _, values := range [][]float64{{1, 0}, {1, -1}, {1, math.NaN()}, {1, math.Inf(1)}} {
		if s, err := PoolSpread([][]float64{values}); err == nil {
			t.Errorf("%v: %+v", values, s)
		}
	}
}
