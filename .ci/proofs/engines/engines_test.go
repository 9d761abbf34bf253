package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestSumAddsUpAllSamplesOfAMetric(t *testing.T) {
	p := page("# HELP a_total of b\n# TYPE a_total counter\n" +
		"a_total{model=\"m\",kind=\"x y\"} 2\na_total{kind=\"z\"} 3.5 1700000000\na_total_created{kind=\"z\"} 9\nb 1e3\n")
	for _, one := range []struct {
		metric string
		labels []string
		want   float64
		found  bool
	}{
		{"a_total", nil, 5.5, true}, {"a_total", []string{`kind="z"`}, 3.5, true}, {"a_total", []string{`kind="none"`}, 0, false},
		{"b", nil, 1000, true}, {"a", nil, 0, false},
	} {
		if got, found := p.sum(one.metric, one.labels...); got != one.want || found != one.found {
			t.Errorf("%s %v: %v, %v", one.metric, one.labels, got, found)
		}
	}
	if got := p.label("a_total", "kind"); got != "x y" {
		t.Errorf("label: %q", got)
	}
}

// FuzzSum: a page that stands there twice has twice the sum, and a page without the name has none.
func FuzzSum(f *testing.F) {
	f.Add("a{b=\"c\"} 1\na 2\n", "a")
	f.Add("a} {", "a")
	f.Fuzz(func(t *testing.T, text, metric string) {
		one, found := page(text).sum(metric)
		twice, again := page(text + "\n" + text).sum(metric)
		if found != again || twice != one+one && one == one {
			t.Errorf("%v, %v: twice %v, %v", one, found, twice, again)
		}
		if found && !strings.Contains(text, metric) {
			t.Error("found what is not there")
		}
	})
}

func TestServersAreTheFilesOfTheFolder(t *testing.T) {
	entries, err := os.ReadDir("servers")
	if err != nil {
		t.Fatal(err)
	}
	var files, names []string
	for _, e := range entries {
		files = append(files, e.Name())
	}
	for _, s := range servers() {
		names = append(names, s.name)
	}
	slices.Sort(names)
	if !slices.Equal(files, names) {
		t.Errorf("files %v, servers %v", files, names)
	}
}

// TestServersPageIsGenerated compares loadgen/SERVERS.md with what `prove --keep` writes.
func TestServersPageIsGenerated(t *testing.T) {
	var all []result
	if err := readJSON("results.json", &all); err != nil {
		t.Fatal(err)
	}
	want, err := pageOf(all)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../loadgen/SERVERS.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("loadgen/SERVERS.md is not what results.json and SERVERS.md.tmpl make: run .ci/proofs/engines/prove --keep")
	}
}

func TestARowThatDiffersWithoutAReasonIsWrong(t *testing.T) {
	d := &driver{}
	d.row("chat", "requests", "8", "8")
	d.row("chat", "cached tokens", "0", "")
	d.row("chat", "tokens in", "7", "9")
	d.row("chat", "hits", "", "")
	r := result{Rows: d.rows}
	r.explain(map[[2]string]string{{"*", "cached tokens"}: "not counted"})
	if len(r.Rows) != 3 || r.wrong() != 1 || r.Agreeing() != 1 {
		t.Errorf("%d rows, %d wrong, %d agree", len(r.Rows), r.wrong(), r.Agreeing())
	}
	lines := r.Lines()
	if len(lines) != 1 || lines[0].Note != "cached tokens: not counted, DIFFERS: tokens in" {
		t.Errorf("%+v", lines)
	}
}

func TestTokenizerIsTheSameEachTime(t *testing.T) {
	const text = "the model reads the text, and the text is read again by the model"
	one, two := learn(text), learn(text)
	if !slices.Equal(one.tokens, two.tokens) || !slices.Equal(one.merges, two.merges) {
		t.Error("two tokenizers of one text differ")
	}
	if len(one.tokens) != vocabularySize || !slices.Contains(one.tokens, "Ġthe") {
		t.Errorf("%d tokens", len(one.tokens))
	}
	if sorted := slices.Sorted(slices.Values(one.tokens)); len(slices.Compact(sorted)) != vocabularySize {
		t.Error("a token stands there twice")
	}
}

func TestRecordedPageHasNoBucketsAndTimes(t *testing.T) {
	got := page("# TYPE a histogram\na_bucket{le=\"1\"} 3\na_sum 2\na_created 1.7e9\nb 1\n").recorded()
	if want := "# TYPE a histogram\na_sum 2\nb 1\n"; got != want {
		t.Errorf("%q", got)
	}
}

func TestEveryServerIsDescribed(t *testing.T) {
	for _, s := range servers() {
		if s.version == nil || s.context == nil || s.counts == nil || s.machine == nil || s.url == "" {
			t.Errorf("%s is not described", s.name)
		}
	}
}
