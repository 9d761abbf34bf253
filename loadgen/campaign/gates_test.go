package campaign

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/rundir"
)

// gated runs one run behind gates, and returns what its manifest says of them and how long it took.
func gated(t *testing.T, w *world, gates string, before ...Event) (found map[string]rundir.Gate, o Outcome, err error) {
	t.Helper()
	p := parsed(t, "iterations: 1\non_invalid: {repeat: 0, stop_after: 9}\ngates: "+gates+"\n")
	c := w.campaign(p)
	c.Only = plan.Filter{Arms: []string{"a"}}
	i, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	for _, e := range before {
		i.known.take(e)
	}
	o, err = i.Run(t.Context())
	found = map[string]rundir.Gate{}
	for _, g := range named(events(t, w.dir), eventGates)[0].Gates {
		found[g.Name] = g
	}
	return found, o, err
}

// probed begins gates with a probe of the GPU.
const probed = "{sm_clock: {min_hertz: 2e9, argv: [burn]}, "

// inState is a machine whose GPU works in a performance state.
func inState(p float64) func(float64) Machine {
	return func(float64) Machine { return Machine{SMClockHertz: number(2.4e9), PState: number(p)} }
}

// stateBefore is what an earlier probe of an arm has found.
func stateBefore(arm string, p float64) Event {
	return Event{Event: eventGates, Slot: 9, Model: "m", Arm: arm, Gates: []rundir.Gate{{Name: gatePState, Value: number(p)}}}
}

const off = "off: [cooldown, gpu_celsius, cpu_ratio, mem_free_within]"

