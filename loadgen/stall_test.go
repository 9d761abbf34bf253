package loadgen

import (
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/report"
)

func TestStallsAreNotedDownToTheLimitThatJudgesThem(t *testing.T) {
	for _, c := range []struct {
		limits report.Limits
		want   time.Duration
	}{
		{nil, usualShortest},
		{report.Limits{report.CodeClientStall: {Value: 0.005}}, 5 * time.Millisecond},
		{report.Limits{report.CodeClientStall: {Value: 1}}, usualShortest}, // a longer limit hides none
		{report.Limits{report.CodeClientStall: {Off: true}}, usualShortest},
	} {
		if got := shortestStall(c.limits); got != c.want {
			t.Errorf("limits %v: %s, want %s", c.limits, got, c.want)
		}
	}
}
