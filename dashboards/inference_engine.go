package dashboards

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// ofEngines keeps series of the chosen engines that serve a chosen model.
func ofEngines(e expr.Expr) expr.Expr {
	served := expr.Select(metric.EngineInfo, onChosenHosts(), expr.Matches(metric.LabelEngine, "$engine"), expr.Matches(metric.LabelModel, "$model"))
	return e.And(served, expr.On(metric.LabelHost, metric.LabelSource))
}

// enginePerSecond is the rate of a counter of the chosen engines.
func enginePerSecond(c metric.Counter, matchers ...expr.Matcher) expr.Expr {
	return ofEngines(expr.Rate(c, expr.RateInterval, append([]expr.Matcher{onChosenHosts()}, matchers...)...).Max(byOwnLabels(c)))
}

// engineTokens are the tokens per second of the engine with the largest count on each host: a frontend and the engines
// behind it count the same tokens.
func engineTokens(direction string) expr.Expr {
	return enginePerSecond(metric.EngineTokensTotal, expr.Is(metric.LabelDirection, direction)).Sum(by(metric.LabelSource)).Max(byHost())
}

func outputTokens() panel {
	return series(subject{
		title:  "Output tokens",
		means:  "Tokens of answers that ended ok, counted when they ended, as the server reports them; stream events as they arrive, which carry one or more tokens each; and dashed what the engine itself counts (" + called(metric.EngineTokensTotal) + "), for all who ask it.",
		wrong:  "the engine generates much more than the client receives: another client uses it, or answers are discarded.",
		noData: noLoad,
		queries: []query{
			{"client, of answers that ended", loadPerSecond(metric.LoadTokensTotal, expr.Is(metric.LabelDirection, metric.DirectionOutput))},
			{"client, stream events", loadPerSecond(metric.LoadStreamEventsTotal)},
			{"engine {{host}}", engineTokens(metric.DirectionGeneration)},
		},
	}).
		Min(0).
		OverrideByName("client, of answers that ended", colored("dark-blue")).
		OverrideByName("client, stream events", colored("light-blue")).
		OverrideByRegexp("/^engine /", looks(dashed(), colored("dark-green")))
}

func inputTokens() panel {
	return series(subject{
		title:  "Prompt tokens",
		means:  "Tokens of the prompts of answers that ended ok, as the server reports them, and dashed what the engine counts, those found in a cache included where it counts these.",
		wrong:  "the engine takes in much more than the client sends: another client uses it, or prompts are computed twice.",
		noData: noLoad,
		queries: []query{
			{"client", loadPerSecond(metric.LoadTokensTotal, expr.Is(metric.LabelDirection, metric.DirectionInput))},
			{"engine {{host}}", engineTokens(metric.DirectionPrompt)},
		},
	}).
		Min(0).
		OverrideByName("client", colored("dark-blue")).
		OverrideByRegexp("/^engine /", looks(dashed(), colored("dark-green")))
}

func requestsInFlight() panel {
	in := func(state string) expr.Expr {
		requests := expr.Select(metric.EngineRequests, onChosenHosts(), expr.Is(metric.LabelState, state)).Max(byOwnLabels(metric.EngineRequests))
		return ofEngines(requests).Sum(by(metric.LabelSource)).Max(byHost())
	}
	return series(subject{
		title:  "Requests in flight",
		means:  "Requests that the client has sent and that have not ended, and dashed those that the engine says are in its batch, wait for a place in it, or were put off for lack of KV cache; of several engines of a host, the largest figure.",
		wrong:  "the engine's are more than the client's: others use it too. Or many wait while the batch is small.",
		noData: noLoad + ", and no engine reports it",
		queries: []query{
			{"client", expr.Select(metric.LoadRequestsInFlight, ofChosen()...).Sum(allRuns())},
			{"running on {{host}}", in(metric.RequestsRunning)},
			{"waiting on {{host}}", in(metric.RequestsWaiting)},
			{"put off on {{host}}", in(metric.RequestsPaused)},
			{"either on {{host}}", in(metric.RequestsInFlight)},
		},
	}).
		Min(0).
		OverrideByName("client", colored("dark-blue")).
		OverrideByRegexp("/^running on /", looks(dashed(), colored("dark-green"))).
		OverrideByRegexp("/^waiting on /", looks(dashed(), colored("dark-orange"))).
		OverrideByRegexp("/^put off on /", looks(dashed(), colored("dark-purple"))).
		OverrideByRegexp("/^either on /", looks(dashed(), colored("light-green")))
}

// vllmQuantile is a quantile of a histogram of vLLM on each chosen host, of its chosen models together. It is
// interpolated within vLLM's own buckets.
func vllmQuantile(q float64, h metric.Histogram) expr.Expr {
	return expr.BucketQuantile(q, h, expr.RateInterval, []metric.Label{metric.LabelHost}, onChosenHosts(), expr.Matches(metric.LabelModelName, "$model"))
}

// coarse is shown where a latency is drawn from both sides.
const coarse = " The engine's lines (dashed) are as fine as its buckets, and count all who ask it; the client's are of the send clock, of all chosen runs."

