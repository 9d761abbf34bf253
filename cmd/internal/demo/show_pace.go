package demo

import "time"

// showPace is the size of the demo.
type showPace struct {
	weights int64 // of the model, in bytes
	// iterations is the number of runs of an arm in a campaign; requests is per run, inputTokens and outputTokens are
	// per request.
	iterations, requests, inputTokens, outputTokens int
	// A trial sends trialRequests prompts again, each with trialOutput tokens of answer.
	trialRequests, trialOutput int
	// about is the expected time of the demo on two cores.
	about time.Duration
}

// paceOf returns the size of a demo. The quick demo has the smallest number of runs that an order needs.
//
// The prompts of every run have enough tokens for the engine to reach its full size, see grownTokens.
func paceOf(o showOptions) showPace {
	if o.quick {
		return showPace{
			weights: quickWeights, iterations: 2, requests: 2, inputTokens: 700, outputTokens: 6, trialRequests: 3, trialOutput: 4,
			about: 20 * time.Second,
		}
	}
	return showPace{
		weights: weightBytes, iterations: 4, requests: 4, inputTokens: 1000, outputTokens: 12, trialRequests: 6, trialOutput: 12,
		about: time.Minute,
	}
}

// Limits of the interval between two samples of telemetry. A page that takes longer than the interval loses a sample, and
// every phase of a run needs several samples.
const (
	shortestSampling = 150 * time.Millisecond
	longestSampling  = time.Second // the default of uma-load
)

// laptopValidity returns the validity limits that are wider here than uma-load's defaults, since client, engines and
// machines share one computer that may be a busy laptop: the lag of the client and the share of lost samples. Samples
// at the borders of phases, which memory figures are computed from, are required as usual.
func laptopValidity() []string {
	return []string{"client_lag=100ms", "client_stall=1s", "telemetry_lost=25%"}
}