func TestAGateOpensWhenTheMachineIsAsItShouldBe(t *testing.T) {
	const gib = 1 << 30
	for name, c := range map[string]struct {
		gates   string
		machine func(seconds float64) Machine
		before  []Event
		gate    string
		state   string
		seconds float64
	}{
		"it cools down": {"{gpu_celsius: 45, cpu_ratio: 1}", func(s float64) Machine { return Machine{Celsius: number(60 - s/10)} }, nil, gateGPUCelsius, gatePassed, 150},
		"it never cools down": {"{gpu_celsius: 45, timeout: 10m}", func(float64) Machine { return Machine{Celsius: number(60)} },
			nil, gateGPUCelsius, gateTimedOut, 600},
		"it is as warm as at the first start": {"{within_first_celsius: 2}", func(s float64) Machine { return Machine{Celsius: number(60 - s/10)} },
			[]Event{{Event: eventGates, Slot: 9, Celsius: number(53)}}, gateGPUCelsius, gatePassed, 50},
		"nobody tells its temperature": {"{gpu_celsius: 45}", func(float64) Machine { return Machine{} }, nil, gateGPUCelsius, gateNotObservable, 0},
		"its processors come to rest": {"{cpu_ratio: 0.1, off: [gpu_celsius]}", func(s float64) Machine {
			return Machine{BusySeconds: number(min(s, 30)), TotalSeconds: number(s + 1)}
		}, nil, gateCPURatio, gatePassed, 35},
		"memory is given back": {"{mem_free: 60GiB, " + off + "}", func(s float64) Machine { return Machine{MemFreeBytes: number((40 + s) * gib)} }, nil, gateMemFree, gatePassed, 20},
		"memory that nobody gives back is not waited for": {"{mem_free: 60GiB, " + off + "}", func(float64) Machine { return Machine{MemFreeBytes: number(40 * gib)} },
			nil, gateMemFree, gateTimedOut, 60},
		"as much is free as at the start of the other arm": {"{mem_free_within: 1GiB}", func(s float64) Machine { return Machine{MemFreeBytes: number((90 + s) * gib)} },
			[]Event{{Event: eventGates, Slot: 9, Arm: "b", MemFree: number(100 * gib)}}, gateMemFreeWithin, gatePassed, 10},
		"less is free than at the start of the other arm": {"{mem_free_within: 1GiB}", func(float64) Machine { return Machine{MemFreeBytes: number(90 * gib)} },
			[]Event{{Event: eventGates, Slot: 9, Arm: "b", MemFree: number(100 * gib)}}, gateMemFreeWithin, gateTimedOut, 60},
		"its own start is no measure": {"{mem_free_within: 1GiB}", func(float64) Machine { return Machine{MemFreeBytes: number(90 * gib)} },
			[]Event{{Event: eventGates, Slot: 9, Arm: "a", MemFree: number(100 * gib)}}, gateMemFreeWithin, gatePassed, 0},
		"the first start counts, not the last": {"{within_first_celsius: 2}", func(s float64) Machine { return Machine{Celsius: number(60 - s/10)} },
			[]Event{{Event: eventGates, Slot: 9, Celsius: number(53)}, {Event: eventGates, Slot: 9, Celsius: number(58)}}, gateGPUCelsius, gatePassed, 50},
		"the clock is up under load": {"{sm_clock: {min_hertz: 2e9, argv: [burn]}}", func(float64) Machine { return Machine{SMClockHertz: number(2.4e9)} }, nil, gateSMClock, gatePassed, 2},
		"the clock stays down":       {"{sm_clock: {min_hertz: 2e9, argv: [burn]}}", func(float64) Machine { return Machine{SMClockHertz: number(5e8)} }, nil, gateSMClock, gateTimedOut, 30},
		"the command of the probe takes its time to load the GPU": {"{sm_clock: {min_hertz: 2e9, argv: [burn]}}", func(s float64) Machine {
			if s < 7 {
				return Machine{SMClockHertz: number(3.45e8)}
			}
			return Machine{SMClockHertz: number(2.4e9)}
		}, nil, gateSMClock, gatePassed, 8},
		"its state follows the clock": {probed + "p_state: P0}", func(s float64) Machine {
			return Machine{SMClockHertz: number(min(2.4e9, 3e8*s)), PState: number(max(0, 12-s))}
		}, nil, gatePState, gatePassed, 12},
		"the performance state is P0 under load": {probed + "p_state: P0}", inState(0), nil, gatePState, gatePassed, 2},
		"the GPU stays in an idle state":         {probed + "p_state: P0}", inState(8), nil, gatePState, gateTimedOut, 30},
		"no state is read":                       {probed + "p_state: P0}", func(float64) Machine { return Machine{SMClockHertz: number(2.4e9)} }, nil, gatePState, gateNotObservable, 2},
		"as fast as its runs usually are": {probed + "p_state: usual}", inState(2), []Event{stateBefore("a", 2), stateBefore("a", 2), stateBefore("a", 0), stateBefore("b", 0)},
			gatePState, gatePassed, 2},
		"slower than its runs usually are": {probed + "p_state: usual}", inState(2), []Event{stateBefore("a", 0), stateBefore("a", 0), stateBefore("a", 2), stateBefore("b", 2)},
			gatePState, gateTimedOut, 30},
		"usual is what the first probe finds": {probed + "p_state: usual}", inState(5), []Event{stateBefore("b", 0)}, gatePState, gatePassed, 2},
		"the probe does not run":              {"{sm_clock: {min_hertz: 2e9, argv: [other]}}", func(float64) Machine { return Machine{SMClockHertz: number(5e8)} }, nil, gateSMClock, gateNotObservable, 0},
	} {
		inWorld(t, func(t *testing.T, w *world) {
			began := time.Now()
			w.machine = func() Machine { return c.machine(time.Since(began).Seconds()) }
			found, o, err := gated(t, w, c.gates, c.before...)
			if g := found[c.gate]; err != nil || !o.Sound() || g.State != c.state || math.Abs(g.Seconds-c.seconds) > 5 {
				t.Errorf("%s: %+v after %v s, wanted %s after %v (%v)", name, g, g.Seconds, c.state, c.seconds, err)
			}
		})
	}
}

