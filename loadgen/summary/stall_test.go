package summary

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary/testrun"

	"github.com/umascope/umascope/loadgen/openai"
)

func stallAt(fromMS, lengthMS int64) rundir.Stall {
	return rundir.Stall{FromNS: fromMS * ms, ToNS: (fromMS + lengthMS) * ms}
}

// together32 are 32 streams at the same time: a token each 100, 200, ... 800 ms after the send.
func together32() []openai.Record {
	var records []openai.Record
	for i := range 32 {
		records = append(records, testrun.Answered(i, 0, 100, 200, 300, 400, 500, 600, 700, 800))
	}
	return records
}

// readLate lets the payload chunks from first to last come in one late read, whose last byte waited for a time; something
// that is no payload came after the last of them if ended is true.
func readLate(first, last int, waited int64, ended bool) func(*openai.Record) {
	return func(r *openai.Record) {
		width := int64(0)
		for i := first + 1; i <= last; i++ {
			width += r.ArrivalsNS[i]
			r.ReadIDs[i], r.ArrivalsNS[i] = r.ReadIDs[first], 0
		}
		if first == 0 {
			*r.FirstTokenNS += width
		}
		r.ArrivalsNS[first] += width
		width = r.ArrivalsNS[first]
		if first == 0 {
			width -= *r.DispatchNS
		}
		for i := first; i <= last; i++ {
			if i < last || ended {
				r.UnsureChunks, r.UnsureNS, r.UnsureWaitNS = append(r.UnsureChunks, i), append(r.UnsureNS, width), append(r.UnsureWaitNS, waited)
			}
		}
	}
}

func TestAnArrivalIsInDoubtByTheTimeThatItsReadWasLate(t *testing.T) {
	const kernel, inferred = true, false
	for name, c := range map[string]struct {
		stamped   bool
		unnoticed int64 // ms; 0 is unknown
		stalls    []rundir.Stall
		alter     func(*openai.Record)
		want      float64 // longest delay, ms
	}{
		"a pause of 35 ms while no token came":                                   {stamped: kernel, stalls: []rundir.Stall{stallAt(440, 35)}},
		"... without stamps":                                                     {stamped: inferred, stalls: []rundir.Stall{stallAt(440, 35)}},
		"a late read of one token has the kernel's stamp":                        {kernel, 7, []rundir.Stall{stallAt(465, 35)}, readLate(4, 4, 30*ms, false), 0},
		"three tokens in a late read: any time since the read before":            {kernel, 0, nil, readLate(4, 6, 5*ms, false), 300},
		"... and the watch of the client noticed no stall":                       {kernel, 7, nil, readLate(4, 6, ms, false), 7},
		"... and a stall":                                                        {kernel, 7, []rundir.Stall{stallAt(650, 60)}, readLate(4, 6, 5*ms, false), 67},
		"... and a stall elsewhere":                                              {kernel, 7, []rundir.Stall{stallAt(100, 60)}, readLate(4, 6, ms, false), 7},
		"... and the last token waited for long, of a delay that nobody noticed": {kernel, 7, nil, readLate(4, 6, 8*ms, false), 40},
		"the last token and the end of the answer in a late read":                {kernel, 0, nil, readLate(7, 7, 5*ms, true), 100},
		"all of an answer in a late read":                                        {kernel, 0, nil, readLate(0, 7, 5*ms, false), 800},
		"without stamps, tokens right after a stall: it may all be a wait":       {stamped: inferred, stalls: []rundir.Stall{stallAt(465, 35)}, want: 35},
		"without stamps, tokens 6 ms after a stall":                              {stamped: inferred, stalls: []rundir.Stall{stallAt(459, 35)}},
		"without stamps, a stall that began before the request":                  {stamped: inferred, stalls: []rundir.Stall{{FromNS: -500 * ms, ToNS: 98 * ms}}, want: 98},
		"without stamps, a stall before the request":                             {stamped: inferred, stalls: []rundir.Stall{{FromNS: -500 * ms, ToNS: 0}}},
	} {
		in := input(t)
		in.Client = rundir.ClientHealth{Watched: true, Stalls: c.stalls, StampedArrivals: c.stamped, UnnoticedNS: c.unnoticed * ms}
		records := together32()
		for i := range records {
			if c.alter != nil {
				c.alter(&records[i])
			}
		}
		s := summarize(t, in, records...)
		if !near(&s.Client.LongestDelaySeconds, c.want/1e3) {
			t.Errorf("%s: %+v, want %g ms at most", name, *s.Client, c.want)
		}
	}
}

