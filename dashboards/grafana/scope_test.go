package grafana

import (
	"strings"
	"testing"
	"time"
)

func testScope() Scope {
	end := time.UnixMilli(1_700_000_000_123).UTC()
	return Scope{
		Settings: Settings{Source: "prom", Scrape: 5 * time.Second, Window: Window{end.Add(-30 * time.Minute), end}},
		Variables: []Resolved{
			{Variable: Variable{Name: "host", Kind: KindQuery}, Options: []string{"spark"}, Current: []string{"spark"}},
			{Variable: Variable{Name: "evil", Kind: KindQuery}, Current: []string{`a"} or up{b='c\d` + "\ne`"}},
			{Variable: Variable{Name: "one", Kind: KindQuery, Multi: true}, Current: []string{"a.b"}},
			{Variable: Variable{Name: "two", Kind: KindQuery, Multi: true}, Options: []string{"a.b", "c"}, Current: []string{"a.b", "c"}},
			{Variable: Variable{Name: "all", Kind: KindQuery, IncludeAll: true, AllValue: ".+"}, Options: []string{"x"}, Current: []string{All}},
			{Variable: Variable{Name: "every", Kind: KindQuery, IncludeAll: true}, Options: []string{"x", "y|z"}, Current: []string{All}},
			{Variable: Variable{Name: "shift", Kind: KindQuery}, Current: []string{"-300.5"}},
		},
	}
}

func TestVariablesAreWrittenIntoAQueryAsGrafanaDoes(t *testing.T) {
	s := testScope()
	for written, want := range map[string]string{
		`m{host="$host"}`:                        `m{host="spark"}`,
		`m{host="${host}"} + m{host="[[host]]"}`: `m{host="spark"} + m{host="spark"}`,
		`m{host="$hosts"}`:                       `m{host="$hosts"}`, // another name
		`m{a="$evil"}`:                           `m{a="a\"} or up{b='c\\d\ne` + "`" + `"}`,
		`m{a='$evil'}`:                           `m{a='a"} or up{b=\'c\\d\ne` + "`" + `'}`,
		`m{a=~"$one"}`:                           `m{a=~"a\\.b"}`,
		`m{a=~"$two"}`:                           `m{a=~"(a\\.b|c)"}`,
		"m{a=~`$two`}":                           "m{a=~`(a\\.b|c)`}",
		`m{a=~"$all"}`:                           `m{a=~".+"}`,
		`m{a=~"$every"}`:                         `m{a=~"(x|y\\|z)"}`,
		`m offset ${shift}s`:                     `m offset -300.5s`,
		`rate(m[$__rate_interval])`:              `rate(m[20s])`,
		`rate(m[$__rate_interval]) # "$host`:     `rate(m[20s]) # "spark`,
		`label_replace(m, "a", "$1", "b", "x$")`: `label_replace(m, "a", "$1", "b", "x$")`,
		`m{a="\"$host"}`:                         `m{a="\"spark"}`,
	} {
		got, err := s.Expr(written, 20*time.Second)
		if err != nil || got != want {
			t.Errorf("%s became\n%s, want\n%s (%v)", written, got, want, err)
		}
	}
}

func TestAValueThatCannotBeWrittenSafelyIsRefused(t *testing.T) {
	s := testScope()
	for _, written := range []string{`m{a="${evil:raw}"}`, `m{a=~"${one:regex}"}`, "m{a=`$evil`}", `m{a="\$host"}`, `m{a='${evil:csv}'}`} {
		if got, err := s.Expr(written, time.Second); err == nil {
			t.Errorf("%s became %s", written, got)
		}
	}
}

