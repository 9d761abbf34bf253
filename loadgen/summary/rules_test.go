package summary

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/evidence"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary/testrun"

	"github.com/umascope/umascope/loadgen/openai"
)

const gpuProcess = "uma_gpu_process_memory_bytes{uuid=\"GPU-1\",pid=\"1\",comm=\"engine\",cgroup=\"/docker/a\"} 6e10\n"

// healthy is a run of which everything was observed and nothing is wrong.
func healthy(t *testing.T, page testrun.Page) inputs {
	t.Helper()
	page.Extra += gpuProcess
	in := machine(t, page)
	in.Judging.Model.Checked, in.Judging.Model.Compared, in.Judging.Model.Guarded, in.KVMode.Checked = true, true, true, true
	in.Evidence = outputs(OutputDrift{Pairs: 32, Earliest: -1})
	in.Checks.Made = true
	in.PrefixReuse = &rundir.PrefixReuse{CommonTokens: new(40), Engine: &rundir.PrefixLookups{Tokens: 100 * 100}}
	return in
}

// outputs are the signals of a run whose replayed answers differ from a model without drift like this.
func outputs(replayed OutputDrift) *evidence.Signals {
	signals := notObservable()
	signals.OutputMatch = MatchOutputs(OutputDrift{Pairs: 8, Earliest: -1}, replayed, true)
	return &signals
}

// wrong has a run for every rule that breaks it and no other.
func wrong() map[Code]func(t *testing.T) (inputs, []openai.Record) {
	records := func(alter ...openai.Record) []openai.Record { return alter }
	with := func(change func(*inputs)) func(t *testing.T) (inputs, []openai.Record) {
		return func(t *testing.T) (inputs, []openai.Record) {
			in := healthy(t, testrun.Page{})
			change(&in)
			return in, testrun.Steady(100)
		}
	}
	sent := func(alter func(*openai.Record), first int) func(t *testing.T) (inputs, []openai.Record) {
		return func(t *testing.T) (inputs, []openai.Record) {
			return healthy(t, testrun.Page{}), records(testrun.Altered(100, first, alter)...)
		}
	}
	shown := func(page testrun.Page) func(t *testing.T) (inputs, []openai.Record) {
		return func(t *testing.T) (inputs, []openai.Record) { return healthy(t, page), testrun.Steady(100) }
	}
	growing := func(series string, perSecond float64) func(t *testing.T) (inputs, []openai.Record) {
		return shown(testrun.Page{Per: func(at float64) string { return fmt.Sprintf("%s %g\n", series, at*perSecond) }})
	}
	return map[Code]func(t *testing.T) (inputs, []openai.Record){
		CodeClientLag:   sent(func(r *openai.Record) { r.WrittenNS = new(*r.DispatchNS + 50*ms) }, 100),
		CodeClientStall: sent(readLate(3, 4, 30*ms, false), 100),
		CodePrefixReuse: sent(cached(180, 0, 200, 192), 100),
		CodeDepthEvicted: func(t *testing.T) (inputs, []openai.Record) {
			in := healthy(t, testrun.Page{})
			in.DepthTokens = 1000
			return in, testrun.Altered(100, 100, cached(1080, 1000, 1100, 700))
		},
		CodeErrorRate: sent(func(r *openai.Record) { r.Status = openai.StatusTimeout }, 2),
		CodeNoOutput:  sent(testrun.WithoutOutput, 2),
		CodePhaseFailed: func(t *testing.T) (inputs, []openai.Record) {
			in := healthy(t, testrun.Page{})
			return in, append(testrun.Altered(4, 4, baselineFailed), testrun.Steady(100)...)
		},
		CodeStreamBuffered:  sent(inOnePiece, 51),
		CodeModelMismatch:   with(func(in *inputs) { in.Judging.Model.Mismatch = "b answered" }),
		CodeModelChanged:    with(func(in *inputs) { in.Judging.Model.Changed = "b at the end" }),
		CodeModelDropped:    with(func(in *inputs) { in.Judging.Model.Dropped = "gone" }),
		CodePromptLimit:     with(func(in *inputs) { in.Judging.Model.PromptLimit = "8193 tokens" }),
		CodeKVModeMismatch:  with(func(in *inputs) { in.KVMode.Mismatch = "cpu_only" }),
		CodeCheckFailed:     with(func(in *inputs) { in.Checks.Failed = "matmul before the load: 3 TFLOPS, wanted at least 5" }),
		CodeIncomplete:      with(func(in *inputs) { in.Stopped = "interrupted" }),
		CodeOutputMismatch:  with(func(in *inputs) { in.Evidence = outputs(OutputDrift{Pairs: 32, Diverging: 32, Earliest: 20}) }),
		CodeTelemetryLost:   shown(testrun.Page{Silent: func(s float64) bool { return s > 9.5 && s < 12.5 }}),
		CodeThermalThrottle: growing(`uma_gpu_clock_event_seconds_total{uuid="GPU-1",reason="hw_slowdown"}`, .02),
		CodeSwapIn:          growing(`uma_vmstat_swapped_in_bytes_total{x="1"}`, 7<<20),
		CodeCounterReset: shown(testrun.Page{Per: func(at float64) string {
			return fmt.Sprintf("uma_gpu_energy_joules_total{uuid=\"GPU-2\"} %g\n", max(8-at, at-8))
		}}),
		CodeForeignGPUProcess:  shown(testrun.Page{Extra: "uma_gpu_process_memory_bytes{uuid=\"GPU-1\",pid=\"2\",comm=\"python\",cgroup=\"/user\"} 3e8\n"}),
		CodePowerDeliveryFault: shown(powerFault("NVIDIA GB10")),
	}
}