func TestARunIsInvalidOnlyIfAPercentileMayBeOff(t *testing.T) {
	written := func(late int64) func(*openai.Record) {
		return func(r *openai.Record) { r.WrittenNS = new(*r.DispatchNS + late) }
	}
	for name, c := range map[string]struct {
		altered int
		alter   func(*openai.Record)
		limits  []string
		cpu     float64
		want    []Code
		caveat  string
	}{
		"none": {},
		"all left within 0.9 ms, of a TTFT of 100 ms":           {altered: 100, alter: written(900_000), caveat: "may be off by up to 900 µs (0.9 %), because of the client: less than what makes a run invalid"},
		"all left within 1.9 ms: 2 % of 100 ms are allowed":     {altered: 100, alter: written(1_900_000), caveat: "less than what makes a run invalid"},
		"all left within 2.1 ms":                                {altered: 100, alter: written(2_100_000), want: []Code{CodeClientLag}},
		"four of 100 left late: no percentile that is reported": {altered: 4, alter: written(50 * ms)},
		"30 of 100 left late: p75 may be off":                   {altered: 30, alter: written(50 * ms), want: []Code{CodeClientLag}},
		"an own limit":                                          {altered: 100, alter: written(2_100_000), limits: []string{"client_lag=3ms"}, caveat: "client_lag was judged by 3ms"},
		"switched off":                                          {altered: 100, alter: written(50 * ms), limits: []string{"client_lag=off"}, caveat: "client_lag was not judged"},
		"the connection took the time, not the client": {altered: 100, alter: func(r *openai.Record) {
			written(50 * ms)(r)
			r.ConnectionNS = 50*ms - 100_000
		}},
		"tokens of all requests were read late": {altered: 100, alter: readLate(3, 4, 30*ms, false), want: []Code{CodeClientStall}},
		"one of 100":                            {altered: 1, alter: readLate(3, 4, 30*ms, false)},
		"a late send in a closed loop moves no latency from send": {altered: 100, alter: late(50 * time.Millisecond), caveat: "time to first token from the intended start p"},
		"a busy client is a caveat":                               {cpu: .9, caveat: "the client used 90 % of its cores"},
	} {
		in := input(t)
		in.Client.CPURatio = c.cpu
		var err error
		if in.Limits, err = ParseLimits(c.limits); err != nil {
			t.Fatal(err)
		}
		s := summarize(t, in, testrun.Altered(100, c.altered, c.alter)...)
		if got := codes(s); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, s.InvalidReasons, c.want)
		}
		if all := strings.Join(s.Warnings, "\n"); c.caveat != "" && !strings.Contains(all, c.caveat) {
			t.Errorf("%s: %s, want %q", name, all, c.caveat)
		}
	}
}

func TestALateSendOfASchedulePutsLatencyFromThereInDoubt(t *testing.T) {
	in := input(t)
	in.Open = []string{"measure"}
	s := summarize(t, in, testrun.Altered(100, 100, late(50*time.Millisecond))...)
	if !slices.Equal(codes(s), []Code{CodeClientLag}) || !strings.Contains(s.InvalidReasons[0].Detail, "from the intended start") {
		t.Errorf("%v", s.InvalidReasons)
	}
}

