package runner

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/summary"
)

// listed is a plan of a list.
func listed(t *testing.T, over string) Sweep {
	t.Helper()
	o, err := ParseOver(over)
	if err != nil {
		t.Fatal(err)
	}
	values, err := o.Points()
	if err != nil {
		t.Fatal(err)
	}
	return Sweep{Over: o, Values: values, StopErrorRatio: 0.1, Seed: 7}
}

// unwatched is the pause of a sweep that is shown nowhere.
func unwatched(p Sweep) func(context.Context, OverValue) bool {
	env := Environment{Console: NewConsole(io.Discard, ProgressNone), Log: slog.New(slog.DiscardHandler), Page: &LivePage{}}
	return func(ctx context.Context, _ OverValue) bool { return Pause(ctx, env, "the pause", p.Pause) }
}

func TestPointsAreMeasuredInTheirOrderWithAPauseBetweenThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := listed(t, "shape=T6,T1..T3")
		p.Pause = shapePause
		began := time.Now()
		var at []string
		kept := 0
		done, err := p.Drive(t.Context(), unwatched(p), func(_ context.Context, trial SweepRun) SweepOutcome {
			at = append(at, trial.Value.Text+" "+time.Since(began).String())
			time.Sleep(time.Minute)
			return goodput(true)
		}, func(so []SweepRun) error { kept = len(so); return nil })
		if err != nil || len(done) != 4 || kept != 4 || !slices.Equal(at, []string{"T6 0s", "T1 1m30s", "T2 3m0s", "T3 4m30s"}) {
			t.Errorf("%q, %d kept (%v)", at, kept, err)
		}
		for i, trial := range done {
			if trial.Number != i+1 || trial.Repeat != 0 {
				t.Errorf("run %d is number %d, repeat %d", i+1, trial.Number, trial.Repeat)
			}
		}
		if time.Since(began) != 4*time.Minute+3*shapePause {
			t.Errorf("it took %s", time.Since(began))
		}
	})
}

func TestAPauseCanBeInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := listed(t, "concurrency=1,2")
		p.Pause = time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		done, err := p.Drive(ctx, unwatched(p), func(context.Context, SweepRun) SweepOutcome { return goodput(true) }, func([]SweepRun) error { return nil })
		if !errors.Is(err, ErrInterrupted) || len(done) != 1 {
			t.Errorf("%d runs (%v)", len(done), err)
		}
	})
}

func TestASweepEndsWithTheRunThatCannotBeMade(t *testing.T) {
	full := errors.New("disk full")
	for name, c := range map[string]struct {
		outcome SweepOutcome
		keep    error
		want    string
	}{
		"failed":      {SweepOutcome{Status: Failed, Problem: "server gone"}, nil, "concurrency 2: server gone"},
		"interrupted": {SweepOutcome{Status: Interrupted}, nil, ErrInterrupted.Error()},
		"not kept":    {goodput(true), full, full.Error()},
	} {
		p := listed(t, "concurrency=1,2,3")
		kept := 0
		done, err := p.Drive(context.Background(), unwatched(p), func(_ context.Context, trial SweepRun) SweepOutcome {
			if trial.Number == 2 {
				return c.outcome
			}
			return goodput(true)
		}, func(so []SweepRun) error {
			if kept = len(so); kept == 2 {
				return c.keep
			}
			return nil
		})
		if err == nil || err.Error() != c.want || len(done) != 2 || kept != 2 {
			t.Errorf("%s: %d runs, %d kept, %v", name, len(done), kept, err)
		}
	}
}

// failingRun is a run of which so many of a hundred requests failed.
func failingRun(percent int) SweepOutcome {
	o := goodput(percent == 0)
	o.Summary.Requests = map[openai.Status]int{openai.StatusOK: 100 - percent, openai.StatusHTTP: percent}
	if percent > 1 {
		o.Status, o.Summary.Valid = Invalid, false
		o.Summary.InvalidReasons = []summary.Reason{{Code: summary.CodeErrorRate}}
	}
	return o
}