// powerFault is the page of a machine whose GPU is busy and has too little power.
func powerFault(product string) testrun.Page {
	return testrun.Page{
		Extra: "CLOCK{uuid=\"GPU-1\"} 8e8\nPOWER{uuid=\"GPU-1\"} 9\nBUSY{uuid=\"GPU-1\"} 0.9\n",
		Replace: strings.NewReplacer("NVIDIA GB10", product,
			"uma_gpu_sm_clock_hertz", "healthy", "CLOCK", "uma_gpu_sm_clock_hertz",
			"uma_gpu_power_watts", "healthy", "POWER", "uma_gpu_power_watts",
			"uma_gpu_utilization_ratio", "healthy", "BUSY", "uma_gpu_utilization_ratio"),
	}
}

// baselineFailed is a request of a phase before the measured one, which the server refused.
func baselineFailed(r *openai.Record) {
	testrun.WithoutOutput(r)
	r.Phase, r.Status, r.HTTPStatus, r.Error = "warmup", openai.StatusHTTP, 400, "HTTP 400: cache_salt must not contain '/'"
}

// TestEveryRuleFiresAloneAndCanBeSwitchedOff goes through the table: each rule is silent of a
// healthy run, fires of the run that breaks it, alone, and not when it is off.
func TestEveryRuleFiresAloneAndCanBeSwitchedOff(t *testing.T) {
	good := summarize(t, healthy(t, testrun.Page{}), testrun.Steady(100)...)
	if !good.Valid {
		t.Errorf("a healthy run: %v", good.InvalidReasons)
	}
	broken := wrong()
	for _, rule := range Rules() {
		breaks, known := broken[rule.Code]
		if !known {
			t.Errorf("no run breaks %s", rule.Code)
			continue
		}
		if !slices.Contains(good.Checked, rule.Check) {
			t.Errorf("%s was not checked of a run of which everything is known: %v", rule.Code, good.Checked)
		}
		in, records := breaks(t)
		if got := codes(summarize(t, in, records...)); !slices.Equal(got, []Code{rule.Code}) {
			t.Errorf("%s: %v", rule.Code, got)
		}
		in.Limits = Limits{rule.Code: {Off: true}}
		s := summarize(t, in, records...)
		if !s.Valid || !strings.Contains(strings.Join(s.Warnings, "\n"), string(rule.Code)+" was not judged: switched off") {
			t.Errorf("%s switched off: %v, warnings %q", rule.Code, s.InvalidReasons, s.Warnings)
		}
	}
}
