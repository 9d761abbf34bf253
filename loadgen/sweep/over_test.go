package sweep

import (
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"slices"
	"strings"
	"testing"
)

func overTexts(values []Value) string {
	var all []string
	for _, v := range values {
		all = append(all, v.Text)
	}
	return strings.Join(all, " ")
}

func TestPointsAreThoseThatAreWritten(t *testing.T) {
	for text, want := range map[string]string{
		"concurrency=1,4,8,16":      "1 4 8 16",
		"concurrency=16,4":          "16 4",
		"concurrency=1..4":          "1 2 3 4",
		"concurrency=1..64x2":       "1 2 4 8 16 32 64",
		"concurrency=1..100x2":      "1 2 4 8 16 32 64",
		"concurrency=1..10x1.5":     "1 2 3 5 8",
		"concurrency=1,4..12+4,64":  "1 4 8 12 64",
		"rate=0.5..2+0.5":           "0.5 1 1.5 2",
		"rate=0.1..0.3+0.1":         "0.1 0.2 0.3",
		"rate=1..2x1.2":             "1 1.2 1.44 1.728",
		"rate=0.5":                  "0.5",
		"shape=T1..T6":              "T1 T2 T3 T4 T5 T6",
		"shape=T6,T1..T2":           "T6 T1 T2",
		"set.a.requests=8,24":       "8 24",
		"set.a.requests=8..32x2":    "8 16 32",
		"set.every=30s,1m":          "30s 1m",
		"set.b.input-tokens=64:128": "64:128",
	} {
		o, err := ParseOver(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if points, err := o.Points(); err != nil || overTexts(points) != want {
			t.Errorf("%s: %q (%v), want %q", text, overTexts(points), err, want)
		}
	}
}

func TestPointsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, text := range []string{
		"", "concurrency", "concurrency=", "concurrency=1,,2", "concurrency=0", "concurrency=1.5", "concurrency=-1", "concurrency=1e3",
		"concurrency=8..1", "concurrency=1..1", "concurrency=1..8+0", "concurrency=1..8x1", "concurrency=1..8+1.5", "concurrency=1..8-1", "concurrency=1..",
		"concurrency=1,2,1", "concurrency=1..8x2,4", "rate=1,1.0", "rate=0.001..1000+0.001", "rate=NaN", "rate=1..Inf", "rate=99999999",
		"concurrency=1..60,61..120", "shape=T0", "shape=T7", "shape=T6..T1", "shape=", "shape=T1,T1", "set.=1", "set.a=", "set. a=1", "seed=1,2", "input-tokens=1,2",
	} {
		o, err := ParseOver(text)
		if err == nil {
			_, err = o.Points()
		}
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q is accepted, or not refused in one line: %v", text, err)
		}
	}
}

