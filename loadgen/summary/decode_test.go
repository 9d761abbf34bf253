package summary

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/roofline"
	"github.com/umascope/umascope/loadgen/summary/testrun"
)

// condition is the state of a machine and a client while a run is measured. Shares are of the measured time.
type condition struct {
	spark                      bool // a GB10 machine, otherwise an H200
	sent                       int  // requests at once
	waiting                    float64
	heat, brake, capped, clock float64
	faulty                     float64 // share of samples with a failed power supply
	gpuBusy, cpuBusy, cpuWaits float64
	ethernet, rdma             float64 // shares of the speed
	rdmaErrors                 float64 // a second
	tokenMS                    int64
	promptMS                   int64   // for which the engine reads a prompt
	stretch                    float64 // of a step while it does
	lag, clientCPU             float64 // lag in times of a token
	sentLate                   float64 // share of requests with that lag
	twoMachines                bool
}

// sound draws a machine at work without a fault, with all that is normal: little queues, a warm day, a cap of GB10 that
// is always on, a background of errors.
func sound(random *rand.Rand) condition {
	between := func(low, high float64) float64 { return low + (high-low)*random.Float64() }
	c := condition{
		spark: random.IntN(2) == 0, sent: 2 + random.IntN(14), heat: between(0, 0.004), capped: between(0, 0.4), clock: between(0.88, 0.99),
		gpuBusy: between(0.9, 0.99), cpuBusy: between(0.05, 0.6), cpuWaits: between(0, 0.12), ethernet: between(0, 0.1), rdma: between(0, 0.4),
		rdmaErrors: between(0, 0.3), tokenMS: 15 + random.Int64N(40), lag: between(0, 0.08), clientCPU: between(0.02, 0.5), sentLate: 1,
		promptMS: 10 + random.Int64N(50), stretch: between(1, 1.3),
	}
	c.waiting = between(0, 0.05) * float64(c.sent)
	if c.spark {
		c.capped, c.clock = between(0.3, 1), between(0.7, 0.85)
	}
	if random.IntN(4) == 0 { // CPUs full of something else, while the GPU has work
		c.cpuBusy, c.cpuWaits = between(0.6, 0.84), between(0.05, 0.3)
	}
	return c
}

// faults draw a fault each, from a hardly visible to a strong one, on a machine that is sound otherwise.
func faults() map[roofline.Cause]func(*rand.Rand, *condition) string {
	between := func(random *rand.Rand, low, high float64) float64 { return low + (high-low)*random.Float64() }
	return map[roofline.Cause]func(*rand.Rand, *condition) string{
		roofline.Queue: func(random *rand.Rand, c *condition) string {
			c.sent = 4 + random.IntN(12)
			places := 1 + random.IntN(c.sent-1)
			c.waiting = float64(c.sent - places)
			return fmt.Sprintf("%d places for %d requests", places, c.sent)
		},
		roofline.Prefill: func(random *rand.Rand, c *condition) string {
			c.waiting = 0
			c.sent, c.promptMS, c.stretch = 4+random.IntN(12), int64(math.Pow(10, between(random, 1.5, 2.8))), math.Pow(10, between(random, 0.15, 1))
			return fmt.Sprintf("%d prompts of %d ms, a step takes %.1f times as long", c.sent, c.promptMS, c.stretch)
		},
		roofline.Heat: func(random *rand.Rand, c *condition) string {
			c.heat, c.clock = math.Pow(10, between(random, -2.1, -0.1)), between(random, 0.5, 0.85)
			return fmt.Sprintf("hot for %.2g of the time", c.heat)
		},
		roofline.Power: func(random *rand.Rand, c *condition) string {
			switch random.IntN(3) {
			case 0:
				c.spark, c.faulty = true, between(random, 0.1, 1)
				return fmt.Sprintf("power supply failed for %.2g", c.faulty)
			case 1:
				c.brake = between(random, 0.005, 0.6)
				return fmt.Sprintf("power brake for %.2g", c.brake)
			}
			c.spark, c.capped, c.clock = false, between(random, 0.45, 1), between(random, 0.4, 0.87)
			return fmt.Sprintf("capped for %.2g at %.2g of the clock", c.capped, c.clock)
		},
		roofline.Link: func(random *rand.Rand, c *condition) string {
			if c.twoMachines = true; random.IntN(2) == 0 {
				c.rdma = between(random, 0.55, 0.99)
				return fmt.Sprintf("port at %.2g of its speed", c.rdma)
			}
			c.rdmaErrors = math.Pow(10, between(random, -0.1, 3))
			return fmt.Sprintf("%.2g errors a second", c.rdmaErrors)
		},
		roofline.Client: func(random *rand.Rand, c *condition) string {
			c.lag, c.clientCPU = math.Pow(10, between(random, -0.7, 1)), between(random, 0.4, 1)
			return fmt.Sprintf("late by %.2g tokens, %.2g of its CPUs", c.lag, c.clientCPU)
		},
		roofline.CPU: func(random *rand.Rand, c *condition) string {
			c.cpuBusy, c.cpuWaits, c.gpuBusy = between(random, 0.82, 1), between(random, 0.3, 0.9), between(random, 0.2, 0.84)
			return fmt.Sprintf("CPUs at %.2g, GPU at %.2g", c.cpuBusy, c.gpuBusy)
		},
	}
}

