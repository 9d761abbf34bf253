package runner

import (
	"fmt"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
)

// The system clock is slewed all the time, by up to 500 parts in a million (adjtimex(2)). A difference below one second
// plus twice that slew is not a step.
const (
	leastStep = time.Second
	mostSlew  = 0.001
)

// stepped returns by how much the time of day moved against the monotonic clock between two moments, if slewing does
// not explain it. Then the clock was set, or the machine slept, which stops the monotonic clock.
func stepped(monotonic, wall time.Duration) time.Duration {
	step := wall - monotonic
	if step.Abs() < leastStep+time.Duration(mostSlew*float64(monotonic)) {
		return 0
	}
	return step
}

// clockStep returns the step since the start of a run, whose clock is monotonic.
func clockStep(started, now time.Time, clock openai.Clock) time.Duration {
	return stepped(time.Duration(clock()), now.Round(0).Sub(started.Round(0)))
}

// stepWarning returns the warning about the figures that a step of the time of day distorts.
func stepWarning(seconds float64) string {
	return fmt.Sprintf("the time of day moved by %.3f s while the run lasted: it was set, or the machine slept. Figures are of another clock and hold; "+
		"started_at, ended_at, the log of a container and what Prometheus has of the run may not agree", seconds)
}
