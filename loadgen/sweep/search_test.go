package sweep

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/summary"
)

// loadResponse is a server as a function of the load: the outcome of a run on it.
type loadResponse func(load float64) Outcome

// outcomeOf is a run of 100 requests with what a sweep reads of it.
func outcomeOf(change func(*summary.Summary)) Outcome {
	s := summary.Summary{Valid: true, Requests: map[openai.Status]int{openai.StatusOK: 100}}
	change(&s)
	o := Outcome{Status: campaign.Finished, Summary: &s}
	if !s.Valid {
		o.Status = campaign.Invalid
	}
	return o
}

func goodput(met bool) Outcome {
	return outcomeOf(func(s *summary.Summary) { s.SLO = &summary.SLOResult{Met: met} })
}

func tokensPerSecond(rate float64) Outcome {
	return outcomeOf(func(s *summary.Summary) {
		s.SteadyState = &summary.SteadyState{Throughput: summary.Throughput{OutputTokensPerSecond: &rate}}
	})
}

func backlog(grows bool) Outcome {
	return outcomeOf(func(s *summary.Summary) { s.Backlog = &summary.Backlog{Grows: grows} })
}

func invalidOutcome(codes ...summary.Code) Outcome {
	return outcomeOf(func(s *summary.Summary) {
		s.Valid = false
		for _, code := range codes {
			s.InvalidReasons = append(s.InvalidReasons, summary.Reason{Code: code})
		}
	})
}

// looking is a plan of a search.
func looking(t *testing.T, kind SearchKind, over string, tolerance float64) Sweep {
	t.Helper()
	o, err := ParseOver(over)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSearch(kind, o, tolerance)
	if err != nil {
		t.Fatal(err)
	}
	return Sweep{Over: o, Search: &s}
}

// driveSweep chooses the runs of a sweep of a server, one after the other.
func driveSweep(t *testing.T, p Sweep, s loadResponse) []Run {
	t.Helper()
	var done []Run
	for {
		c := p.Next(done)
		if c.Scenario == nil {
			return done
		}
		value, more := p.next(done)
		next := p.trial(done, value)
		if scenario, err := p.Scenario(next); err != nil || !more || scenario.Name != c.Scenario.Name {
			t.Fatalf("%+v is the choice after %d runs, not %+v (%v)", c, len(done), scenario, err)
		}
		next.Outcome = s(value.Load)
		done = append(done, next)
	}
}

func TestTheHighestRateWithinTheSLOIsFoundWithinTheTolerance(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 2))
		capacity := math.Exp(random.Float64() * math.Log(200))
		tolerance := []float64{0.01, 0.05, 0.1, 0.5}[seed%4]
		p := looking(t, ForSLO, "rate=0.5..500", tolerance)
		done := driveSweep(t, p, func(rate float64) Outcome { return goodput(rate <= capacity) })
		f := p.Finding(done)
		if f.Within == nil || f.Beyond == nil || *f.Within > capacity || *f.Beyond <= capacity {
			t.Fatalf("capacity %g: %s", capacity, f.Says)
		}
		if *f.Beyond / *f.Within > 1+tolerance+1e-9 {
			t.Errorf("tolerance %g: %s", tolerance, f.Says)
		}
		if len(f.Contradictions) > 0 || p.Judge(done) != Sound {
			t.Errorf("a sharp limit: %q, verdict %d", f.Contradictions, p.Judge(done))
		}
		if most := 12 + int(math.Ceil(math.Log2(math.Log(2)/math.Log(1+tolerance)))); len(done) > most {
			t.Errorf("%d runs, at most %d", len(done), most)
		}
	}
}

func TestTheHighestConcurrencyWithinTheSLOIsFoundToTheRequest(t *testing.T) {
	for capacity := 1; capacity <= 200; capacity++ {
		p := looking(t, ForSLO, "concurrency=1..256", 0.001)
		f := p.Finding(driveSweep(t, p, func(n float64) Outcome { return goodput(n <= float64(capacity)) }))
		if f.Within == nil || f.Beyond == nil || int(*f.Within) != capacity || int(*f.Beyond) != capacity+1 {
			t.Errorf("capacity %d: %s", capacity, f.Says)
		}
	}
}

// TestANoisyLimitIsNotOverestimated has runs near the limit that keep the SLO by chance, one in two
// at the limit itself: what is found was kept twice, and is seldom far from the truth.
func TestANoisyLimitIsNotOverestimated(t *testing.T) {
	const seeds, capacity, width = 500, 40., 0.05
	high, low := 0, 0
	for seed := range uint64(seeds) {
		random := rand.New(rand.NewPCG(seed, 3))
		p := looking(t, ForSLO, "rate=1..1000", 0.1)
		done := driveSweep(t, p, func(rate float64) Outcome {
			return goodput(random.Float64() < 1/(1+math.Exp(math.Log(rate/capacity)/(width/2))))
		})
		f := p.Finding(done)
		if f.Within == nil || f.Beyond == nil {
			t.Fatal(f.Says)
		}
		if *f.Within > capacity*(1+2*width) {
			high++
		}
		if *f.Beyond < capacity/(1+2*width) {
			low++
		}
	}
	if high > seeds/100 || low > seeds*2/100 {
		t.Errorf("of %d searches, %d settle on a load that the server does not bear and %d below one that it does", seeds, high, low)
	}
}