// page are the series of a machine in that condition.
func (c condition) page(random *rand.Rand) testrun.Page {
	const cores, windows = 20, 1000.0
	seed := random.Uint64()
	faulty := func(at float64) bool { return rand.New(rand.NewPCG(seed, uint64(at))).Float64() < c.faulty }
	per := func(at float64) string {
		var b strings.Builder
		put := func(family metric.Definer, labels string, v float64) {
			fmt.Fprintf(&b, "OWN_%s{%s} %g\n", family.Def().Name, labels, v)
		}
		noise := rand.New(rand.NewPCG(seed, uint64(at)+1))
		const engine, gpu = `source="vllm",model="m",state=`, `uuid="GPU-1"`
		waiting := math.Max(0, c.waiting+0.3*noise.NormFloat64()*math.Min(1, c.waiting))
		put(metric.EngineRequests, engine+`"waiting"`, waiting)
		put(metric.EngineRequests, engine+`"running"`, float64(c.sent)-waiting)
		clock, watts, most := c.clock*3e9, 45.0, 3e9
		if c.spark && faulty(at) {
			clock, watts = 700e6, 16
		}
		put(metric.GPUSMClockHertz, gpu, clock)
		put(metric.GPUSMClockMaxHertz, gpu, most)
		put(metric.GPUPowerWatts, gpu, watts)
		put(metric.GPUUtilizationRatio, gpu, math.Min(1, c.gpuBusy+0.02*noise.NormFloat64()))
		for reason, share := range map[string]float64{metric.ReasonSWThermal: c.heat, metric.ReasonHWPowerBrake: c.brake, metric.ReasonSWPowerCap: c.capped} {
			put(metric.GPUClockEventSecondsTotal, gpu+`,reason="`+reason+`"`, windows+share*at)
		}
		for mode, share := range map[string]float64{"user": c.cpuBusy * 0.8, "system": c.cpuBusy * 0.2, "idle": 1 - c.cpuBusy} {
			put(metric.CPUSecondsTotal, `mode="`+mode+`"`, windows+cores*share*at)
		}
		put(metric.PressureWaitingSecondsTotal, `resource="cpu"`, c.cpuWaits*at)
		const office, port, ethernet, cable = `device="enP7s7"`, `device="rocep1s0f0",port="1"`, 10e9 / 8, 200e9 / 8
		put(metric.NetworkSpeedBytesPerSecond, office, ethernet)
		put(metric.NetworkReceiveBytesTotal, office, c.ethernet*ethernet*at)
		put(metric.NetworkTransmitBytesTotal, office, c.ethernet*ethernet*at/2)
		put(metric.InfiniBandPortUp, port, 1)
		put(metric.InfiniBandPortRateBytesPerSecond, port, cable)
		put(metric.InfiniBandPortDataReceivedBytesTotal, port, c.rdma*cable*at)
		put(metric.InfiniBandPortDataTransmittedBytesTotal, port, c.rdma*cable*at/2)
		put(metric.InfiniBandPortErrorsTotal, port+`,kind="out_of_sequence"`, math.Round(c.rdmaErrors*at))
		return b.String()
	}
	// The page has series of its own of some of these names: those are hidden.
	renamed := []string{"\nOWN_", "\n"}
	for _, family := range []metric.Definer{metric.GPUSMClockHertz, metric.GPUPowerWatts, metric.GPUUtilizationRatio, metric.GPUClockEventSecondsTotal} {
		renamed = append(renamed, "\n"+family.Def().Name+`{uuid="GPU-1"`, "\n"+`hidden{was="`+family.Def().Name+`",uuid="GPU-1"`)
	}
	if !c.spark {
		renamed = append(renamed, "NVIDIA GB10", "NVIDIA H200")
	}
	return testrun.Page{Mode: metric.ModeLive, Per: per, Replace: strings.NewReplacer(renamed...)}
}