func TestAStrictPlanMakesNoRunBehindAGateThatStaysShut(t *testing.T) {
	for gates, why := range map[string]string{
		"{strict: true, gpu_celsius: 45, timeout: 5m}":                                              "gpu_celsius failed at 60 C, 45 C wanted",
		"{strict: true, sm_clock: {min_hertz: 2e9, argv: [burn]}, off: [gpu_celsius]}":              "sm_clock failed at 500 MHz, 2000 MHz wanted",
		"{strict: true, sm_clock: {min_hertz: 1e8, argv: [burn]}, p_state: P0, off: [gpu_celsius]}": "p_state failed at P8, P0 wanted",
		"{strict: true, mem_free: 60GiB, off: [gpu_celsius, cpu_ratio], timeout: 1m}":               "mem_free failed",
	} {
		inWorld(t, func(t *testing.T, w *world) {
			w.machine = func() Machine { return Machine{Celsius: number(60), SMClockHertz: number(5e8), PState: number(8)} }
			_, o, err := gated(t, w, gates)
			if err != nil || o.Counts[Failed] != 1 || len(w.ordered()) != 0 {
				t.Fatalf("%s: %+v (%v) %v", gates, o, err, w.ordered())
			}
			if run := named(events(t, w.dir), eventRun)[0]; !strings.Contains(run.Text, why) {
				t.Errorf("%s: %s", gates, run.Text)
			}
		})
	}
}

func TestTheRestBetweenRunsIsCountedFromTheEndOfTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for ago, want := range map[time.Duration]float64{0: 300, 2 * time.Minute: 180, time.Hour: 0, -time.Hour: 300} { // the last by a clock that was set back
			w := newWorld(t)
			found, _, err := gated(t, w, "{cooldown: 5m}", Event{Event: eventRun, Slot: 9, At: time.Now().Add(-ago), Status: Finished})
			if g := found[gateCooldown]; err != nil || g.State != gatePassed || math.Abs(g.Seconds-want) > 1 {
				t.Errorf("%s ago: %+v (%v)", ago, g, err)
			}
		}
	})
}

func TestAnInterruptEndsTheWaiting(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.machine = func() Machine { return Machine{Celsius: number(60)} }
		ctx, interrupt := context.WithTimeout(t.Context(), time.Minute)
		defer interrupt()
		began := time.Now()
		o, err := w.run(ctx, w.campaign(parsed(t, "iterations: 1\ngates: {gpu_celsius: 45}\n")))
		if err != nil || o.State != Stopped || time.Since(began) > time.Minute+time.Second || len(w.ordered()) != 0 {
			t.Errorf("%+v (%v) after %s", o, err, time.Since(began))
		}
		if want := []string{"gate gpu_celsius at 60 C, 45 C wanted, at most 30m0s", "gate gpu_celsius at 60 C, 45 C wanted, at most 29m55s"}; !slices.Equal(w.waited[:2], want) {
			t.Errorf("%q, want %q", w.waited, want)
		}
	})
}

func TestWhatARunWaitsForIsShown(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.machine = func() Machine { return Machine{} }
		if _, err := w.run(t.Context(), w.campaign(parsed(t, "iterations: 1\ngates: {cooldown: 2m, off: [gpu_celsius, cpu_ratio, mem_free_within]}\n"))); err != nil {
			t.Fatal(err)
		}
		if want := []string{"arm a to be ready", "the machine to rest, at most 2m0s", "arm b to be ready"}; !slices.Equal(w.waited, want) {
			t.Errorf("%q, want %q", w.waited, want)
		}
	})
}

