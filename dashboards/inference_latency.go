package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// bothClocks is shown with latencies on two clocks.
const bothClocks = " Solid lines count from the moment the request was sent; dashed ones from the moment it should have been, which is what a user waited who came then. A request is counted when it has ended, and only if it ended ok. All chosen runs are together: marks show which is when."

// Quantiles that are drawn; the median is blue, the slow end orange.
const (
	median = 0.5
	slow   = 0.99
)

// loadQuantile is a quantile of a histogram of the load generator, of all chosen runs together.
func loadQuantile(q float64, h metric.Histogram) expr.Expr {
	return latency(q, h, nil, ofChosen()...)
}

// latency is a quantile of a histogram of the load generator within each step, rounded to a microsecond: for values of
// exactly 0, such as the wait for a free slot, Prometheus returns 10^-39 s.
func latency(q float64, h metric.Histogram, by []metric.Label, matchers ...expr.Matcher) expr.Expr {
	return expr.EitherQuantile(q, h, expr.RateInterval, by, matchers...).Rounded(1e-6)
}

// heatColumns is the maximum number of columns of a heat map: each has to have enough requests to show their
// distribution, and our native buckets are 2 % wide.
const heatColumns = 60

// loadHeat is a distribution of the load generator over time.
func loadHeat(s subject, h metric.Histogram) panel {
	s.queries = []query{{"{{le}}", expr.Distribution(h, expr.RateInterval, ofChosen()...)}}
	return heat(s).MaxDataPoints(heatColumns)
}

// quantiles draws p50 and p99 in their colours, and dashes what a pattern finds in the legend.
func quantiles(s subject, dash string) *timeseries.PanelBuilder {
	built := series(s).Min(0).FillOpacity(0).
		OverrideByRegexp("/^p50/", colored("dark-blue")).
		OverrideByRegexp("/^p99/", colored("dark-orange"))
	if dash != "" {
		built = built.OverrideByRegexp(dash, dashed())
	}
	return built
}

// onBothClocks returns the queries of a latency on two clocks.
func onBothClocks(sent, scheduled metric.Histogram) []query {
	return []query{
		{"p50", loadQuantile(median, sent)},
		{"p99", loadQuantile(slow, sent)},
		{"p50 scheduled", loadQuantile(median, scheduled)},
		{"p99 scheduled", loadQuantile(slow, scheduled)},
	}
}

func durations() panel {
	return quantiles(subject{
		title:   "Duration",
		means:   "From the request to its last payload, median and 99th percentile." + bothClocks,
		wrong:   "dashed lines leave solid ones: requests pile up before they are sent, and the engine looks faster than it is for its users.",
		noData:  noLoad,
		queries: onBothClocks(metric.LoadRequestDurationSeconds, metric.LoadScheduledRequestDurationSeconds),
	}, "/scheduled/")
}

func firstTokens() panel {
	return quantiles(subject{
		title:   "Time to first token",
		means:   "From the request to its first text, reasoning or tool fragment: an empty first chunk is no token." + bothClocks,
		wrong:   "dashed lines leave solid ones (the engine is behind), or p99 is many times the median: some prompts wait for others.",
		noData:  noLoad + "; answers that are not streamed have no first token",
		queries: onBothClocks(metric.LoadTimeToFirstTokenSeconds, metric.LoadScheduledTimeToFirstTokenSeconds),
	}, "/scheduled/")
}

func firstTokenHeat() panel {
	return loadHeat(subject{
		title:  "Time to first token, as scheduled, all requests",
		means:  "How many requests waited how long for their first token, counted from the moment they should have been sent. Lighter is more. Two bands are two kinds of requests: found in the cache and not.",
		wrong:  "the band climbs steadily (the engine falls behind), or splits.",
		noData: noLoad + "; answers that are not streamed have no first token",
	}, metric.LoadScheduledTimeToFirstTokenSeconds)
}

func perTokens() panel {
	return quantiles(subject{
		title:  "Time per output token",
		means:  "From first to last payload, per token after the first chunk, one value for each request; dashed, the time between two chunks, which may carry several tokens.",
		wrong:  "it climbs with heat or with prompts that others send; or the gaps are much longer than the time per token: the text comes in bursts.",
		noData: noLoad + "; answers of one chunk have none",
		queries: []query{
			{"p50", loadQuantile(median, metric.LoadTimePerOutputTokenSeconds)},
			{"p99", loadQuantile(slow, metric.LoadTimePerOutputTokenSeconds)},
			{"p50 between chunks", loadQuantile(median, metric.LoadChunkGapSeconds)},
			{"p99 between chunks", loadQuantile(slow, metric.LoadChunkGapSeconds)},
		},
	}, "/between chunks/")
}

func perTokenHeat() panel {
	return loadHeat(subject{
		title:  "Time per output token, all requests",
		means:  "How many requests had which time per output token. Lighter is more.",
		wrong:  "the band widens or climbs during a run: later requests are not like earlier ones.",
		noData: noLoad + "; answers of one chunk have none",
	}, metric.LoadTimePerOutputTokenSeconds)
}

func durationHeat() panel {
	return loadHeat(subject{
		title:  "Duration, as scheduled, all requests",
		means:  "How many requests took how long, counted from the moment they should have been sent. Lighter is more.",
		wrong:  "there is a second band far above: some requests waited for something.",
		noData: noLoad,
	}, metric.LoadScheduledRequestDurationSeconds)
}

func queueDelays() panel {
	return quantiles(subject{
		title:  "Waiting for a slot",
		means:  "From the moment a request should have been sent until one of the slots (`--concurrency`) was free: waiting for a busy server. It is a result, not a fault of the client.",
		wrong:  "it grows all the time: the machine serves less than is asked of it, and latencies depend on how long the run lasts.",
		noData: noLoad,
		queries: []query{
			{"p50", loadQuantile(median, metric.LoadQueueDelaySeconds)},
			{"p99", loadQuantile(slow, metric.LoadQueueDelaySeconds)},
		},
	}, "")
}

func clientLags() panel {
	return quantiles(subject{
		title:  "Lag of the client",
		means:  "From the moment a request could go out until it did: the load generator's own fault, and nothing of the server.",
		wrong:  "it is more than a few milliseconds: the client is too slow or shares the CPU with the engine, and the run may be judged invalid (rule client_lag).",
		noData: noLoad,
		queries: []query{
			{"p50", loadQuantile(median, metric.LoadClientLagSeconds)},
			{"p99", loadQuantile(slow, metric.LoadClientLagSeconds)},
		},
	}, "")
}
