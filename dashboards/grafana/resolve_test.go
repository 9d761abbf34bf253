package grafana

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// asked is a source that answers from tables and remembers what it was asked.
type asked struct {
	labels  map[string][]string // by label and selector
	answers map[string][]Sample // by expression
	heard   []string
}

func (a *asked) source() Source {
	return Source{
		LabelValues: func(_ context.Context, label, selector string, _ Window) ([]string, error) {
			a.heard = append(a.heard, label+" of "+selector)
			if values, ok := a.labels[label+" of "+selector]; ok {
				return slices.Clone(values), nil
			}
			return nil, errors.New("no answer")
		},
		Instant: func(_ context.Context, expression string, at time.Time) ([]Sample, error) {
			a.heard = append(a.heard, expression+" at "+at.Format("15:04"))
			if answer, ok := a.answers[expression]; ok {
				return answer, nil
			}
			return nil, errors.New("no answer")
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
		answers: map[string][]Sample{`start{run="r2"}`: {
			{Labels: map[string]string{"run": "r2", "host": "h"}, Value: "-300.5", Time: noon},
		}},
	}
	s := resolve(t, a, map[string][]string{"run": {"r2"}},
		Variable{Name: "shift", Kind: KindQuery, Query: `query_result(start{run="$run"})`, Regex: regexp.MustCompile(`\} (\S+) `), Hide: 2},
		Variable{Name: "run", Kind: KindQuery, Query: `label_values(runs{host="${host}"}, run)`},
		Variable{Name: "host", Kind: KindQuery, Query: "label_values(up, host)", Sort: sortNatural, Datasource: "${datasource}"},
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

func TestAVariableWithoutAnAnswerLeavesTheOthersAlone(t *testing.T) {
	s := resolve(t, &asked{labels: map[string][]string{"b of ": {"1"}}}, nil,
		Variable{Name: "a", Kind: KindQuery, Query: "label_values(x, a)"},
		Variable{Name: "b", Kind: KindQuery, Query: "label_values(b)"},
		Variable{Name: "c", Kind: KindQuery, Query: "up"})
	err := s.Err()
	if err == nil || strings.Contains(err.Error(), "variable b") || !strings.Contains(err.Error(), "variable a: no answer") || !strings.Contains(err.Error(), `variable c: "up" is no question`) {
		t.Errorf("error %v", err)
	}
	if got := s.Written("[$a] $b"); got != "[] 1" {
		t.Errorf("values %q", got)
	}
}

func TestAResultBecomesTheLinesThatGrafanaMakes(t *testing.T) {
	a := []Sample{{Labels: map[string]string{"__name__": "m", "run": `r"1`, "arm": "native"}, Value: "12.5", Time: time.UnixMilli(1700000000123)}}
	if got := resultLines(a); len(got) != 1 || got[0] != `m{arm="native",run="r"1"} 12.5 1700000000123` {
		t.Errorf("vector %q", got)
	}
}

func TestOptionsAreFilteredAndSortedAsInTheFile(t *testing.T) {
	found := []string{"b10", "a9", "B2", "c", "a9"}
	for _, c := range []struct {
		regex string
		order int
		want  string
	}{
		{"", sortNone, "b10,a9,B2,c"},
		{"", sortNatural, "a9,B2,b10,c"},
		{"", sortNaturalDescending, "c,b10,B2,a9"},
		{"[0-9]", sortNone, "b10,a9,B2"},
		{"([a-z])[0-9]", sortNone, "b,a"},
		{"nothing", sortNone, ""},
	} {
		v := Variable{Sort: c.order}
		if c.regex != "" {
			v.Regex = regexp.MustCompile(c.regex)
		}
		if got := strings.Join(v.options(found), ","); got != c.want {
			t.Errorf("%q, order %d: %s, want %s", c.regex, c.order, got, c.want)
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