// client is one of a closed loop: it sends its next request when it has the answer to the last.
type client struct {
	sentMS   int64
	promptMS int64   // still to read of its prompt
	chunks   []int64 // of its answer
}

// answers are those of an engine with a place for each request that does not wait, in a closed loop from 5.1 to 13 s. It
// reads prompts one after another, as they came, and its steps of decoding take longer while it does.
func (c condition) answers(random *rand.Rand) []openai.Record {
	const tokens = 40
	var records []openai.Record
	waiting := make([]*client, c.sent)
	for i := range waiting {
		waiting[i] = &client{sentMS: 5100, promptMS: c.promptMS}
	}
	places := c.sent - int(math.Round(c.waiting))
	var placed []*client
	for at := int64(5100); len(placed)+len(waiting) > 0; {
		for len(waiting) > 0 && len(placed) < places && waiting[0].sentMS <= at {
			placed, waiting = append(placed, waiting[0]), waiting[1:]
		}
		took := c.tokenMS + random.Int64N(3)
		reads := slices.IndexFunc(placed, func(one *client) bool { return one.promptMS > 0 })
		if reads >= 0 {
			took = int64(float64(took) * c.stretch)
			placed[reads].promptMS -= took
		}
		at += took
		for _, one := range slices.Clone(placed) {
			if one.promptMS > 0 {
				continue
			}
			if one.chunks = append(one.chunks, at-one.sentMS); len(one.chunks) < tokens {
				continue
			}
			records = append(records, testrun.Answered(len(records), one.sentMS, one.chunks...))
			placed = slices.DeleteFunc(placed, func(o *client) bool { return o == one })
			if at < 13000 {
				waiting = append(waiting, &client{sentMS: at + 1, promptMS: c.promptMS})
			}
		}
	}
	return records
}

// run is a run of requests with the lag of the client, on that machine.
func (c condition) run(t *testing.T, random *rand.Rand) Summary {
	t.Helper()
	records := c.answers(random)
	for i := range records {
		if random.Float64() < c.sentLate {
			due := *records[i].DispatchNS - int64(c.lag*float64(c.tokenMS)*1e6)
			records[i].IntendedNS, records[i].EligibleNS = due, &due
		}
	}
	run := testrun.OneMachine(t, c.page(random), records...)
	run.Manifest.Judging.Client.CPURatio = c.clientCPU
	computed, err := Compute(run.Write(t), supported.Engines())
	if err != nil {
		t.Fatal(err)
	}
	return computed.Summary
}

