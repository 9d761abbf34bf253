package grafana

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// asked is a source that answers from tables and remembers what it was asked.
type asked struct {
	labels  map[string][]string // by label and selector
	answers map[string]Answer   // by expression
	heard   []string
}

func (a *asked) source() Source {
	return Source{
		LabelValues: func(_ context.Context, label, selector string, _ Window) ([]string, error) {
			a.heard = append(a.heard, label+" of "+selector)
			if values, ok := a.labels[label+" of "+selector]; ok {
				return slices.Clone(values), nil
			}
			return nil, errors.New("nobody answers")
		},
		Instant: func(_ context.Context, expression string, at time.Time) (Answer, error) {
			a.heard = append(a.heard, expression+" at "+at.Format("15:04"))
			if answer, ok := a.answers[expression]; ok {
				return answer, nil
			}
			return Answer{}, errors.New("nobody answers")
		},
	}
}

func resolve(t *testing.T, a *asked, chosen map[string][]string, variables ...Variable) Scope {
	t.Helper()
	settings := Settings{Source: "prom", Window: Window{noon.Add(-time.Hour), noon}, Chosen: chosen}
	return Resolve(context.Background(), Dashboard{Variables: variables}, settings, a.source())
}

func TestAVariableThatNeedsAnotherIsAskedAfterIt(t *testing.T) {
	a := &asked{
		labels: map[string][]string{"host of up": {"spark-10", "spark-9"}, `run of runs{host="spark-9"}`: {"r1", "r2"}},
		answers: map[string]Answer{`start{run="r2"}`: {Samples: []Sample{
			{Labels: map[string]string{"run": "r2", "host": "h"}, Value: "-300.5", Time: noon},
		}}},
	}
	s := resolve(t, a, map[string][]string{"run": {"r2"}},
		Variable{Name: "shift", Kind: KindQuery, Query: `query_result(start{run="$run"})`, Regex: `/\} (\S+) /`, Hide: 2},
		Variable{Name: "run", Kind: KindQuery, Query: `label_values(runs{host="${host}"}, run)`},
		Variable{Name: "host", Kind: KindQuery, Query: "label_values(up, host)", Sort: sortNatural, Datasource: Datasource{"prometheus", "${datasource}"}},
		Variable{Name: "datasource", Kind: KindDatasource},
	)
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	want := []string{"host of up", `run of runs{host="spark-9"}`, `start{run="r2"} at 12:00`}
	if !slices.Equal(a.heard, want) {
		t.Errorf("asked %q, want %q", a.heard, want)
	}
	if got := s.Written("$shift $run $host $datasource"); got != "-300.5 r2 spark-9 prom" {
		t.Errorf("values %q", got)
	}
	if s.Variables[0].Name != "shift" || s.Variables[3].Name != "datasource" {
		t.Error("the variables are no longer in the dashboard's order")
	}
}

func TestVariablesThatNeedOneAnotherAreNamed(t *testing.T) {
	s := resolve(t, &asked{labels: map[string][]string{"a of x": {"1"}}}, nil,
		Variable{Name: "a", Kind: KindQuery, Query: "label_values($b, a)"},
		Variable{Name: "b", Kind: KindQuery, Query: "label_values($a, b)"})
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "variable a: it needs a variable that needs it") {
		t.Errorf("error %v", err)
	}
}

func TestAVariableThatNobodyAnswersLeavesTheOthersAlone(t *testing.T) {
	s := resolve(t, &asked{labels: map[string][]string{"b of ": {"1"}}}, nil,
		Variable{Name: "a", Kind: KindQuery, Query: "label_values(x, a)"},
		Variable{Name: "b", Kind: KindQuery, Query: "label_values({}, b)"},
		Variable{Name: "c", Kind: KindQuery, Query: "up"})
	err := s.Err()
	if err == nil || strings.Contains(err.Error(), "variable b") || !strings.Contains(err.Error(), "variable a: nobody answers") || !strings.Contains(err.Error(), `variable c: "up" is no question`) {
		t.Errorf("error %v", err)
	}
	if got := s.Written("[$a] $b"); got != "[] 1" {
		t.Errorf("values %q", got)
	}
}

func TestAResultBecomesTheLinesThatGrafanaMakes(t *testing.T) {
	a := Answer{Samples: []Sample{{Labels: map[string]string{"__name__": "m", "run": `r"1`, "arm": "native"}, Value: "12.5", Time: time.UnixMilli(1700000000123)}}}
	if got := a.texts(); len(got) != 1 || got[0] != `m{arm="native",run="r"1"} 12.5 1700000000123` {
		t.Errorf("vector %q", got)
	}
	a.Scalar = true
	if got := a.texts(); got[0] != "12.5" {
		t.Errorf("scalar %q", got)
	}
}