// beside returns the queries of a latency that client and engine both measure.
func fromBothSides(client, engine metric.Histogram) []query {
	of := func(q float64) expr.Expr {
		return latency(q, client, nil, ofChosen()...)
	}
	return []query{
		{"p50 client", of(median)},
		{"p99 client", of(slow)},
		{"p50 engine of {{host}}", vllmQuantile(median, engine)},
		{"p99 engine of {{host}}", vllmQuantile(slow, engine)},
	}
}

func firstTokenBeside() panel {
	s := subject{
		title:   "First token, client and engine",
		means:   "The same wait measured on both sides, and what of it the engine spent queueing, from vLLM's own histograms." + coarse,
		wrong:   "the client's lines are far above the engine's: the time is lost between them, in the network, a frontend or the client.",
		noData:  noLoad + "; " + noVLLM,
		queries: fromBothSides(metric.LoadTimeToFirstTokenSeconds, metric.VLLMTimeToFirstTokenSeconds),
	}
	s.queries = append(s.queries, query{"p99 queueing in the engine of {{host}}", vllmQuantile(slow, metric.VLLMRequestQueueTimeSeconds)})
	return quantiles(s, "/engine/").
		OverrideByRegexp("/^p99 queueing/", colored("dark-purple"))
}

func perTokenBeside() panel {
	return quantiles(subject{
		title:   "Per token, client and engine",
		means:   "Time per output token of a request, measured on both sides." + coarse,
		wrong:   "the client's lines are above the engine's by more than a bucket: tokens wait on their way, or come in bursts.",
		noData:  noLoad + "; " + noVLLM,
		queries: fromBothSides(metric.LoadTimePerOutputTokenSeconds, metric.VLLMRequestTimePerOutputTokenSeconds),
	}, "/engine/")
}

func durationBeside() panel {
	return quantiles(subject{
		title:   "Duration, client and engine",
		means:   "From a request's arrival to its end, measured on both sides." + coarse,
		wrong:   "the client's lines are far above the engine's: requests wait before the engine has them.",
		noData:  noLoad + "; " + noVLLM,
		queries: fromBothSides(metric.LoadRequestDurationSeconds, metric.VLLME2ERequestLatencySeconds),
	}, "/engine/")
}

func engineHeat() panel {
	return heat(subject{
		title:   "Time to first token, by the engine",
		means:   "How many requests waited how long for their first token, by vLLM's own clock and buckets, for all who ask it, on all chosen hosts together. Lighter is more.",
		wrong:   "it looks unlike the client's heat map above by more than its coarser buckets.",
		noData:  noVLLM,
		queries: []query{{"{{le}}", expr.Buckets(metric.VLLMTimeToFirstTokenSeconds, expr.RateInterval, onChosenHosts(), expr.Matches(metric.LabelModelName, "$model"))}},
	}).MaxDataPoints(heatColumns)
}

func prefixShares() panel {
	return series(subject{
		title:   "Prompt tokens found",
		means:   "Share of the prompt tokens that a cache had, of the engine of each host that finds most; a frontend counts the engines behind it again. From which tier is on the page KV cache and storage.",
		wrong:   "it differs between runs that are compared, or is high where every prompt should be new.",
		noData:  "no prompts in this time, or the engine does not count what it finds",
		queries: []query{{"{{host}}", prefixShare(enginePerSecond).Max(byHost())}},
	}).Min(0).Max(1)
}

func preemptionsByHost() panel {
	return series(subject{
		title:   "Preemptions",
		means:   "Requests preempted for lack of KV cache, to be computed again, of the engine of each host that does so most: " + preempted() + ".",
		wrong:   "it is not 0 in a run whose figures are to be compared: the work was done twice.",
		noData:  "the engine does not count them: " + countsPreempted(),
		queries: []query{{"{{host}}", enginePerSecond(metric.EnginePreemptionsTotal).Max(byHost())}},
	}).Min(0)
}

// tokensPerDraft has two lines, since only some engines count the drafts and what was accepted of them.
func tokensPerDraft() panel {
	bySource := func(c metric.Counter) expr.Expr { return enginePerSecond(c).Sum(by(metric.LabelSource)) }
	drafts := bySource(metric.EngineSpecDraftsTotal)
	counted := expr.Number(1).DividedBy(shareOf(drafts, drafts.Plus(bySource(metric.EngineSpecAcceptedTokensTotal)))).In(metric.Count)
	told := ofEngines(expr.Select(metric.EngineSpecAcceptedLength, onChosenHosts()).Max(byOwnLabels(metric.EngineSpecAcceptedLength)))
	return series(subject{
		title:  "Tokens per step with a draft",
		means:  "Speculative decoding: the tokens that a step gave where the engine had a draft, the model's own one and the drafted ones that it accepted, of the engine of each host that accepts most. 1 is a draft accepted in no part. Dashed where the engine gives the mean of its last interval.",
		wrong:  "it is near 1: drafts cost time and give nothing. Or it differs between runs that are compared.",
		noData: "no engine uses speculative decoding, or nothing was drafted in this time",
		queries: []query{
			{"{{host}}", counted.Max(byHost())},
			{"last interval {{host}}", told.Max(byHost())},
		},
	}).Min(1).OverrideByRegexp("/^last interval/", dashed())
}
