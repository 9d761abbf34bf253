package report

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/summary/testrun"
)

// Runs of a campaign have several labels that divide them alike, and one that is made of others.
func TestRunsOfACampaignAreNamedOnceByWhatTheyDifferIn(t *testing.T) {
	s := &Runs{}
	for i, arm := range []string{"native", "container", "container", "native"} {
		iteration := strconv.Itoa(1 + i/2)
		labels := map[string]string{"arm": arm, "environment": "the " + arm, "campaign": "c", "model": "m", "pair": "m/s/" + iteration, "iteration": iteration, "round": iteration, "slot": strconv.Itoa(i)}
		s.runs = append(s.runs, summary.Run{Summary: summary.Summary{Labels: labels}})
	}
	if got, want := s.names(), []string{"native, 1", "container, 1", "container, 2", "native, 2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestThePageOfACampaignBeginsWithTheVerdictsOnItsArms(t *testing.T) {
	var runs []summary.Run
	var observed []compare.Run
	for i, arm := range []string{"native", "container", "container", "native"} {
		run := testrun.New(testrun.Steady(12)...)
		run.Manifest.Run = "r" + strconv.Itoa(i)
		run.Manifest.Labels = map[string]string{"arm": arm, "campaign": "c"}
		r := read(t, run)
		r.Summary.Model.Simulated = true
		runs, observed = append(runs, r), append(observed, compare.FromRun(r))
	}
	c, err := compare.Compare(observed, compare.Options{By: "arm", Baseline: "native", Primary: figure.OutputTokensPerSecond})
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	if err := NewRuns(runs, []string{"c"}, "").Compared(c).WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page.String(), "none of this is a measurement"); n != 1 {
		t.Errorf("that the engine is simulated is said %d times", n)
	}
	at := 0
	for _, want := range []string{"<h1>Campaign c</h1>", "container against native: ", "; 4 runs, ", "<th scope=\"col\" class=\"words\">verdict", "<h2>Runs</h2>", "All 4 runs are valid", "<svg"} {
		i := strings.Index(page.String()[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing, or above what comes before it: %.3000s", want, page.String()[at:])
		}
		at += i
	}
}

// worksOf returns runs whose workloads have these sums, "" for one that is not known.
func worksOf(t *testing.T, sums ...string) []summary.Run {
	t.Helper()
	var runs []summary.Run
	for i, sum := range sums {
		run := testrun.New(testrun.Steady(12)...)
		run.Manifest.Run = "r" + strconv.Itoa(i)
		r := read(t, run)
		r.Summary.WorkloadSHA256 = sum
		runs = append(runs, r)
	}
	return runs
}

func TestRunsOfOtherWorkAreNamedAndNotRanked(t *testing.T) {
	for _, c := range []struct {
		name   string
		sums   []string
		ranked bool
		says   string
	}{
		{"the same work", []string{"a", "a", ""}, true, ""},
		{"one of other work", []string{"a", "b", "a"}, true, "Other work, so not compared: \"r1\"."},
		{"many of other work", []string{"a", "a", "b", "c", "d", "e", "f", "g"}, true, "Other work, so not compared: \"r2\", \"r3\", \"r4\", \"r5\", \"r6\" and 1 more."},
		{"each of its own or not known", []string{"a", "b", ""}, false, "No two runs did the same work, so they are not compared."},
	} {
		answer := NewRuns(worksOf(t, c.sums...), []string{"runs"}, "").group().answer()
		if ranked := strings.Contains(answer, "highest at"); ranked != c.ranked || !strings.Contains(answer, c.says) || c.says == "" && strings.Contains(answer, "ork") {
			t.Errorf("%s: %s", c.name, answer)
		}
	}
}

// TestPointsOfASweepDoOtherWork: another rate is another schedule. They are ranked by it.
func TestPointsOfASweepDoOtherWork(t *testing.T) {
	runs := worksOf(t, "a", "b", "c")
	for i := range runs {
		runs[i].Summary.Labels = map[string]string{"rate": strconv.Itoa(1 + i)}
	}
	if answer := NewRuns(runs, []string{"runs"}, "").group().answer(); !strings.Contains(answer, "highest at rate") || strings.Contains(answer, "work") {
		t.Error(answer)
	}
}

func TestTablesOfRunsFitInATerminal(t *testing.T) {
	var text strings.Builder
	if err := NewRuns(worksOf(t, "a", "a", "a"), []string{"runs"}, "").WriteText(&text); err != nil {
		t.Fatal(err)
	}
	_, tables, _ := strings.Cut(text.String(), "\n\n") // the sentences above are broken by the terminal
	if !strings.Contains(tables, "E2E p50") {
		t.Fatalf("no table: %s", tables)
	}
	for line := range strings.Lines(tables) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > narrowColumns {
			t.Errorf("%q", line)
		}
	}
}
