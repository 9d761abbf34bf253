package report

import (
	"slices"
	"strconv"
	"testing"

	"github.com/umascope/umascope/loadgen/summary"
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
