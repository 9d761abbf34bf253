package loadgen

import (
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/report"
)

func TestStallsAreRecordedDownToTheLimitThatJudgesThem(t *testing.T) {
	for _, c := range []struct {
		limits report.Limits
		want   time.Duration
	}{
		{nil, usualStall},
		{report.Limits{report.CodeClientStall: {Value: 0.005}}, 5 * time.Millisecond},
		{report.Limits{report.CodeClientStall: {Value: 1}}, usualStall}, // a longer limit hides none
		{report.Limits{report.CodeClientStall: {Off: true}}, usualStall},
	} {
		if got := shortest(usualStall, c.limits); got != c.want {
			t.Errorf("limits %v: %s, want %s", c.limits, got, c.want)
		}
	}
}
