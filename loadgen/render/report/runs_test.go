package report

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
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
		runs, observed = append(runs, r), append(observed, r.Observation())
	}
	c, err := compare.Compare(observed, compare.Options{By: "arm", Baseline: "native", Primary: compare.OutputTokensPerSecond})
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