func TestEachPercentileHasItsInterval(t *testing.T) {
	in := input(t)
	s := summarize(t, in, testrun.Altered(100, 100, func(r *openai.Record) { r.WrittenNS = new(*r.DispatchNS + ms) })...)
	ttft := s.Latency.TTFT.Send
	if b, ok := ttft.Bounds["p50"]; !ok || !near(&b[0], *ttft.P50-.001) || b[1] != *ttft.P50 {
		t.Errorf("p50 %g lies within %v", *ttft.P50, b)
	}
	if _, ok := ttft.Bounds["p999"]; ok || len(s.Latency.ChunkGap.Send.Bounds) == 0 || s.Latency.QueueDelay.Bounds != nil {
		t.Errorf("%v, %v, %v", ttft.Bounds, s.Latency.ChunkGap.Send.Bounds, s.Latency.QueueDelay.Bounds)
	}
	for name, alter := range map[string]func(*inputs, []openai.Record){
		"no stamps":              func(in *inputs, _ []openai.Record) { in.Client.StampedArrivals = false },
		"no moment of its write": func(_ *inputs, r []openai.Record) { r[3].WrittenNS = nil },
	} {
		in, records := input(t), testrun.Steady(100)
		alter(&in, records)
		s := summarize(t, in, records...)
		if s.Latency.TTFT.Send.Bounds != nil || !strings.Contains(strings.Join(s.Warnings, "\n"), "how far latencies may be off is not known") {
			t.Errorf("%s: %v, %v", name, s.Latency.TTFT.Send.Bounds, s.Warnings)
		}
	}
}

func TestAnSLOIsDecidedOnlyBeyondTheClientsOwnDelays(t *testing.T) {
	for name, c := range map[string]struct {
		late    int64
		limit   string
		good    [2]int
		decided bool
	}{
		"far from the limit": {ms, "200ms", [2]int{100, 100}, true},
		"above it by less than what the client may have added": {5 * ms, "98ms", [2]int{0, 100}, false},
		"above it by more": {ms, "98ms", [2]int{0, 0}, true},
	} {
		in := input(t)
		var err error
		if in.Objectives, err = ParseSLO("ttft=" + c.limit); err != nil {
			t.Fatal(err)
		}
		s := summarize(t, in, testrun.Altered(100, 100, func(r *openai.Record) { r.WrittenNS = new(*r.DispatchNS + c.late) })...)
		g := s.SLO
		if g.GoodBounds == nil || *g.GoodBounds != c.good || g.Undecided == c.decided || strings.Contains(strings.Join(s.Warnings, "\n"), "is not decided") == c.decided {
			t.Errorf("%s: %+v of %v, %v", name, g, g.GoodBounds, s.Warnings)
		}
	}
}

func TestTheSummaryHasTheSourceOfDelays(t *testing.T) {
	for stamped, want := range map[bool]string{true: "kernel", false: "inferred"} {
		in := input(t)
		in.Client = rundir.ClientHealth{Watched: true, StampedArrivals: stamped, Stalls: []rundir.Stall{stallAt(465, 35)}}
		s := summarize(t, in, testrun.Steady(100)...)
		if s.Client == nil || s.Client.Arrivals != want {
			t.Errorf("%+v, want %s", s.Client, want)
		}
	}
	in := input(t)
	in.Client = rundir.ClientHealth{}
	if s := summarize(t, in, testrun.Steady(3)...); s.Client != nil {
		t.Errorf("not watched: %+v", s.Client)
	}
}

func TestAStallDelaysTheRequestsOfItsOwnRankOnly(t *testing.T) {
	in := input(t)
	in.Client = rundir.ClientHealth{Watched: true, Stalls: []rundir.Stall{{FromNS: 0, ToNS: int64(time.Hour), Rank: 1}}}
	sentBy := func(rank int) []openai.Record {
		return testrun.Altered(100, 100, func(r *openai.Record) { r.Rank = &rank })
	}
	if got := codes(summarize(t, in, sentBy(0)...)); len(got) != 0 {
		t.Errorf("rank 0 while rank 1 stalled: %v", got)
	}
	s := summarize(t, in, sentBy(1)...)
	if !slices.Equal(codes(s), []Code{CodeClientStall}) || !strings.Contains(s.InvalidReasons[0].Detail, "the client read late") {
		t.Errorf("rank 1: %v", s.InvalidReasons)
	}
}
