package summary

import "github.com/umascope/umascope/loadgen/openai"

// mostDots is the number of requests that a chart shows one by one; of a longer run it shows one in k.
const mostDots = 1200

// TimelineBins is the number of bins of the load over time.
const TimelineBins = 160

// Timeline collects the data of the charts over time, in one pass over the requests.
type Timeline struct {
	End     float64 // of the run, in seconds
	Every   int     // one request in this many is kept
	Seen    int
	Kept    []Sent
	Running []float64 // requests in flight, mean by bin
	Tokens  []float64 // output tokens, or chunks, by bin
	Counted bool      // true if the server counted the tokens of every answer
	// First, Whole and Gaps are the times to the first token, the durations and the gaps between chunks, of all requests.
	First, Whole, Gaps Heat
}

// Sent is one request: its time and its latencies, in seconds.
type Sent struct {
	At, TTFT, E2E float64 // TTFT is negative without one
	Status        openai.Status
}

func newTimeline(end float64) *Timeline {
	return &Timeline{End: end, Every: 1, Running: make([]float64, TimelineBins), Tokens: make([]float64, TimelineBins), Counted: true}
}

func (t *Timeline) add(r openai.Record) {
	if r.DispatchNS == nil {
		return // never in flight
	}
	t.addLoad(r)
	s := Sent{At: seconds(*r.DispatchNS), TTFT: -1, E2E: seconds(lastMoment(r) - *r.DispatchNS), Status: r.Status}
	if d, ok := r.TTFT(openai.FromSend); ok {
		s.TTFT = d.Seconds()
		t.First.add(t.bin(s.At), d.Nanoseconds())
	}
	if d, ok := r.E2E(openai.FromSend); ok && r.Status == openai.StatusOK {
		s.E2E = d.Seconds()
		t.Whole.add(t.bin(s.At), d.Nanoseconds())
	}
	if t.Seen++; (t.Seen-1)%t.Every != 0 {
		return
	}
	if t.Kept = append(t.Kept, s); len(t.Kept) == 2*mostDots {
		t.thin()
	}
}

// thin keeps every other request.
func (t *Timeline) thin() {
	for i := range mostDots {
		t.Kept[i] = t.Kept[2*i]
	}
	t.Kept = t.Kept[:mostDots]
	t.Every *= 2
}

// addLoad spreads a request over the bins that it was in flight in, and its tokens over those in which they arrived.
func (t *Timeline) addLoad(r openai.Record) {
	if t.End <= 0 {
		return
	}
	width := t.End / TimelineBins
	from, to := seconds(*r.DispatchNS), seconds(lastMoment(r))
	for i := t.bin(from); i <= t.bin(to); i++ {
		low, high := max(from, float64(i)*width), min(to, float64(i+1)*width)
		t.Running[i] += max(0, high-low) / width
	}
	known := len(r.ArrivalTokens) == len(r.ArrivalsNS)
	t.Counted = t.Counted && (known || r.TokensOut != nil)
	var at int64
	for i, step := range r.ArrivalsNS {
		at += step
		weight := 1.0
		if known {
			weight = float64(r.ArrivalTokens[i])
		} else if r.TokensOut != nil {
			weight = float64(*r.TokensOut) / float64(len(r.ArrivalsNS))
		}
		bin := t.bin(seconds(at))
		t.Tokens[bin] += weight / width
		if i > 0 && r.Status == openai.StatusOK && (i >= len(r.ReadIDs) || r.ReadIDs[i] != r.ReadIDs[i-1]) {
			t.Gaps.add(bin, step)
		}
	}
}

func (t *Timeline) bin(at float64) int {
	if t.End <= 0 {
		return 0
	}
	return min(TimelineBins-1, max(0, int(at/t.End*TimelineBins)))
}