func TestTitlesHaveTextsAndLegendsHaveValues(t *testing.T) {
	s := testScope()
	if got := s.Titled("$two on ${host}, $every, $all, {{label}}, ${__data.fields.run}, $unknown"); got != "a.b + c on spark, All, All, {{label}}, ${__data.fields.run}, $unknown" {
		t.Errorf("title %q", got)
	}
	if got := s.Written("$two {{label}} ${two:csv} $all"); got != `{a.b,c} {{label}} ${two:csv} .+` {
		t.Errorf("legend %q", got)
	}
	if got := s.Written("/d/x?${__url_time_range}&${host:queryparam}&${two:queryparam}&${all:queryparam}&${evil:queryparam}"); got != "/d/x?from=1699998200123&to=1700000000123&var-host=spark&var-two=a.b&var-two=c&var-all=%24__all&var-evil=a%22%7D%20or%20up%7Bb%3D%27c%5Cd%0Ae%60" {
		t.Errorf("link %q", got)
	}
}

func TestLegendsTakeLabelsFromTheSeries(t *testing.T) {
	labels := map[string]string{"__name__": "m", "host": "spark", "a": `q"`}
	for format, want := range map[string]string{
		"{{host}}: {{ a }}": `spark: q"`,
		"{{missing}}!":      "!",
		"":                  `m{a="q\"", host="spark"}`,
		"__auto":            `m{a="q\"", host="spark"}`,
	} {
		if got := Legend(format, labels); got != want {
			t.Errorf("%q: %q, want %q", format, got, want)
		}
	}
	if got := Legend("", map[string]string{"__name__": "up"}) + Legend("", nil); got != "up{}" {
		t.Errorf("bare series %q", got)
	}
	if got := EventText("run {{run}} on {{host}}", labels); got != "run run on spark" {
		t.Errorf("event %q", got)
	}
}

// FuzzInterpolation tries any text and any values: no panic, no reference to a declared variable
// is left, and no value leaves the quotes that it was written into.
func FuzzInterpolation(f *testing.F) {
	f.Add(`m{a=~"$v", b='${v:csv}'} / n{c="[[v]]"}`, `x"y'`, "z|`\\")
	f.Add("m{a=`$v`} # $v\n", "\n", `\`)
	f.Add(`"\$v" '\'$v' ${v:regex} ${v.a:raw}`, "a.b", `"`)
	f.Fuzz(func(t *testing.T, text, first, second string) {
		if len(text)+len(first)+len(second) > 400 {
			return // long texts take time and find nothing else
		}
		for _, multi := range []bool{false, true} {
			v := Resolved{Variable: Variable{Name: "v", Kind: KindQuery, Multi: multi}, Current: []string{first, second}}
			s := Scope{Variables: []Resolved{v}}
			got, err := s.Expr(text, time.Second)
			if err != nil {
				continue
			}
			if !strings.Contains(first+second+text, "$__") && !strings.Contains(text, "${__") && !strings.Contains(first+second, "$") {
				want := strings.Count(text, "$") - dollars(text)
				for _, out := range []string{s.Titled(text), s.Written(text), got} {
					if strings.Count(out, "$") != want {
						t.Fatalf("a reference is left in %q of %q", out, text)
					}
				}
			}
			checkQuotes(t, s, text)
		}
	})
}

// dollars counts the dollar signs of the references to v. A query with a format in it is an error.
func dollars(text string) int {
	count := 0
	for _, m := range mentions(text) {
		if m.name == "v" {
			count += strings.Count(m.written, "$")
		}
	}
	return count
}

// checkQuotes reads the written query piece by piece: after every value that stands in a quote,
// the same quote is open.
func checkQuotes(t *testing.T, s Scope, text string) {
	var state quoting
	done := 0
	for _, at := range reference.FindAllStringSubmatchIndex(text, -1) {
		state.read(text[done:at[0]])
		done = at[1]
		before := state
		m := mentionAt(text, at)
		inserted := m.written
		var err error
		if m.name == "v" && (before.escaped || m.format != "") {
			return // refused
		}
		if m.name == "v" {
			inserted, err = s.Expr(prefixOf(before.quote)+"$v", time.Second)
			inserted = strings.TrimPrefix(inserted, prefixOf(before.quote))
		}
		if err != nil {
			return
		}
		state.read(inserted)
		if before.quote != 0 && m.name == "v" && state != before {
			t.Fatalf("%q in %q leaves its quotes", inserted, text)
		}
	}
}

func prefixOf(quote byte) string {
	if quote == 0 {
		return ""
	}
	return string(quote)
}