func TestAServerThatFailsIsNotAskedForMore(t *testing.T) {
	for _, c := range []struct {
		stop float64
		want int
	}{{0.1, 3}, {0.06, 2}, {0.5, 4}, {0, 4}} {
		p := listed(t, "concurrency=1,2,4,8")
		p.StopErrorRatio = c.stop
		percents := []int{0, 6, 10, 20}
		done := driveSweep(t, p, func(load float64) SweepOutcome {
			return failingRun(percents[slices.Index([]float64{1, 2, 4, 8}, load)])
		})
		if stopped := p.Stopped(done); len(done) != c.want || (stopped != "") != (len(done) < 4) {
			t.Errorf("from %g on: %d runs, %q", c.stop, len(done), stopped)
		}
	}
}

func TestARunThatWasStoppedAtOnceEndsTheSweep(t *testing.T) {
	for _, code := range []summary.Code{summary.CodeModelDropped, summary.CodePromptLimit} {
		for _, p := range []Sweep{listed(t, "concurrency=1,2"), looking(t, ForSLO, "rate=1..8", 0.1)} {
			done := driveSweep(t, p, func(float64) SweepOutcome { return invalidOutcome(code) })
			if len(done) != 1 || !strings.Contains(p.Stopped(done), string(code)) || p.Judge(done) != Unsound {
				t.Errorf("%s: %d runs, %q", code, len(done), p.Stopped(done))
			}
		}
	}
}

func TestASweepIsJudgedByItsRuns(t *testing.T) {
	for name, c := range map[string]struct {
		runs []SweepOutcome
		want SweepVerdict
	}{
		"all kept":       {[]SweepOutcome{goodput(true), goodput(true)}, Sound},
		"one missed":     {[]SweepOutcome{goodput(true), goodput(false)}, Sound},
		"all missed":     {[]SweepOutcome{goodput(false), goodput(false)}, Unmet},
		"no SLO":         {[]SweepOutcome{tokensPerSecond(1), tokensPerSecond(2)}, Sound},
		"one is invalid": {[]SweepOutcome{goodput(true), invalidOutcome(summary.CodeSwapIn)}, Unsound},
		"requests fail":  {[]SweepOutcome{goodput(true), failingRun(5)}, Unsound},
	} {
		p := listed(t, "concurrency=1,2")
		done := driveSweep(t, p, func(load float64) SweepOutcome { return c.runs[int(load)-1] })
		if got := p.Judge(done); got != c.want {
			t.Errorf("%s: verdict %d, want %d", name, got, c.want)
		}
	}
}

func TestEveryRunAsksSomethingElseUnlessToldNotTo(t *testing.T) {
	p := looking(t, ForSLO, "concurrency=1..8", 0.1)
	p.Seed = 7
	seeds := map[uint64]bool{}
	done := driveSweep(t, p, func(float64) SweepOutcome { return goodput(true) })
	for _, trial := range done {
		seeds[trial.Seed] = true
	}
	if len(done) != 5 || len(seeds) != 5 || done[4].Repeat != 1 {
		t.Errorf("%d runs with %d seeds", len(done), len(seeds))
	}
	p.SamePrompts = true
	for _, trial := range driveSweep(t, p, func(float64) SweepOutcome { return goodput(true) }) {
		if trial.Seed != 7 {
			t.Errorf("seed %d", trial.Seed)
		}
	}
}

// sweepTable reads sweep.csv.
func sweepTable(t *testing.T, r SweepResult) []map[string]string {
	t.Helper()
	var text bytes.Buffer
	if err := r.CSV(&text); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&text).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var named []map[string]string
	for _, row := range rows[1:] {
		cells := map[string]string{}
		for i, cell := range row {
			cells[rows[0][i]] = cell
		}
		named = append(named, cells)
	}
	return named
}