func TestASearchLooksBetweenTwoEnds(t *testing.T) {
	for text, want := range map[string][2]float64{"concurrency=1..256": {1, 256}, "rate=0.5..1000000": {0.5, 1e6}} {
		o, err := ParseOver(text)
		if err != nil {
			t.Fatal(err)
		}
		if low, high, err := o.Ends(); err != nil || [2]float64{low, high} != want {
			t.Errorf("%s: %g to %g (%v)", text, low, high, err)
		}
	}
	for _, text := range []string{"concurrency=1,4", "concurrency=8", "concurrency=1..64x2", "rate=1..4,8", "shape=T1..T6", "set.a.requests=1..8"} {
		o, err := ParseOver(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newSearch(ForSLO, o, 0.1); err == nil {
			t.Errorf("a search looks between %s", text)
		}
	}
}

func TestAShapeIsABatchOfEqualRequests(t *testing.T) {
	o, err := ParseOver("shape=T5")
	if err != nil {
		t.Fatal(err)
	}
	fixed, fallback := o.Flags(Value{Text: "T5"})
	if want := flags("concurrency", "16", "input-tokens", "512", "output-tokens", "128", "ignore-eos", "true"); !slices.Equal(fixed, want) {
		t.Errorf("flags %v, want %v", fixed, want)
	}
	if want := flags("requests", "1600", "warmup", "160"); !slices.Equal(fallback, want) {
		t.Errorf("flags that give way %v, want %v", fallback, want)
	}
}

func TestAPointMeasuresEnoughForItsLoad(t *testing.T) {
	for _, c := range []struct {
		over, value string
		load        float64
		fixed       []plan.Flag
		fallback    []plan.Flag
	}{
		{"concurrency", "4", 4, flags("concurrency", "4"), flags("requests", "100")},
		{"concurrency", "64", 64, flags("concurrency", "64"), flags("requests", "640")},
		{"rate", "12.5", 12.5, flags("rate", "12.5"), flags("arrival", "poisson", "requests", "750")},
		{"set.a.requests", "24", 24, flags("set", "a.requests=24"), nil},
	} {
		fixed, fallback := Over{Name: c.over}.Flags(Value{c.value, c.load})
		if !slices.Equal(fixed, c.fixed) || !slices.Equal(fallback, c.fallback) {
			t.Errorf("%s %s: %v and %v", c.over, c.value, fixed, fallback)
		}
	}
}

func TestEveryPointAsksSomethingElse(t *testing.T) {
	o := Over{Name: OverConcurrency}
	seen := map[uint64]bool{}
	for _, seed := range []uint64{0, 1337} {
		for _, value := range []string{"1", "2", "12"} {
			for repeat := range 3 {
				s := o.Seed(seed, Value{Text: value}, repeat)
				if seen[s] || s >= 1<<53 || s != o.Seed(seed, Value{Text: value}, repeat) {
					t.Errorf("seed %d of %s, time %d", s, value, repeat)
				}
				seen[s] = true
			}
		}
	}
}

func TestRunsAreNamedByOrderAndValue(t *testing.T) {
	plain := func(s string) bool {
		return len(s) <= 48 && !strings.ContainsFunc(s, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", r)
		})
	}
	if got := (Over{Name: OverConcurrency}).scenarioName(Run{Number: 3, Value: Value{Text: "16"}}); got != "03-concurrency-16" {
		t.Errorf("run %q", got)
	}
	for _, text := range []string{"../../etc", strings.Repeat("9", 200), "a b|c", "é"} {
		o := Over{Name: "set." + strings.Repeat("K.", 60)}
		if got := o.scenarioName(Run{Number: 100, Value: Value{Text: text}}); !plain(got) {
			t.Errorf("%q is named %q (%d)", text, got, len(got))
		}
		if label := o.Label(); len(label) > 64 || strings.ContainsAny(label, ".K") {
			t.Errorf("label %q", label)
		}
	}
}

func FuzzParseOver(f *testing.F) {
	for _, seed := range []string{"concurrency=1,4,8,16", "concurrency=1..64x2", "rate=0.5..4+0.5", "shape=T1..T6", "set.a.requests=8..24+8,x", "rate=1..", "=", "rate=1..2x1.01"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := ParseOver(text)
		if err != nil {
			return
		}
		points, err := o.Points()
		if err != nil {
			return
		}
		if len(points) == 0 || len(points) > mostPoints {
			t.Fatalf("%q has %d points", text, len(points))
		}
		name, _, _ := strings.Cut(text, "=")
		for i, p := range points {
			if p.Text == "" || p.Load < 0 || p.Load > 1e12 || !o.size() && name != OverShape && !(p.Load > 0 && p.Load <= mostLoad) {
				t.Errorf("%q: point %+v", text, p)
			}
			if slices.ContainsFunc(points[:i], func(q Value) bool { return q.Text == p.Text }) {
				t.Errorf("%q: %s is there twice", text, p.Text)
			}
			if fixed, _ := o.Flags(p); len(fixed) == 0 {
				t.Errorf("%q: %s sets no flag", text, p.Text)
			}
		}
		// The same points, written one by one, are the same points.
		again, err := ParseOver(name + "=" + strings.ReplaceAll(overTexts(points), " ", ","))
		if err != nil {
			if !o.size() {
				t.Fatalf("%q: %q is refused: %v", text, overTexts(points), err)
			}
			return
		}
		if same, err := again.Points(); err != nil || overTexts(same) != overTexts(points) {
			t.Errorf("%q: %q is read as %q (%v)", text, overTexts(points), overTexts(same), err)
		}
	})
}
