package compare_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

// runsOf makes runs of bytes: an arm, what is known of the run, and two figures each.
func runsOf(data []byte) []compare.Run {
	const size = 10
	var e experiment
	for ; len(data) >= size && len(e.runs) < 16; data = data[size:] {
		value := math.Float64frombits(binary.LittleEndian.Uint64(data[2:]))
		metrics := map[string]float64{figure.OutputTokensPerSecond: value, figure.MemoryOccupiedWithoutKV: float64(data[2]) * gib}
		if data[0]&8 != 0 {
			metrics[figure.KVCapacity] = value
		}
		e.run([]string{"a", "b", "c"}[data[0]%3], metrics, func(r *compare.Run) {
			r.Valid = data[0]&16 == 0
			if data[0]&32 != 0 {
				r.StartedAt = time.Time{}
			} else {
				r.StartedAt = began.Add(time.Duration(data[1]) * time.Minute)
			}
			if data[0]&64 != 0 {
				r.Pair = fmt.Sprint(data[1] % 4)
			}
			if data[0]&128 != 0 {
				r.EngineReported = []string{figure.MemoryOccupiedWithoutKV}
			}
			r.KV = compare.KV{CapacityBytes: &value, OccupiedWithoutKVBytes: &value}
		})
	}
	return e.runs
}

func bytesOf(arms string, values ...float64) []byte {
	var data []byte
	for i, v := range values {
		data = append(data, arms[i%len(arms)]-'a', byte(i))
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
	}
	return data
}

func FuzzAComparisonIsNumbersThatHoldTogether(f *testing.F) {
	f.Add(bytesOf("abba", 100, 101, 102, 103, 99, 98, 104, 100))
	f.Add(bytesOf("ab", 100, 100, 100, 100))
	f.Add(bytesOf("aabb", math.NaN(), math.Inf(1), 1, 2, 3, 4, 0, -1))
	f.Add(bytesOf("abc", 1e308, -1e308, 1e-308, 1e308, 5e-324, 1, 2, 1.7e308, 3))
	f.Add(bytesOf("abcabc", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12))
	f.Fuzz(func(t *testing.T, data []byte) {
		runs := runsOf(data)
		c, err := compare.Compare(runs, compare.Options{By: "arm", Columns: []compare.Column{compare.ColumnShapiro, compare.ColumnBonferroni, compare.ColumnBH}})
		if err != nil {
			return
		}
		if _, err := json.Marshal(c); err != nil {
			t.Fatalf("it is no JSON: %v", err)
		}
		valid := 0
		for _, r := range runs {
			if r.Valid {
				valid++
			}
		}
		for _, a := range c.Strata[0].Arms {
			valid -= len(a.Runs)
		}
		if valid != 0 {
			t.Errorf("%d valid runs are in no arm", valid)
		}
		for _, p := range c.Strata[0].Pairs {
			for _, m := range p.Metrics {
				holdsTogether(t, m)
			}
		}
	})
}

// holdsTogether says whether the numbers of a metric can be.
func holdsTogether(t *testing.T, m compare.Metrics) {
	t.Helper()
	for name, p := range map[string]*float64{
		"Welch": m.WelchP, "paired": m.PairedP, "Mann-Whitney": m.MannWhitneyP, "TOST": m.TOSTP, "Holm": m.HolmP,
		"Shapiro-Wilk": m.ShapiroA, "Bonferroni": m.BonferroniP, "Benjamini-Hochberg": m.BHP,
	} {
		if p != nil && !(*p > 0 && *p <= 1) {
			t.Errorf("%s: %s p is %v", m.Name, name, *p)
		}
	}
	for name, i := range map[string]*compare.Interval{"95 %": m.CI95, "90 %": m.CI90, "ratio": m.RatioCI95} {
		if i != nil && !(i[0] <= i[1]) {
			t.Errorf("%s: the %s interval is %v", m.Name, name, *i)
		}
	}
	if m.CI95 != nil && m.CI90 != nil && (m.CI90[0] < m.CI95[0] || m.CI90[1] > m.CI95[1]) {
		t.Errorf("%s: 90 %% %v is wider than 95 %% %v", m.Name, *m.CI90, *m.CI95)
	}
	tested := m.WelchP != nil
	if decided := m.Verdict != compare.Undecided; decided != (tested || m.Constant) {
		t.Errorf("%s is %s, tested %v", m.Name, m.Verdict, tested)
	}
	if !tested && len(m.Notes) == 0 {
		t.Errorf("%s: nothing says why it is not tested", m.Name)
	}
	if m.Constant && (tested || m.CI95 != nil || m.Confounded && m.Verdict == compare.Equivalent) {
		t.Errorf("%s does not vary, and %+v", m.Name, m)
	}
	if m.A.Mean != nil && m.B.Mean != nil && m.Difference != nil && math.Abs(*m.Difference-(*m.B.Mean-*m.A.Mean)) > 1e-9*(math.Abs(*m.A.Mean)+math.Abs(*m.B.Mean)) {
		t.Errorf("%s: difference %v of means %v and %v", m.Name, *m.Difference, *m.A.Mean, *m.B.Mean)
	}
	if m.Paired && (m.A.N != m.Pairs || m.B.N != m.Pairs) {
		t.Errorf("%s: %d pairs of %d and %d runs", m.Name, m.Pairs, m.A.N, m.B.N)
	}
	if m.RatioCI95 != nil && m.Verdict == compare.Worse && m.RatioCI95[1] >= 1 {
		t.Errorf("%s is worse with a ratio up to %v", m.Name, m.RatioCI95[1])
	}
	for what, n := range map[string]*int{"for the margin": m.NeedN, "for the effect": m.NeedForEffect} {
		if n != nil && *n <= min(m.A.N, m.B.N) && m.A.N == m.B.N {
			t.Errorf("%s: %d runs are needed %s, and there are %d", m.Name, *n, what, m.A.N)
		}
	}
}
