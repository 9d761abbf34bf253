package compare

import (
	"math"
	"slices"
	"strings"
	"testing"
)

var namedFigures = map[string]float64{"tokens": 120, "watts": 40, "zero": 0, "huge": math.MaxFloat64, "a": 3, "b": 4}

func TestArithmeticIsThatOfSchool(t *testing.T) {
	for text, want := range map[string]float64{
		"tokens/watts": 3, "1 + 2*3": 7, "(1+2)*3": 9, "-a + b": 1, "+a": 3, "a-b-b": -5, "a/b/b": 3. / 16, "2e3": 2000, ".5*b": 2, "0.5": .5, "((a))": 3, "a*-b": -12,
	} {
		f, err := ParseExpression(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if v := f.Value(namedFigures); v == nil || math.Abs(*v-want) > 1e-12 {
			t.Errorf("%s is %v, want %g", text, v, want)
		}
	}
}

func TestWhatIsNotThereHasNoValue(t *testing.T) {
	for _, text := range []string{"unknown", "tokens/unknown", "0*unknown", "tokens/zero", "zero/zero", "huge*huge", "huge*2-huge*2"} {
		f, err := ParseExpression(text)
		if err != nil {
			t.Fatal(err)
		}
		if v := f.Value(namedFigures); v != nil {
			t.Errorf("%s is %g", text, *v)
		}
	}
}

func TestNamesAreThoseOfTheFiguresOnce(t *testing.T) {
	f, err := ParseExpression("(b + a) / b * 2")
	if err != nil || !slices.Equal(f.Names(), []string{"b", "a"}) || f.String() != "(b + a) / b * 2" {
		t.Errorf("%v of %s, %v", f.Names(), f, err)
	}
}

func TestWhatIsNoArithmeticIsRefusedWhereItStands(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "column 1",
		"a +":                     "column 4",
		"a b":                     "column 3",
		"f(a)":                    "column 1: want names",
		"a.b":                     "column 1: want names",
		"a[0]":                    "column 1: want names",
		"a % b":                   "column 3: %",
		"a == b":                  "column 3: ==",
		"a && b":                  "column 3",
		"!a":                      "column 1",
		"a + \"x\"":               "column 5: want names",
		"'x'":                     "want names",
		"1i":                      "want names",
		"0x1":                     "want names",
		"1e999":                   "want names",
		"func() int { return 1 }": "want names",
		"a\n+b":                   "one line",
		"a // b":                  "comments",
		"a /* b */":               "comments",
		"f(a) + g(b)":             "column 1: want names",
		strings.Repeat("(", 2000): "2000 characters",
	} {
		_, err := ParseExpression(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"tokens/watts", "1 + 2*(3 - a)", "a +", "f(a)", "-(-a)", "1e-3*b", "a.b", "\"", "((((a))))", "a//b", "a/*b*/"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := ParseExpression(text)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("%q: an error of several lines: %v", text, err)
			}
			return
		}
		v := parsed.Value(namedFigures)
		if v != nil && (math.IsNaN(*v) || math.IsInf(*v, 0)) {
			t.Errorf("%q is %g", text, *v)
		}
		if len(parsed.Names()) > 0 && parsed.Value(nil) != nil {
			t.Errorf("%q has a value without its namedFigures", text)
		}
		again, err := ParseExpression("(" + text + ")")
		if len(text) > longest-2 {
			return
		}
		if err != nil {
			t.Fatalf("%q in brackets: %v", text, err)
		}
		if w := again.Value(namedFigures); (v == nil) != (w == nil) || v != nil && *v != *w {
			t.Errorf("%q is %v, in brackets %v", text, v, w)
		}
	})
}