func TestTheTableHasARowForEveryRunAndEmptyCellsForWhatIsNotThere(t *testing.T) {
	p := listed(t, "set.a.requests=8,=HYPERLINK(1)")
	p50, rate := 0.25, 12.5
	good := goodput(true)
	good.Run = "s-01"
	good.Summary.Latency = &summary.Latency{TTFT: &summary.Clocks{Send: &summary.Distribution{N: 100, P50: &p50}}}
	good.Summary.Throughput.RequestsPerSecond = &rate
	good.Summary.Energy = &summary.Energy{}
	gone := SweepOutcome{Run: "s-02", Status: Failed, Problem: "gone"}
	done := []SweepRun{{Number: 1, Value: p.Values[0], SweepOutcome: good}, {Number: 2, Value: p.Values[1], SweepOutcome: gone}}
	r := SweepResult{Over: p.Over.Name}
	r.Update(p, done)
	rows := sweepTable(t, r)
	if len(rows) != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	for column, want := range map[string]string{
		"point": "1", "over": "set.a.requests", "value": "8", "run": "s-01", "status": "valid", "slo_met": "true", "requests_ok": "100", "requests_failed": "0",
		"error_ratio": "0", "requests_per_second": "12.5", "ttft_p50_seconds": "0.25", "ttft_p95_seconds": "", "scheduled_ttft_p50_seconds": "", "joules_per_output_token": "", "due_requests_per_second": "",
	} {
		if got, there := rows[0][column]; !there || got != want {
			t.Errorf("%s is %q, want %q", column, got, want)
		}
	}
	for column, want := range map[string]string{"value": "'=HYPERLINK(1)", "status": "failed", "slo_met": "", "requests_ok": "", "ttft_p50_seconds": ""} {
		if got, there := rows[1][column]; !there || got != want {
			t.Errorf("of the failed run, %s is %q, want %q", column, got, want)
		}
	}
}

func TestColumnsHaveUniqueNamesWithTheirUnit(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range figure.All().Columns(figure.InSweep) {
		if seen[f.Sweep.Heading] {
			t.Errorf("%s is there twice", f.Sweep.Heading)
		}
		seen[f.Sweep.Heading] = true
		units := []string{"_seconds", "_per_second", "_ratio", "_tokens_mean", "requests_ok", "requests_failed", "joules_per_output_token"}
		if !slices.ContainsFunc(units, func(unit string) bool { return strings.HasSuffix(f.Sweep.Heading, unit) }) {
			t.Errorf("%s has no unit", f.Sweep.Heading)
		}
	}
}

func TestAListSaysWhichLoadKeepsTheSLO(t *testing.T) {
	p := listed(t, "concurrency=1,2,4,8")
	for want, kept := range map[string]func(float64) bool{
		"that keeps the SLO is 4.":              func(n float64) bool { return n <= 4 },
		"that keeps the SLO is 8, though 2 mis": func(n float64) bool { return n != 2 },
		"None of these loads keeps the SLO.":    func(float64) bool { return false },
	} {
		r := SweepResult{State: SweepComplete}
		r.Update(p, driveSweep(t, p, func(n float64) SweepOutcome { return goodput(kept(n)) }))
		if notes := r.Notes(p); len(notes) != 1 || !strings.Contains(notes[0], want) {
			t.Errorf("%q, want %q", notes, want)
		}
	}
}

func TestASLOThatASingleRequestDecidesIsSaidToBeOne(t *testing.T) {
	p := listed(t, "rate=1,2,4")
	r := SweepResult{State: SweepComplete}
	r.Update(p, driveSweep(t, p, func(rate float64) SweepOutcome {
		o := goodput(true)
		o.Summary.SLO.RequiredRatio, o.Summary.SLO.Requests = 0.99, int(49*rate)
		return o
	}))
	notes := r.Notes(p)
	if len(notes) != 2 || !strings.Contains(notes[1], "fewer than 100 requests") || !strings.HasSuffix(notes[1], " at 1, 2.") {
		t.Errorf("%q", notes)
	}
}

func TestASearchNamesBothEndsAndTheHighestThroughput(t *testing.T) {
	p := looking(t, ForSLO, "rate=1..64", 0.1)
	r := SweepResult{Sweep: "s", State: SweepComplete}
	r.Update(p, driveSweep(t, p, func(rate float64) SweepOutcome { return goodput(rate <= 10) }))
	if f := r.Finding; !r.Good(p) || *f.Within > 10 || *f.Beyond <= 10 {
		t.Errorf("good %v, between %v and %v", r.Good(p), *f.Within, *f.Beyond)
	}
	if notes := r.Notes(p); !strings.HasPrefix(notes[0], "The limit lies between rate") {
		t.Errorf("notes %q", notes)
	}
	r.Update(p, driveSweep(t, p, func(float64) SweepOutcome {
		o := tokensPerSecond(7)
		o.Summary.SLO = &summary.SLOResult{Met: true}
		return o
	}))
	if notes := r.Notes(p); !strings.HasSuffix(notes[2], "is 7 output tokens per second, at 1.") {
		t.Errorf("notes %q", notes)
	}
}
