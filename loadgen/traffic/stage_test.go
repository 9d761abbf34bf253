package traffic

import (
	"math"
	"slices"
	"testing"
	"time"
)

func stages(t *testing.T, text string) []Stage {
	t.Helper()
	s, err := ParseStages(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConstantArrivalsKeepToTheRateOfTheirStage(t *testing.T) {
	p := ArrivalProcess{Arrival: Constant, Stages: stages(t, "2s:1,1s:0,1s:4")}
	want := []time.Duration{0, time.Second, 3 * time.Second, 3250 * time.Millisecond, 3500 * time.Millisecond, 3750 * time.Millisecond}
	if got := offsets(p, Limit{}, 1); !slices.Equal(got, want) {
		t.Errorf("arrivals at %v, want %v", got, want)
	}
}

func TestPoissonUnderStagesHasEachStagesRate(t *testing.T) {
	counts := [3]float64{}
	for at := range (ArrivalProcess{Arrival: Poisson, Stages: stages(t, "1000s:5,1000s:0,1000s:50")}).Offsets(Limit{}, 4, 1) {
		counts[int(at/(1000*time.Second))]++
	}
	for i, want := range []float64{5000, 0, 50_000} {
		if math.Abs(counts[i]-want) > 5*math.Sqrt(want) {
			t.Errorf("stage %d: %.0f arrivals, want about %.0f", i, counts[i], want)
		}
	}
}

func TestOneStageIsThePlainProcessUntilItsEnd(t *testing.T) {
	flat := offsets(ArrivalProcess{Arrival: Poisson, RatePerSecond: 8}, Limit{Duration: time.Minute}, 2)
	if got := offsets(ArrivalProcess{Arrival: Poisson, Stages: stages(t, "60s:8")}, Limit{}, 2); !slices.Equal(got, flat) {
		t.Errorf("%d arrivals, the plain process has %d", len(got), len(flat))
	}
}

func TestParseStagesRefusesInvalidStages(t *testing.T) {
	for _, text := range []string{"", "30s", "30:10", "30s:x", "30s:-1", "-30s:1", "0s:1", "30s:0", "30s:NaN", "30s:1,,", "9000h:1", "30s:1e9"} {
		if s, err := ParseStages(text); err == nil {
			t.Errorf("%q became %v", text, s)
		}
	}
}

func TestSlotsOfAClosedLoopAreWhole(t *testing.T) {
	for text, good := range map[string]bool{"30s:10,1m:50": true, "30s:1.5": false, "30s:100000": false} {
		p := ArrivalProcess{Arrival: Closed, Stages: stages(t, text)}
		if err := p.Check(); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzParseStages(f *testing.F) {
	for _, seed := range []string{"30s:10,60s:50", "1s:0,1s:1", "1ns:1e6", "1h:0.001", "x", "1s:1,"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseStages(text)
		if err != nil {
			return
		}
		total := TotalTime(s)
		if len(s) == 0 || len(s) > maxStages || total <= 0 || total > maxStageTime {
			t.Fatalf("%q: %d stages of %s", text, len(s), total)
		}
		previous := time.Duration(0)
		for at := range (ArrivalProcess{Arrival: Poisson, Stages: s}).Offsets(Limit{Requests: 100}, 1, 1) {
			if at < previous || at > total {
				t.Fatalf("%q: arrival at %s after %s, the stages end at %s", text, at, previous, total)
			}
			previous = at
		}
	})
}
