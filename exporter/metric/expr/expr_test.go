package expr

import (
	"errors"
	"fmt"
	"math"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/umascope/umascope/exporter/metric"
)

var byHost = By(metric.LabelHost)

// built are expressions that must be accepted, with their text.
func built() []struct {
	name string
	expr Expr
	want string
} {
	available := Select(metric.MemoryAvailableBytes)
	pool := Select(metric.MemoryPoolBytes)
	ledger := Select(metric.MemoryLedgerBytes, Is(metric.LabelHost, "$host"))
	return []struct {
		name string
		expr Expr
		want string
	}{
		{"selector", available, `uma_memory_available_bytes`},
		{"matchers", Select(metric.MemoryLedgerBytes, Is(metric.LabelLine, "free"), IsNot(metric.LabelHost, "a"), Matches(metric.LabelHost, "$host"), MatchesNot(metric.LabelJob, "x.*")),
			`uma_memory_ledger_bytes{line="free",host!="a",host=~"$host",job!~"x.*"}`},
		{"literal alternatives", Select(metric.MemoryLedgerBytes, OneOf(metric.LabelLine, "a.b", "c")), `uma_memory_ledger_bytes{line=~"a\\.b|c"}`},
		{"no literal alternative", Select(metric.MemoryLedgerBytes, NoneOf(metric.LabelLine, "a.b", "c")), `uma_memory_ledger_bytes{line!~"a\\.b|c"}`},
		{"foreign series", Select(metric.VLLMKVCacheUsagePerc), `vllm:kv_cache_usage_perc`},
		{"rate", Rate(metric.VmstatOOMKillsTotal, RateInterval), `rate(uma_vmstat_oom_kills_total[$__rate_interval])`},
		{"increase", Increase(metric.VmstatOOMKillsTotal, Over(10*time.Minute)), `increase(uma_vmstat_oom_kills_total[10m])`},
		{"delta", Delta(metric.MemoryDirtyBytes, Over(90*time.Minute)), `delta(uma_memory_dirty_bytes[1h30m])`},
		{"changes", Changes(metric.MemoryLedgerLineKnown, Over(time.Hour)), `changes(uma_memory_ledger_line_known[1h])`},
		{"prediction", PredictLinear(metric.MemoryAvailableBytes, Over(10*time.Minute), 10*time.Minute), `predict_linear(uma_memory_available_bytes[10m], 600)`},
		{"absent", Absent(metric.Up, Is(metric.LabelJob, "x")), `absent(up{job="x"})`},
		{"sum", ledger.Sum(byHost), `sum by (host) (uma_memory_ledger_bytes{host="$host"})`},
		{"min, max, avg", available.Min(byHost).Max(byHost).Avg(By()), `avg by () (max by (host) (min by (host) (uma_memory_available_bytes)))`},
		{"count", available.Count(byHost), `count by (host) (uma_memory_available_bytes)`},
		{"quantile over series", available.Quantile(0.5, Without(metric.LabelJob)), `quantile without (job) (0.5, uma_memory_available_bytes)`},
		{"arithmetic keeps its order", available.Plus(pool).Times(Number(2)).Minus(available.DividedBy(Number(3))),
			`((uma_memory_available_bytes + uma_memory_pool_bytes) * 2) - (uma_memory_available_bytes / 3)`},
		{"negative number", available.Times(Number(-1)), `uma_memory_available_bytes * -1`},
		{"comparison", available.Below(pool.Times(Number(0.06)).ClampMax(8 << 30)), `uma_memory_available_bytes < clamp_max(uma_memory_pool_bytes * 0.06, 8589934592)`},
		{"all comparisons", available.Above(pool).AtLeast(pool).AtMost(pool).Equals(pool).Differs(Number(0)),
			`((((uma_memory_available_bytes > uma_memory_pool_bytes) >= uma_memory_pool_bytes) <= uma_memory_pool_bytes) == uma_memory_pool_bytes) != 0`},
		{"sets", available.And(pool, On(metric.LabelHost)).Or(pool).Unless(Select(metric.Up), On(metric.LabelHost)),
			`((uma_memory_available_bytes and on (host) uma_memory_pool_bytes) or uma_memory_pool_bytes) unless on (host) up`},
		{"group right", pool.Times(ledger, On(metric.LabelHost).GroupRight(metric.LabelJob)), `uma_memory_pool_bytes * on (host) group_right (job) uma_memory_ledger_bytes{host="$host"}`},
		{"join with runs", available.DuringRuns(), `uma_memory_available_bytes * on (host) group_left (run, arm) max by (host, run, arm) (uma_run_active == 1)`},
		{"clamp", available.Clamp(0, 1).ClampMin(0.5), `clamp_min(clamp(uma_memory_available_bytes, 0, 1), 0.5)`},
		{"rounded", available.Rounded(0.001), `round(uma_memory_available_bytes, 0.001)`},
		{"offset reaches every selector", Rate(metric.VmstatOOMKillsTotal, Over(time.Minute)).DividedBy(Rate(metric.VmstatMajorPageFaultsTotal, Over(time.Minute))).Offset(time.Hour).Offset(time.Second),
			`rate(uma_vmstat_oom_kills_total[1m] offset 1h0m1s) / rate(uma_vmstat_major_page_faults_total[1m] offset 1h0m1s)`},
		{"offset into the future", available.Offset(-5 * time.Minute), `uma_memory_available_bytes offset -5m`},
		{"offset of a variable reaches every selector", available.DividedBy(pool).OffsetBy("shift"), `uma_memory_available_bytes offset ${shift} / uma_memory_pool_bytes offset ${shift}`},
		{"end of the range reaches every selector", available.DividedBy(Rate(metric.VmstatOOMKillsTotal, RateInterval)).Offset(time.Hour).AtEnd(),
			`uma_memory_available_bytes @ end() offset 1h / rate(uma_vmstat_oom_kills_total[$__rate_interval] @ end() offset 1h)`},
		{"robust z", available.Max(byHost).RobustZ(2, 5),
			`(((max by (host) (uma_memory_available_bytes) - on () group_left () quantile by () (0.5, max by (host) (uma_memory_available_bytes))) * 0.6745)` +
				` / on () group_left () clamp_min(quantile by () (0.5, abs(max by (host) (uma_memory_available_bytes) - on () group_left () quantile by () (0.5, max by (host) (uma_memory_available_bytes)))), 2))` +
				` and on () (count by () (max by (host) (uma_memory_available_bytes)) >= 5)`},
		{"last value", LastOverTime(metric.MemoryDirtyBytes, Over(time.Hour)), `last_over_time(uma_memory_dirty_bytes[1h])`},
		{"last scraped, an hour ahead", LastScraped(metric.Up, Over(time.Hour), Over(time.Minute)).Offset(-time.Hour).Age(), `time() - (max_over_time(timestamp(up offset -1h)[1h:1m]))`},
		{"count over time", CountOverTime(metric.Up, Over(time.Hour)), `count_over_time(up[1h])`},
		{"quantile over time", QuantileOverTime(0.5, metric.MemoryDirtyBytes, Over(7*24*time.Hour)), `quantile_over_time(0.5, uma_memory_dirty_bytes[1w])`},
		{"quantile of a summary", Select(metric.RunRequestDurationSeconds, Is(metric.LabelQuantile, "0.5")).Max(By(metric.LabelRun, metric.LabelQuantile)),
			`max by (run, quantile) (uma_run_request_duration_seconds{quantile="0.5"})`},
		{"largest", ledger.TopK(3, byHost), `topk by (host) (3, uma_memory_ledger_bytes{host="$host"})`},
		{"absolute", available.Minus(pool).Abs(), `abs(uma_memory_available_bytes - uma_memory_pool_bytes)`},
		{"label of a fixed value", available.Labelled(metric.LabelMode, "a\"b"), `label_replace(uma_memory_available_bytes, "mode", "a\"b", "", "")`},
		{"label copied", ledger.Copied(metric.LabelLine, `(..).*`, metric.LabelName, "$1"), `label_replace(uma_memory_ledger_bytes{host="$host"}, "name", "$1", "line", "(..).*")`},
		{"one", One(), `vector(1)`},
		{"zero where there is none", pool.Max(By()).OrZero().Times(Number(2)), `((max by () (uma_memory_pool_bytes)) or vector(0)) * 2`},
		{"mean of a metric that is in bytes", Select(metric.ComparisonMean, Matches(metric.LabelMetric, ".+_bytes")).In(metric.Bytes).Minus(pool), `uma_comparison_mean{metric=~".+_bytes"} - uma_memory_pool_bytes`},
		{"age", Select(metric.RunEndTimestampSeconds).Age().Above(Number(30)), `(time() - (uma_run_end_timestamp_seconds)) > 30`},
		{"milliseconds", Select(metric.RunEndTimestampSeconds).Milliseconds(), `uma_run_end_timestamp_seconds * 1000`},
		{"distribution in either form", Distribution(metric.LoadClientLagSeconds, RateInterval),
			`sum by () (rate(uma_load_client_lag_seconds[$__rate_interval])) or on () sum by (le) (rate(uma_load_client_lag_seconds_bucket[$__rate_interval]))`},
		{"quantile in either form", EitherQuantile(0.5, metric.LoadClientLagSeconds, Over(time.Minute), []metric.Label{metric.LabelRun}),
			`histogram_quantile(0.5, sum by (run) (rate(uma_load_client_lag_seconds[1m]))) or on (run) histogram_quantile(0.5, sum by (le, run) (rate(uma_load_client_lag_seconds_bucket[1m])))`},
		{"quantile of a native histogram", HistogramQuantile(0.9, metric.LoadTimeToFirstTokenSeconds, RateInterval, []metric.Label{metric.LabelRun}),
			`histogram_quantile(0.9, sum by (run) (rate(uma_load_time_to_first_token_seconds[$__rate_interval])))`},
		{"quantile of a classic histogram", BucketQuantile(0.9, metric.VLLME2ERequestLatencySeconds, RateInterval, []metric.Label{metric.LabelModelName}),
			`histogram_quantile(0.9, sum by (le, model_name) (rate(vllm:e2e_request_latency_seconds_bucket[$__rate_interval])))`},
	}
}