// TestSimulatedFaultsAreNamed draws 70 faults, ten of each cause, and 60 machines without a fault. The table shows with -v
// what was made of each.
func TestSimulatedFaultsAreNamed(t *testing.T) {
	const each, least, sane = 10, 63, 60
	named, wrong, likely := 0, 0, 0
	for i, cause := range roofline.Causes() {
		for n := range each {
			random := rand.New(rand.NewPCG(uint64(i), uint64(n)))
			c := sound(random)
			fault := faults()[cause](random, &c)
			right, others := false, []string{}
			for _, finding := range c.run(t, random).Decode.HeldBack {
				seen := finding.Certainty == roofline.Proven || finding.Certainty == roofline.Likely
				switch {
				case finding.Cause == cause:
					if right = seen; !seen {
						others = append(others, fmt.Sprintf("%s: %s", finding.Certainty, finding.Evidence))
					}
				case finding.Certainty == roofline.Proven:
					wrong++
					fallthrough
				case seen:
					others = append(others, fmt.Sprintf("%s %s (%s)", finding.Cause, finding.Certainty, finding.Evidence))
				}
			}
			if right {
				named++
			}
			t.Logf("%-9s  %-45s  named %-5v  others %s", cause, fault, right, strings.Join(others, "; "))
		}
	}
	for n := range sane {
		random := rand.New(rand.NewPCG(99, uint64(n)))
		c := sound(random)
		for _, finding := range c.run(t, random).Decode.HeldBack {
			switch finding.Certainty {
			case roofline.Proven:
				wrong++
			case roofline.Likely:
				likely++
			default:
				continue
			}
			t.Logf("none       %s is %s: %s", finding.Cause, finding.Certainty, finding.Evidence)
		}
	}
	t.Logf("named right: %d of %d; wrong with proven: %d; likely on machines without a fault: %d", named, len(roofline.Causes())*each, wrong, likely)
	if named < least || wrong > 0 {
		t.Errorf("named right %d of %d, want %d; wrong with proven %d, want 0", named, len(roofline.Causes())*each, least, wrong)
	}
}

// TestRequestsOfAFrontendAreNoQueue: those that Dynamo's frontend counts as queued wait for their first token, so their
// prompt may be under way; its workers' pages have those that wait.
func TestRequestsOfAFrontendAreNoQueue(t *testing.T) {
	const frontend = `OWN_INFO{source="127.0.0.1:8000/metrics",engine="dynamo",model="m",version="1.6.1"} 1
OWN_REQUESTS{source="127.0.0.1:8000/metrics",model="m",state="waiting"} 3
`
	const worker = `OWN_INFO{source="127.0.0.1:8081/metrics",engine="vllm",model="m",version=""} 1
OWN_REQUESTS{source="127.0.0.1:8081/metrics",model="m",state="waiting"} 0
`
	for name, test := range map[string]struct {
		pages string
		want  roofline.Certainty
	}{
		"frontend alone":               {frontend, roofline.NotObservable},
		"frontend and workers":         {frontend + worker, roofline.NotSeen},
		"a worker whose requests wait": {strings.Replace(worker, `"waiting"} 0`, `"waiting"} 3`, 1), roofline.Proven},
	} {
		page := testrun.Page{Mode: metric.ModeLive, Per: func(float64) string { return test.pages }, Replace: strings.NewReplacer(
			"OWN_INFO", metric.EngineInfo.Def().Name, "OWN_REQUESTS", metric.EngineRequests.Def().Name)}
		random := rand.New(rand.NewPCG(1, 2))
		c := condition{sent: 4, tokenMS: 20, stretch: 1}
		computed, err := Compute(testrun.OneMachine(t, page, c.answers(random)...).Write(t), supported.Engines())
		if err != nil {
			t.Fatal(err)
		}
		if got := computed.Summary.Decode.HeldBack[0]; got.Cause != roofline.Queue || got.Certainty != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
