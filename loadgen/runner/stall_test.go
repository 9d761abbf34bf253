package runner

import (
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/summary"
)

func TestStallsAreRecordedDownToTheLimitThatJudgesThem(t *testing.T) {
	for _, c := range []struct {
		limits summary.Limits
		want   time.Duration
	}{
		{nil, usualStall},
		{summary.Limits{summary.CodeClientStall: {Value: 0.005}}, 5 * time.Millisecond},
		{summary.Limits{summary.CodeClientStall: {Value: 1}}, usualStall}, // a longer limit hides none
		{summary.Limits{summary.CodeClientStall: {Off: true}}, usualStall},
	} {
		if got := shortest(usualStall, c.limits); got != c.want {
			t.Errorf("limits %v: %s, want %s", c.limits, got, c.want)
		}
	}
}