func TestExpressionsHaveTheTextThatPrometheusParses(t *testing.T) {
	grammar := parser.NewParser(parser.Options{})
	for _, b := range built() {
		if err := b.expr.Err(); err != nil {
			t.Errorf("%s: %v", b.name, err)
		}
		got := b.expr.String()
		// Prometheus writes 1h0m1s as 1h1s.
		if got != strings.ReplaceAll(b.want, "1h0m1s", "1h1s") {
			t.Errorf("%s:\n got %s\nwant %s", b.name, got, b.want)
		}
		if _, err := grammar.ParseExpr(strings.NewReplacer(string(RateInterval), "1m", "${shift}", "-60.5").Replace(got)); err != nil {
			t.Errorf("%s: %v", b.name, err)
		}
	}
}

func TestTheVocabularyRefuses(t *testing.T) {
	available, temperature := Select(metric.MemoryAvailableBytes), Select(metric.GPUTemperatureCelsius)
	contiguous := Select(metric.MemoryFreeContiguousBytes)
	percentile := HistogramQuantile(0.9, metric.LoadChunkGapSeconds, RateInterval, []metric.Label{metric.LabelRun})
	cases := []struct {
		name   string
		expr   Expr
		metric string
		label  metric.Label
		reason string
	}{
		{"sum of temperatures", temperature.Sum(byHost), "uma_gpu_temperature_celsius", metric.LabelJob, "must never be summed"},
		{"sum over cumulative sizes", contiguous.Sum(byHost), "uma_memory_free_contiguous_bytes", metric.LabelMinBlock, "must not be summed over min_block_bytes"},
		{"sum without the label", contiguous.Sum(Without(metric.LabelMinBlock)), "uma_memory_free_contiguous_bytes", metric.LabelMinBlock, "must not be summed"},
		{"sum hidden in an addition", available.Plus(contiguous.Max(By(metric.LabelHost, metric.LabelMinBlock)), On(metric.LabelHost).GroupRight()).Sum(byHost), "uma_memory_free_contiguous_bytes", metric.LabelMinBlock, "must not be summed"},
		{"sum of ratios", available.DividedBy(Select(metric.MemoryPoolBytes)).Sum(byHost), "uma_memory_available_bytes, uma_memory_pool_bytes", metric.LabelJob, "must never be summed"},
		{"sum of percentiles", percentile.Sum(By()), "uma_load_chunk_gap_seconds", "", "percentiles cannot be summed"},
		{"mean of percentiles", percentile.Avg(By()), "uma_load_chunk_gap_seconds", "", "no percentile"},
		{"unknown label in a matcher", Select(metric.MemoryPoolBytes, Is(metric.LabelPID, "1")), "uma_memory_pool_bytes", metric.LabelPID, "no such label"},
		{"address of the target", Select(metric.MemoryPoolBytes, Is("instance", "a:1")), "uma_memory_pool_bytes", "instance", "no such label"},
		{"unknown label in a grouping", available.Max(By(metric.LabelPID)), "uma_memory_available_bytes", metric.LabelPID, "grouped by"},
		{"label that an aggregation took", temperature.Max(byHost).Max(By(metric.LabelUUID)), "uma_gpu_temperature_celsius", metric.LabelUUID, "grouped by"},
		{"unknown label in a matching", available.And(Select(metric.MemoryPoolBytes), On(metric.LabelUUID)), "uma_memory_available_bytes", metric.LabelUUID, "matched by"},
		{"unknown label lent", available.Times(Select(metric.ExporterMode), On(metric.LabelHost).GroupLeft(metric.LabelRun)), "uma_exporter_mode", metric.LabelRun, "matched by"},
		{"label that a one-to-one match took", temperature.Above(Select(metric.NVMeTemperatureCelsius), On(metric.LabelHost)).Max(By(metric.LabelUUID)), "uma_gpu_temperature_celsius, uma_nvme_temperature_celsius", metric.LabelUUID, "grouped by"},
		{"broken pattern", Select(metric.MemoryPoolBytes, Matches(metric.LabelHost, "(")), "uma_memory_pool_bytes", metric.LabelHost, "missing closing"},
		{"value that is not UTF-8", Select(metric.MemoryPoolBytes, Is(metric.LabelHost, "\xff")), "uma_memory_pool_bytes", metric.LabelHost, "UTF-8"},
		{"unit of what has one", available.In(metric.Seconds), "uma_memory_available_bytes", "", "not in the unit of a metric"},
		{"zero beside labels", available.OrZero(), "uma_memory_available_bytes", "", "beside series with labels"},
		{"unknown label copied", available.Copied(metric.LabelPID, ".*", metric.LabelName, "$0"), "uma_memory_available_bytes", metric.LabelPID, "no such label"},
		{"broken pattern copied", available.Copied(metric.LabelHost, "(", metric.LabelName, "$0"), "uma_memory_available_bytes", metric.LabelHost, "missing closing"},
		{"degrees plus bytes", available.Plus(temperature), "uma_memory_available_bytes, uma_gpu_temperature_celsius", "", "bytes + degrees Celsius"},
		{"bytes against bytes per second", available.Above(Rate(metric.VmstatSwappedInBytesTotal, Over(time.Minute))), "uma_memory_available_bytes, uma_vmstat_swapped_in_bytes_total", "", "bytes > bytes per second"},
		{"robust z with nothing to divide by", available.RobustZ(0, 5), "uma_memory_available_bytes", "", "divides by nothing"},
		{"robust z among peers by a label that it does not have", available.RobustZ(1, 5, metric.LabelUUID), "uma_memory_available_bytes", metric.LabelUUID, "grouped by"},
		{"no window", Rate(metric.VmstatOOMKillsTotal, ""), "uma_vmstat_oom_kills_total", "", "needs a window"},
		{"negative window", Rate(metric.VmstatOOMKillsTotal, Over(-time.Minute)), "uma_vmstat_oom_kills_total", "", "needs a window"},
		{"quantile above 1", BucketQuantile(90, metric.VLLME2ERequestLatencySeconds, RateInterval, nil), "vllm:e2e_request_latency_seconds", "", "not within 0 and 1"},
		{"refusal deep inside", temperature.Sum(byHost).Times(Number(2)).Max(By()).Clamp(0, 1).Offset(time.Hour), "uma_gpu_temperature_celsius", metric.LabelJob, "never"},
	}
	for _, c := range cases {
		var refused *RefusedError
		if !errors.As(c.expr.Err(), &refused) {
			t.Errorf("%s: accepted as %s (%v)", c.name, c.expr, c.expr.Err())
			continue
		}
		if refused.Metric != c.metric || refused.Label != c.label || !strings.Contains(refused.Error(), c.reason) {
			t.Errorf("%s: refused as %q %q %q, want %q %q %q", c.name, refused.Metric, refused.Label, refused.Reason, c.metric, c.label, c.reason)
		}
	}
}

