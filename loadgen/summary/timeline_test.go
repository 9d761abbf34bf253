package summary

import (
	"math"
	"testing"

	"github.com/umascope/umascope/loadgen/summary/testrun"
)

func TestARunTooLongToShowEachRequestShowsAnEvenShare(t *testing.T) {
	line := newTimeline(1000)
	for i := range 10 * mostDots {
		line.add(testrun.Answered(i, int64(i)*50, 10, 20))
	}
	if len(line.Kept) > 2*mostDots || len(line.Kept) < mostDots || line.Seen != 10*mostDots || line.Every != 8 {
		t.Errorf("%d kept of %d", len(line.Kept), line.Seen)
	}
	for i, s := range line.Kept {
		if want := float64(i*line.Every) * .05; math.Abs(s.At-want) > 1e-9 {
			t.Fatalf("request %d was sent at %v, want %v", i, s.At, want)
		}
	}
}

func TestLoadOverTimeAddsUp(t *testing.T) {
	line := newTimeline(100)
	tokens, inFlight := 0.0, 0.0
	for i := range 50 {
		r := testrun.Answered(i, int64(i)*1700, 100, 900, 2000)
		line.add(r)
		inFlight += seconds(*r.EndNS - *r.DispatchNS)
	}
	width := 100. / TimelineBins
	for i := range TimelineBins {
		tokens += line.Tokens[i] * width
		inFlight -= line.Running[i] * width
	}
	if math.Abs(tokens-150) > 1e-6 || math.Abs(inFlight) > 1e-6 {
		t.Errorf("%v tokens of 150, %v s of requests lost", tokens, inFlight)
	}
}
