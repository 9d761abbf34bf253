package runner

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/workload"
)

func TestForeignTextCannotDriveTheTerminal(t *testing.T) {
	got := printable("a\x1b[31mred\r\nnext\u202eevil\u200b \x9b2J \xff " + strings.Repeat("x", 5000))
	if strings.ContainsAny(got, "\x1b\r\n\u202e\u200b\u009b") || !utf8.ValidString(got) || len(got) > openai.LongestForeign+10 {
		t.Errorf("%q", got)
	}
}

func TestAnswersAreComparedWithTheModelAskedFor(t *testing.T) {
	answer := func(model, fingerprint string) openai.Result {
		return openai.Result{Record: openai.Record{Status: openai.StatusOK}, Model: model, SystemFingerprint: fingerprint}
	}
	for _, c := range []struct {
		name            string
		results         []openai.Result
		mismatch, warns bool
		checked         bool
	}{
		{"as asked", []openai.Result{answer("m", "f"), answer("m", "f")}, false, false, true},
		{"silent server", []openai.Result{answer("", "")}, false, false, false},
		{"with its revision (transformers serve)", []openai.Result{answer("m@main", "")}, false, false, true},
		{"another model", []openai.Result{answer("m", ""), answer("n", "")}, true, false, true},
		{"restarted as another", []openai.Result{answer("m", "f"), answer("m", "g")}, false, true, true},
		{"failed ones do not count", []openai.Result{{Record: openai.Record{Status: openai.StatusInBand}, Model: "n"}}, false, false, false},
	} {
		a := &answers{}
		for _, r := range c.results {
			a.add(r, 0, 256, false)
		}
		m := a.of(0).judge(server.Model{ID: "m"})
		if m.Checked != c.checked || (m.Mismatch != "") != c.mismatch || (len(a.warnings(&workload.Workload{})) > 0) != c.warns {
			t.Errorf("%s: %+v, %v", c.name, m, a.warnings(&workload.Workload{}))
		}
	}
	many := &answers{}
	for i := range 1000 {
		many.add(answer(fmt.Sprint(i), ""), 0, 256, false)
	}
	if len(many.of(0).models) != mostNames {
		t.Errorf("%d names kept", len(many.of(0).models))
	}
}

func TestWarningsNameWhatTheAnswersShow(t *testing.T) {
	result := func(cached, out int) openai.Result {
		return openai.Result{Record: openai.Record{Status: openai.StatusOK, TokensIn: new(100), TokensCached: new(cached), TokensOut: new(out)}}
	}
	for _, c := range []struct {
		name   string
		result openai.Result
		forced bool
		says   string
	}{
		{"nothing", result(10, 8), false, ""},
		{"the length asked for", result(0, 8), true, ""},
		{"another length", result(0, 7), true, "do not have the exact length"},
		{"shorter than the cap", result(0, 7), false, ""},
		{"beyond the cap", result(0, 9), false, "longer than the most that was asked for"},
	} {
		a := &answers{}
		a.add(c.result, 0, 8, c.forced)
		if got := strings.Join(a.warnings(&workload.Workload{}), ""); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

func TestPromptsThatTheServerCutAreNamed(t *testing.T) {
	type pair struct{ target, counted int }
	for _, c := range []struct {
		name  string
		pairs []pair
		says  string
	}{
		{"each as long as meant", []pair{{500, 510}, {900, 910}, {700, 710}}, ""},
		{"cut at 2048", []pair{{1500, 1510}, {2300, 2048}, {2900, 2048}, {2600, 2048}}, "3 prompts that were to have 2300 to 2900 tokens were all counted as 2048"},
		{"cut, and longer than was thought", []pair{{1373, 2048}, {1876, 2048}, {1579, 2048}}, "were all counted as 2048"},
		{"two by chance", []pair{{500, 510}, {501, 510}, {502, 500}}, ""},
		{"all meant to be as long", []pair{{500, 510}, {500, 510}, {500, 510}}, ""},
	} {
		a := &answers{}
		for _, p := range c.pairs {
			a.add(openai.Result{Record: openai.Record{Status: openai.StatusOK, InputTokensTarget: p.target, TokensIn: new(p.counted)}}, 0, 8, false)
		}
		if got := strings.Join(a.warnings(&workload.Workload{}), ""); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