func TestARegularExpressionTakesItsGroups(t *testing.T) {
	for _, c := range []struct {
		regex string
		want  string
	}{
		{"", "a=1 b=2|1;a=1 b=2|1;c|1"},
		{"c", "c|1"},
		{"/a=(.)/", "1|1"},
		{"/(.)=(.)/g", "a|1;b|1"},
		{"/A=(.)/i", "1|1"},
		{"/a=(?<value>.) b=(?<text>.)/", "1 shown as 2|1"},
		{"/b=/", "a=1 b=2|1"},
		{"/nothing/", ""},
	} {
		a := &asked{labels: map[string][]string{"l of ": {"a=1 b=2", "a=1 b=2", "c"}}}
		s := resolve(t, a, nil, Variable{Name: "v", Kind: KindQuery, Query: "label_values(l)", Regex: c.regex})
		var got []string
		for _, o := range s.Variables[0].Options {
			if o.Text != o.Value {
				o.Value += " shown as " + o.Text
			}
			got = append(got, o.Value+"|1")
		}
		want := strings.Split(c.want, ";")
		if c.regex == "" {
			want = []string{"a=1 b=2|1", "c|1"}
		}
		if c.want == "" {
			want = nil
		}
		if err := s.Err(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q (%v)", c.regex, got, want, err)
		}
	}
	s := resolve(t, &asked{labels: map[string][]string{"l of ": {"x"}}}, nil, Variable{Name: "v", Kind: KindQuery, Query: "label_values(l)", Regex: "/(?=x)/"})
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "variable v: regular expression /(?=x)/") {
		t.Errorf("error %v", err)
	}
}

func TestOptionsAreSortedAsTheFileSays(t *testing.T) {
	for order, want := range map[int]string{
		sortNone: "b10,a9,B2,c", sortAlphabetical: "B2,a9,b10,c", sortAlphabeticalDescending: "c,b10,a9,B2",
		sortNumerical: "c,B2,a9,b10", sortNumericalDescending: "b10,a9,B2,c", sortFolded: "a9,b10,B2,c",
		sortFoldedDescending: "c,B2,b10,a9", sortNatural: "a9,B2,b10,c", sortNaturalDescending: "c,b10,B2,a9", 99: "b10,a9,B2,c",
	} {
		var options []Option
		for _, text := range []string{"b10", "a9", "B2", "c"} {
			options = append(options, Option{text, text})
		}
		sortOptions(options, order)
		var got []string
		for _, o := range options {
			got = append(got, o.Text)
		}
		if strings.Join(got, ",") != want {
			t.Errorf("order %d: %v, want %s", order, got, want)
		}
	}
	if natural("a\xff1", "a\xff02") >= 0 || natural("a", "a1") >= 0 {
		t.Error("odd texts are out of order")
	}
}

func TestAValueComesFromTheAddressThenTheFileThenTheOptions(t *testing.T) {
	three := map[string][]string{"l of ": {"a", "b", "c"}}
	plain := Variable{Name: "v", Kind: KindQuery, Query: "label_values(l)"}
	multi, all := plain, plain
	multi.Multi = true
	all.IncludeAll, all.Multi, all.AllValue = true, true, ".*"
	stored := func(v Variable, values ...string) Variable { v.Current = values; return v }
	for _, c := range []struct {
		name     string
		variable Variable
		chosen   []string
		want     string
	}{
		{"first option", plain, nil, "a"},
		{"stored", stored(plain, "b"), nil, "b"},
		{"stored but gone", stored(plain, "gone"), nil, "a"},
		{"address", stored(plain, "b"), []string{"c", "a"}, "c"},
		{"address with what is no option", plain, []string{"gone"}, "gone"},
		{"several", multi, []string{"c", "a"}, "c,a"},
		{"several stored, one gone", stored(multi, "b", "gone"), nil, "b"},
		{"all stored", stored(all, All), nil, All},
		{"all in the address", all, []string{"All"}, All},
		{"all as its own value", all, []string{".*"}, All},
		{"all where there is none", stored(plain, All), nil, "a"},
	} {
		s := resolve(t, &asked{labels: three}, map[string][]string{"v": c.chosen}, c.variable)
		if got := strings.Join(s.Variables[0].Current, ","); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	none := &asked{labels: map[string][]string{"l of ": nil}}
	for want, v := range map[string]Variable{"{plain}": plain, "{multi}": multi, "{all}": all} {
		if got := resolve(t, none, nil, v).Written("<$v>"); (want == "{all}") != (got == "<.*>") || want != "{all}" && got != "<>" {
			t.Errorf("%s without options is %s", want, got)
		}
	}
}

func TestKindsWithoutAQuestionHaveTheirOwnOptions(t *testing.T) {
	s := resolve(t, &asked{}, map[string][]string{"t": {"typed"}, "k": {"not mine"}},
		Variable{Name: "c", Kind: KindCustom, Query: `p50 : 0.5, p99 : 0.99,a\,b,`, Current: []string{"0.99"}},
		Variable{Name: "i", Kind: KindInterval, Query: "1m,5m"},
		Variable{Name: "t", Kind: KindTextbox, Query: "first"},
		Variable{Name: "k", Kind: KindConstant, Query: "fixed"})
	if got := s.Written("$c ${c:text} $i $t $k"); got != "0.99 p99 1m typed fixed" {
		t.Errorf("values %q", got)
	}
	if got := s.Variables[0].Options; len(got) != 3 || got[2].Value != "a,b" {
		t.Errorf("options %v", got)
	}
	if got := s.Address().Encode(); got != "var-c=0.99&var-i=1m&var-t=typed" {
		t.Errorf("address %q", got)
	}
}
