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

// waited lets the read of a chunk have waited; the chunks after it up to last came in the same read.
func waited(chunk, last int, forMS int64) func(*openai.Record) {
	return func(r *openai.Record) {
		for i := chunk + 1; i <= last; i++ {
			r.ReadIDs[i], r.ArrivalsNS[i] = r.ReadIDs[chunk], 0
		}
		r.WaitedReadIDs, r.WaitedNS = append(r.WaitedReadIDs, r.ReadIDs[chunk]), append(r.WaitedNS, forMS*ms)
	}
}

func TestAStallIsJudgedByWhatItDelayed(t *testing.T) {
	const kernel, inferred = true, false
	for name, c := range map[string]struct {
		stamped bool
		stalls  []rundir.Stall
		alter   func(*openai.Record) // of the first requests
		first   int
		want    float64 // longest delay, ms
		delayed int
	}{
		"32 streams, a pause of 35 ms while no token came": {stamped: kernel, stalls: []rundir.Stall{stallAt(440, 35)}},
		"... without stamps":                                               {stamped: inferred, stalls: []rundir.Stall{stallAt(440, 35)}},
		"... and the tokens came in its last 0.6 ms":                       {stamped: kernel, stalls: []rundir.Stall{stallAt(465, 35)}},
		"the tokens waited for 30 ms of it":                                {kernel, []rundir.Stall{stallAt(465, 35)}, waited(4, 4, 30), 32, 30, 32},
		"the tokens waited for 20 ms of it":                                {kernel, []rundir.Stall{stallAt(465, 35)}, waited(4, 4, 20), 32, 20, 0},
		"one request of 32 waited":                                         {kernel, []rundir.Stall{stallAt(465, 35)}, waited(4, 4, 30), 1, 30, 1},
		"bytes waited although no timer saw a stall":                       {kernel, nil, waited(4, 4, 30), 32, 30, 32},
		"three tokens in one read, the last waited for 5 ms of 95":         {kernel, []rundir.Stall{stallAt(405, 95)}, waited(4, 6, 5), 32, 500 - (400 + 95./3), 32},
		"three tokens in one read, of a stall of 12 ms":                    {kernel, []rundir.Stall{stallAt(488, 12)}, waited(4, 6, 5), 32, 12, 0},
		"three tokens in one read, and the stall was over when they came":  {kernel, []rundir.Stall{stallAt(405, 85)}, waited(4, 6, 5), 32, 5, 0},
		"all of an answer in one read, the first of it":                    {kernel, []rundir.Stall{stallAt(40, 60)}, waited(0, 7, 2), 32, 100 - max(98./8, 40), 32},
		"a wait of the headers, which have no payload":                     {kernel, []rundir.Stall{stallAt(40, 60)}, func(r *openai.Record) { r.WaitedReadIDs, r.WaitedNS = []int{77}, []int64{40 * ms} }, 32, 40, 32},
		"without stamps, tokens right after a stall: it may all be a wait": {stamped: inferred, stalls: []rundir.Stall{stallAt(465, 35)}, want: 35, delayed: 32},
		"without stamps, a short stall":                                    {stamped: inferred, stalls: []rundir.Stall{stallAt(480, 20)}, want: 20},
		"without stamps, tokens 6 ms after a stall":                        {stamped: inferred, stalls: []rundir.Stall{stallAt(459, 35)}},
		"without stamps, a stall that began before the request":            {stamped: inferred, stalls: []rundir.Stall{{FromNS: -500 * ms, ToNS: 98 * ms}}, want: 98, delayed: 32},
		"without stamps, a stall before the request":                       {stamped: inferred, stalls: []rundir.Stall{{FromNS: -500 * ms, ToNS: 0}}},
	} {
		in := input(t)
		in.Client = rundir.ClientHealth{Watched: true, Stalls: c.stalls, PacketStamps: c.stamped}
		records := together32()
		for i := range c.first {
			c.alter(&records[i])
		}
		s := summarize(t, in, records...)
		if s.Client.DelayedRequests != c.delayed || !near(&s.Client.LongestDelaySeconds, float64(int64(c.want*1e6))/1e9) {
			t.Errorf("%s: %+v, want %d requests delayed, by %g ms at most", name, *s.Client, c.delayed, c.want)
		}
		if bad := slices.Contains(codes(s), CodeClientStall); bad != (c.delayed > 0) { // one of 32 is more than 1 %
			t.Errorf("%s: %v", name, s.InvalidReasons)
		}
	}
}

func TestTheClientStallRuleCountsRequestsAndCores(t *testing.T) {
	for name, c := range map[string]struct {
		delayed int
		cpu     float64
		limits  []string
		want    []Code
	}{
		"none":                 {},
		"one of 100":           {delayed: 1},
		"two of 100":           {delayed: 2, want: []Code{CodeClientStall}},
		"below an own limit":   {delayed: 50, limits: []string{"client_stall=31ms"}},
		"above an own limit":   {delayed: 50, limits: []string{"client_stall=29ms"}, want: []Code{CodeClientStall}},
		"a client that is off": {delayed: 50, limits: []string{"client_stall=off"}},
		"a busy client":        {cpu: .9, want: []Code{CodeClientStall}},
	} {
		in := input(t)
		in.Client = rundir.ClientHealth{Watched: true, PacketStamps: true, CPURatio: c.cpu}
		var err error
		if in.Limits, err = ParseLimits(c.limits); err != nil {
			t.Fatal(err)
		}
		if got := codes(summarize(t, in, testrun.Altered(100, c.delayed, waited(3, 3, 30))...)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestTheSummaryHasTheSourceOfDelays(t *testing.T) {
	for stamped, want := range map[bool]string{true: "kernel", false: "inferred"} {
		in := input(t)
		in.Client = rundir.ClientHealth{Watched: true, PacketStamps: stamped, Stalls: []rundir.Stall{stallAt(465, 35)}}
		s := summarize(t, in, testrun.Altered(100, 2, waited(3, 3, 40))...)
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
	if !slices.Equal(codes(s), []Code{CodeClientStall}) || !strings.Contains(s.InvalidReasons[0].Detail, "100 of 100 requests (100 %) waited for more than 25 ms, by the length of its stalls") {
		t.Errorf("rank 1: %v", s.InvalidReasons)
	}
}