func TestChecksAreMadeBeforeAndAfterAndJudgedByTheirBounds(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		speed := "first 7.5 TFLOPS, then 12.5 TFLOPS"
		w.command = func(argv []string) Printed {
			if argv[0] == "matmul" {
				return Printed{Text: speed}
			}
			return Printed{ExitCode: 3, Text: "1"}
		}
		var facts []rundir.Check
		w.result = func(o Order) Result { speed = "4.5"; return Result{Status: Finished} }
		after := w.measure
		c := w.campaign(parsed(t, `iterations: 1
checks:
  - {name: speed, argv: [matmul], min: 5, unit: TFLOPS}
  - {name: first, argv: [matmul], number: 'first ([0-9.]+)', when: [before]}
  - {name: broken, argv: [no], when: [after]}
`))
		c.Only = plan.Filter{Arms: []string{"a"}}
		c.Operations.Measure = func(ctx context.Context, o Order) Result {
			result := after(ctx, o)
			facts = o.Engine.Facts().Checks
			return result
		}
		w.mustRun(t.Context(), c)
		var texts []string
		for _, f := range facts {
			text := f.Name + " " + f.When + " passed"
			if !f.Passed {
				text = f.Failure()
			}
			texts = append(texts, text)
		}
		want := "speed before passed\nfirst before passed\ncheck speed after the load: 4.5 TFLOPS, wanted at least 5\ncheck broken after the load: it ended with exit code 3"
		if got := strings.Join(texts, "\n"); got != want || *facts[0].Value != 12.5 || *facts[1].Value != 7.5 {
			t.Errorf("%s", got)
		}
	})
}

func TestACheckThatFailsBeforeARunOfAStrictPlanFailsIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.command = func([]string) Printed { return Printed{Problem: "it had not ended after 5m"} }
		c := w.campaign(parsed(t, "iterations: 1\nchecks: [{name: x, argv: [y]}]\ngates: {strict: true, "+off+"}\non_invalid: {repeat: 0, stop_after: 9}\n"))
		o, err := w.run(t.Context(), c)
		if run := named(events(t, w.dir), eventRun)[0]; err != nil || o.Counts[Failed] != 2 || !strings.Contains(run.Text, ErrGate.Error()) {
			t.Errorf("%+v (%v): %s", o, err, run.Text)
		}
	})
}

func TestWhatIsCollectedIsAskedOnceAndKeepsNoCredentials(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		asked := 0
		w.command = func([]string) Printed {
			asked++
			return Printed{Text: "vllm @ git+https://user:hunter2@host/x\n" + strings.Repeat("long\n", 20_000)}
		}
		var facts []rundir.Collected
		w.result = func(o Order) Result {
			facts = append(facts, o.Engine.Facts().Collected...)
			return Result{Status: Finished}
		}
		w.mustRun(t.Context(), w.campaign(parsed(t, "iterations: 2\ncollect: [{name: freeze, argv: [pip]}]\n")))
		if asked != 2 || len(facts) != 4 {
			t.Errorf("asked %d times for %d runs of 2 arms", asked, len(facts))
		}
		if f := facts[0]; !f.Cut || len(f.Output) > mostCollected || strings.Contains(f.Output, "hunter2") || !strings.HasPrefix(f.Output, "vllm @ git+https://<redacted>@host/x") || f.SHA256 != facts[1].SHA256 {
			t.Errorf("%.80s", f.Output)
		}
	})
}

// FuzzNumber: what is read of a text is a number, and the last one if nothing else is said.
func FuzzNumber(f *testing.F) {
	f.Add("it is 10.5 TFLOPS", "")
	f.Add("1e309", "")
	f.Add("a=3 b=4", `a=(\d+)`)
	f.Add("-3 +4 .5 5.", "")
	f.Add("v1.2.3", `(`)
	f.Add("nan inf", `(\w+)`)
	f.Fuzz(func(t *testing.T, text, pattern string) {
		v, err := findNumber(text, pattern)
		if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
			t.Fatalf("%q by %q is %v", text, pattern, v)
		}
		if appended, err := findNumber(text+" 17.25", ""); err != nil || appended != 17.25 {
			t.Fatalf("%q: the last number is %v (%v)", text, appended, err)
		}
	})
}