func TestRunsThatDisagreeAreTold(t *testing.T) {
	p := looking(t, ForSLO, "concurrency=1..64", 0.1)
	runs := map[float64]int{}
	done := driveSweep(t, p, func(n float64) Outcome {
		runs[n]++
		return goodput(n < 11 && !(n == 10 && runs[n] > 1)) // 10 is missed when it is measured again
	})
	f := p.Finding(done)
	if f.Within == nil || *f.Within != 9 || f.Beyond == nil || *f.Beyond != 10 {
		t.Errorf("%s", f.Says)
	}
	if !slices.ContainsFunc(f.Contradictions, func(s string) bool { return strings.Contains(s, "10 was within the limit in 1 of 2 runs") }) {
		t.Errorf("contradictions %q", f.Contradictions)
	}
}

func TestALimitOutsideTheTwoEndsIsSaidToBeThere(t *testing.T) {
	p := looking(t, ForSLO, "rate=2..16", 0.1)
	never := driveSweep(t, p, func(float64) Outcome { return goodput(false) })
	if f := p.Finding(never); f.Within != nil || *f.Beyond != 2 || len(never) != 1 || p.Judge(never) != Unmet {
		t.Errorf("%d runs, verdict %d: %s", len(never), p.Judge(never), f.Says)
	}
	always := driveSweep(t, p, func(float64) Outcome { return goodput(true) })
	if f := p.Finding(always); f.Beyond != nil || *f.Within != 16 || p.Judge(always) != Sound || !strings.Contains(f.Says, "above") {
		t.Errorf("%s", f.Says)
	}
}

func TestTheSaturationOfAClosedLoopIsWhereItsThroughputEnds(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 4))
		slots := 2 + random.Float64()*150 // with so many in flight the server is as fast as it gets
		p := looking(t, ForSaturation, "concurrency=1..512", 0.1)
		done := driveSweep(t, p, func(n float64) Outcome {
			return tokensPerSecond(100 * min(n, slots) * (1 + 0.01*random.NormFloat64()))
		})
		f, knee := p.Finding(done), plateau*slots
		if f.Beyond == nil || *f.Beyond < knee*0.95-1 || *f.Beyond > max(knee*1.16, knee+1.5) {
			t.Errorf("the knee is %g: %s", knee, f.Says)
		}
		if f.Within != nil && (*f.Within > knee*1.05 || *f.Within >= *f.Beyond) {
			t.Errorf("the knee is %g: %s", knee, f.Says)
		}
		if *f.HighestThroughput < 97*slots*min(1, 512/slots) || *f.HighestThroughput > 105*slots {
			t.Errorf("highest throughput %g of %g %s", *f.HighestThroughput, 100*slots, f.ThroughputUnit)
		}
	}
}

func TestAServerThatDoesWorseUnderMoreLoadIsSaturatedThereToo(t *testing.T) {
	p := looking(t, ForSaturation, "concurrency=1..256", 0.1)
	done := driveSweep(t, p, func(n float64) Outcome { return tokensPerSecond(100 * min(n, 32) * min(1, 48/n)) })
	if f := p.Finding(done); f.Beyond == nil || *f.Beyond < 28 || *f.Beyond > 33 || len(f.Contradictions) > 0 {
		t.Errorf("%s %q", f.Says, f.Contradictions)
	}
}

// A fifth more for twice the load is worth having; what two neighbours differ by is noise.
func TestAServerThatGainsAFifthByTwiceTheLoadIsNotSaturated(t *testing.T) {
	p := looking(t, ForSaturation, "concurrency=1..64", 0.1)
	f := p.Finding(driveSweep(t, p, func(n float64) Outcome { return tokensPerSecond(math.Pow(1.2, math.Log2(n))) }))
	if f.Beyond != nil || *f.Within != 64 {
		t.Errorf("%s", f.Says)
	}
	if flattens(map[float64]float64{10: 100, 11: 99, 20: 150}, []float64{10, 11, 20}) {
		t.Error("a load that is 10 % higher is taken for a plateau")
	}
}

func TestThroughputThatStillGrowsAtTheEndIsNoSaturation(t *testing.T) {
	p := looking(t, ForSaturation, "concurrency=1..100", 0.1)
	f := p.Finding(driveSweep(t, p, func(n float64) Outcome { return tokensPerSecond(n) }))
	if f.Within == nil || *f.Within != 100 || f.Beyond != nil {
		t.Errorf("%s", f.Says)
	}
}