func TestNumbersAreNotSeries(t *testing.T) {
	one, pool := Number(1), Select(metric.MemoryPoolBytes)
	cases := map[string]Expr{
		"aggregated": one.Max(By()), "filled up": one.OrZero(), "clamped": one.Clamp(0, 1), "compared": one.Above(one), "in a set": pool.And(one),
		"matched": pool.Times(one, On(metric.LabelHost)), "not a number": Number(math.NaN()), "infinite": pool.Above(Number(math.Inf(1))),
		"grouped set": pool.And(pool, On(metric.LabelHost).GroupLeft()), "two matchings": pool.Plus(pool, On(), On()),
		"group without on": pool.Plus(pool, Matching{}.GroupLeft()), "empty": {}, "empty inside": pool.Plus(Expr{}), "empty below": Expr{}.Max(By()),
		"fraction of a millisecond": pool.Offset(time.Microsecond),
	}
	for name, e := range cases {
		if e.Err() == nil {
			t.Errorf("%s: accepted as %s", name, e)
		}
	}
}

func TestSumsThatMeanSomethingAreAccepted(t *testing.T) {
	contiguous := Select(metric.MemoryFreeContiguousBytes, Is(metric.LabelMinBlock, "65536"))
	cases := map[string]Expr{
		"a matcher settles the label":     contiguous.Sum(byHost),
		"a maximum takes the label":       Select(metric.MemoryFreeContiguousBytes).Max(byHost).Sum(By()),
		"rates of a counter":              Rate(metric.NVMeReadBytesTotal, RateInterval).Sum(byHost),
		"scaled":                          Select(metric.GPUPowerWatts).Times(Number(0.5)).Sum(byHost),
		"joined with an info":             Select(metric.GPUPowerWatts).Times(Select(metric.GPUInfo), On(metric.LabelUUID).GroupLeft(metric.LabelName)).Sum(By(metric.LabelName)),
		"filtered by an unsummable":       Select(metric.GPUPowerWatts).And(Select(metric.GPUTemperatureCelsius)).Sum(byHost),
		"during runs":                     Select(metric.GPUPowerWatts).DuringRuns().Sum(By(metric.LabelRun)),
		"the label that matters is kept":  Rate(metric.PressureStalledSecondsTotal, RateInterval).Sum(By(metric.LabelResource)),
		"filtered by its own comparison":  Select(metric.GPUPowerWatts).Above(Number(10)).Sum(byHost),
		"one on the left, series lending": Select(metric.ExporterMode).Equals(Number(1)).Times(Select(metric.GPUPowerWatts), On(metric.LabelHost).GroupRight(metric.LabelMode)).Sum(By(metric.LabelMode)),
	}
	for name, e := range cases {
		if err := e.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnitsFollowTheArithmetic(t *testing.T) {
	bytes, watts := Select(metric.MemoryPoolBytes), Select(metric.GPUPowerWatts)
	reads := Rate(metric.NVMeReadBytesTotal, RateInterval)
	ratio := bytes.DividedBy(Select(metric.MemoryAvailableBytes))
	info := Select(metric.GPUInfo)
	cases := []struct {
		name string
		expr Expr
		want Unit
	}{
		{"plain", bytes, Unit{Base: metric.Bytes}},
		{"between two moments", Select(metric.RunEndTimestampSeconds).Minus(Select(metric.RunStartTimestampSeconds)), Unit{Base: metric.Seconds}},
		{"moment moved by a number", Select(metric.RunEndTimestampSeconds).Minus(Number(1)), Unit{Base: metric.Timestamp}},
		{"rate", reads, Unit{Base: metric.Bytes, PerSecond: true}},
		{"increase", Increase(metric.NVMeReadBytesTotal, RateInterval), Unit{Base: metric.Bytes}},
		{"ratio", ratio, Unit{Base: metric.Ratio}},
		{"ratio of something", ratio.Times(bytes), Unit{Base: metric.Bytes}},
		{"something per ratio", watts.DividedBy(ratio), Unit{Base: metric.Watts}},
		{"number times", Number(2).Times(watts), Unit{Base: metric.Watts}},
		{"number per", Number(2).DividedBy(watts), Unit{}},
		{"unlike quotient", bytes.DividedBy(watts), Unit{}},
		{"joined", watts.Times(info, On(metric.LabelUUID).GroupLeft(metric.LabelName)), Unit{Base: metric.Watts}},
		{"joined from the left", info.Times(watts, On(metric.LabelUUID).GroupLeft()), Unit{Base: metric.Watts}},
		{"one mark joined with another", info.Times(Select(metric.GPULost), On(metric.LabelUUID)), Unit{Base: metric.Info}},
		{"count", watts.Count(byHost), Unit{Base: metric.Count}},
		{"robust z", watts.Max(byHost).RobustZ(1, 5), Unit{Base: metric.Deviations}},
		{"absent", Absent(metric.Up), Unit{Base: metric.State}},
		{"compared and aggregated", reads.Above(Number(1)).Max(byHost).Clamp(0, 9), Unit{Base: metric.Bytes, PerSecond: true}},
		{"quantile", HistogramQuantile(0.5, metric.LoadChunkGapSeconds, RateInterval, nil), Unit{Base: metric.Seconds}},
	}
	for _, c := range cases {
		if got := c.expr.Unit(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestMetricsAreListedOnceInOrderOfUse(t *testing.T) {
	e := Select(metric.MemoryPoolBytes).Plus(Select(metric.MemoryAvailableBytes)).Plus(Select(metric.MemoryPoolBytes).Offset(time.Hour))
	var names []string
	for _, def := range e.Metrics() {
		names = append(names, def.Name)
	}
	if got := fmt.Sprint(names); got != "[uma_memory_pool_bytes uma_memory_available_bytes]" {
		t.Errorf("metrics %s", got)
	}
}

func TestMethodsLeaveTheirExpressionAlone(t *testing.T) {
	e := Select(metric.MemoryPoolBytes)
	before := e.String()
	_ = e.Offset(time.Hour).Plus(e.Times(Number(2)).Max(byHost))
	if e.String() != before || e.Err() != nil {
		t.Errorf("changed from %s to %s", before, e)
	}
}

// TestWhatDoesNotFitTheTypeDoesNotCompile builds two small programs that differ in the type of
// the series alone.
func TestWhatDoesNotFitTheTypeDoesNotCompile(t *testing.T) {
	build := func(folder string) (string, error) {
		out, err := exec.Command("go", "vet", "./testdata/"+folder).CombinedOutput()
		return string(out), err
	}
	if out, err := build("rate_over_counter"); err != nil {
		t.Fatalf("a rate over a counter does not compile: %s", out)
	}
	out, err := build("rate_over_gauge")
	if err == nil {
		t.Fatal("a rate over a gauge compiles")
	}
	if !strings.Contains(out, "as metric.Counter value") {
		t.Errorf("compile error says something else: %s", out)
	}
}

// FuzzMatcherValue: whatever the value, Prometheus reads back exactly that value or it was refused.
func FuzzMatcherValue(f *testing.F) {
	for _, seed := range []string{"", "a", `"`, `\`, "\n", "ü", "$host", "\xff", `"} or vector(1) #`, "\u2028", "\x00", "`"} {
		f.Add(seed)
	}
	grammar := parser.NewParser(parser.Options{})
	f.Fuzz(func(t *testing.T, value string) {
		for _, m := range []Matcher{Is(metric.LabelHost, value), OneOf(metric.LabelHost, value)} {
			e := Select(metric.MemoryPoolBytes, m)
			if e.Err() != nil {
				continue
			}
			parsed, err := grammar.ParseExpr(e.String())
			if err != nil {
				t.Fatalf("%s: %v", e, err)
			}
			selector, ok := parsed.(*parser.VectorSelector)
			if !ok || len(selector.LabelMatchers) != 2 {
				t.Fatalf("%s is not one selector with one matcher", e)
			}
			if got := selector.LabelMatchers[0]; got.Value != m.value || !got.Matches(value) {
				t.Fatalf("%q was read as %s", value, got)
			}
		}
	})
}
