package report

import (
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/summary"
)

func TestAnAnswerStatesWhereTheMemoryWasAndHowFastAnswersCame(t *testing.T) {
	const gib = float64(1 << 30)
	live := summary.Origin{Source: "spark-1", Mode: metric.ModeLive}
	ready := map[string]float64{"gpu_process": 82.3 * gib, "anon": 6 * gib, "page_cache": 22.2 * gib, "slab_reclaimable": 7.5 * gib, "free": 3.7 * gib}
	run := func(change func(*summary.Summary)) summary.Summary {
		s := summary.Summary{
			Valid: true, Requests: map[openai.Status]int{openai.StatusOK: 62, openai.StatusTimeout: 2},
			Memory: &summary.Memory{Origin: live, Pool: new(121.7 * gib), LedgerAt: &summary.Ledgers{Ready: ready}},
			KV:     &summary.KV{CapacityBytes: new(46.8 * gib)},
		}
		s.Throughput.OutputTokensPerSecond = new(119.6)
		s.Latency = &summary.Latency{TTFT: &summary.Clocks{Intended: &summary.Distribution{P50: new(.183)}}}
		change(&s)
		return s
	}
	const load = "120 output tokens per second, TTFT 183 ms (p50), 62 of 64 requests ok."
	for name, c := range map[string]struct {
		change func(*summary.Summary)
		want   string
	}{
		"integrated": {func(*summary.Summary) {}, "118.0 of 121.7 GiB occupied when ready: KV cache 46.8, weights and runtime 35.5, page cache 22.2, reclaimable slab 7.5, other 6.0. " + load},
		"no size of the KV cache": {func(s *summary.Summary) { s.KV = nil },
			"118.0 of 121.7 GiB occupied when ready: GPU-held 82.3, page cache 22.2, reclaimable slab 7.5, anonymous 6.0. " + load},
		"an engine that ran before": {func(s *summary.Summary) { s.Memory.LedgerAt = &summary.Ledgers{Peak: ready} },
			"118.0 of 121.7 GiB occupied at the peak: KV cache 46.8, weights and runtime 35.5, page cache 22.2, reclaimable slab 7.5, other 6.0. " + load},
		"simulated": {func(s *summary.Summary) { s.Memory.Mode = metric.ModeSimulated; s.Model.Simulated = true },
			"118.0 of 121.7 GiB occupied when ready (simulated): KV cache 46.8, weights and runtime 35.5, page cache 22.2, reclaimable slab 7.5, other 6.0. 120 output tokens per second (simulated), TTFT 183 ms (p50), 62 of 64 requests ok."},
		"no telemetry": {func(s *summary.Summary) { s.Memory = nil }, load},
		"invalid": {func(s *summary.Summary) {
			s.Valid, s.InvalidReasons, s.Memory = false, []summary.Reason{{Code: "client_lag"}, {Code: "error_rate"}}, nil
		}, "INVALID: client_lag, error_rate. " + load},
		"few answers": {func(s *summary.Summary) {
			s.Memory, s.Latency.TTFT.Intended = nil, &summary.Distribution{Max: new(.276)}
		}, "120 output tokens per second, TTFT at most 276 ms, 62 of 64 requests ok."},
	} {
		if got := Answer(run(c.change)); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}

func TestThePageBeginsWithItsAnswerThenTheMemoryThenFigures(t *testing.T) {
	text := rendered(t, example(t, time.Minute))
	at := 0
	for _, part := range []string{" GiB occupied when ready: ", "<h3>Memory when the engine was ready", "engine ready", "output tokens per second</", " warnings</summary>", "this run is"} {
		i := strings.Index(text[at:], part)
		if i < 0 {
			t.Fatalf("%q is missing, or before the part before it", part)
		}
		at += i
	}
}