func TestTheSaturationOfARateIsWhereABacklogGrowsOrRequestsFail(t *testing.T) {
	grows := func(rate float64) Outcome { return backlog(rate > 21) }
	fails := func(rate float64) Outcome {
		if rate <= 21 {
			return backlog(false)
		}
		o := invalidOutcome(summary.CodeErrorRate)
		o.Summary.Requests[openai.StatusHTTP] = 50
		o.Summary.Backlog = &summary.Backlog{}
		return o
	}
	for name, s := range map[string]loadResponse{"backlog": grows, "failures": fails} {
		p := looking(t, ForSaturation, "rate=1..100", 0.05)
		done := driveSweep(t, p, s)
		if f := p.Finding(done); f.Within == nil || *f.Within > 21 || *f.Beyond <= 21 || p.Judge(done) != Sound {
			t.Errorf("%s: verdict %d: %s", name, p.Judge(done), f.Says)
		}
	}
}

func TestARunThatIsInvalidByTheClientsFaultIsRepeatedTwice(t *testing.T) {
	stumbles := 2
	stumbling := func(code summary.Code) loadResponse {
		return func(rate float64) Outcome {
			if rate == 4 && stumbles > 0 {
				stumbles--
				return invalidOutcome(code)
			}
			return goodput(rate <= 10)
		}
	}
	p := looking(t, ForSLO, "rate=1..100", 0.1)
	done := driveSweep(t, p, stumbling(summary.CodeClientStall))
	if f := p.Finding(done); *f.Within > 10 || f.Beyond == nil || *f.Beyond <= 10 || p.Judge(done) != Sound {
		t.Errorf("verdict %d: %s", p.Judge(done), f.Says)
	}
	// One run at 1, one at 2, and those at 4.
	for code, runs := range map[summary.Code]int{summary.CodeClientStall: 5, summary.CodeClientLag: 5, summary.CodeSwapIn: 4} {
		stumbles = 1000
		done = driveSweep(t, p, stumbling(code))
		if f := p.Finding(done); len(done) != runs || p.Judge(done) != Unsound || !strings.Contains(f.Says, string(code)) {
			t.Errorf("%s: %d runs, verdict %d: %s", code, len(done), p.Judge(done), f.Says)
		}
	}
}

// Runs that show nothing do not count as throughput 0: a client that stalled does not saturate a server.
func TestAClosedLoopWhoseHighestLoadTellsNothingIsNotSaturatedBelowIt(t *testing.T) {
	p := looking(t, ForSaturation, "concurrency=1..64", 0.1)
	done := driveSweep(t, p, func(n float64) Outcome {
		if n == 8 {
			return invalidOutcome(summary.CodeClientStall)
		}
		return tokensPerSecond(100 * n)
	})
	f := p.Finding(done)
	if f.Within == nil || *f.Within != 4 || f.Beyond != nil || p.Judge(done) != Unsound || !strings.Contains(f.Says, "client_stall") {
		t.Errorf("verdict %d: %s", p.Judge(done), f.Says)
	}
}

// A run may be valid and show nothing about the limit, such as one of a single request.
func TestAValidRunThatDoesNotShowTheLimitEndsTheSearch(t *testing.T) {
	shows := map[SearchKind]func(load float64) Outcome{
		ForSLO: func(float64) Outcome { return goodput(true) },
		ForSaturation: func(load float64) Outcome {
			o := tokensPerSecond(load)
			o.Summary.Backlog = &summary.Backlog{}
			return o
		},
	}
	for _, over := range []string{"concurrency=1..64", "rate=1..64"} {
		for kind, tells := range shows {
			p := looking(t, kind, over, 0.1)
			done := driveSweep(t, p, func(load float64) Outcome {
				if load == 8 {
					return outcomeOf(func(*summary.Summary) {})
				}
				return tells(load)
			})
			if f := p.Finding(done); len(done) != 5 || *f.Within != 4 || p.Judge(done) != Unsound || !strings.Contains(f.Says, "at 8 does not show") {
				t.Errorf("%s over %s: %d runs, verdict %d: %s", kind, over, len(done), p.Judge(done), f.Says)
			}
		}
	}
}

func TestASearchThatNeverAgreesWithItselfEnds(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 5))
		for _, over := range []string{"rate=0.01..100000", "concurrency=1..100000"} {
			for _, kind := range SearchKinds() {
				p := looking(t, kind, over, 0.01)
				done := driveSweep(t, p, func(float64) Outcome {
					o := tokensPerSecond(1 + random.Float64())
					o.Summary.SLO = &summary.SLOResult{Met: random.IntN(3) > 0}
					o.Summary.Backlog = &summary.Backlog{Grows: random.IntN(3) == 0}
					return o
				})
				if len(done) > mostTrials || p.Finding(done).Says == "" {
					t.Fatalf("%d runs", len(done))
				}
			}
		}
	}
}
