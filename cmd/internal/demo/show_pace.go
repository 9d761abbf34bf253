package demo

import "time"

// showPace is how much of everything there is, and how fast the clocks of the machines go.
type showPace struct {
	speed  float64
	rhythm rhythm
	// iterations is how many runs an arm has in a campaign; a run has so many requests, each with so many tokens to read
	// and to write.
	iterations, requests, inputTokens, outputTokens int
	// A trial sends so many prompts again, of which so many tokens are answered.
	trialRequests, trialOutput int
	// about is how long it all takes on two cores, for who waits.
	about time.Duration
}

// paceOf is how much is shown. The quick demo has just enough runs for an order, and no more.
//
// Every run has so many tokens of prompts that the engine has grown to all that it takes, see grownTokens.
func paceOf(o showOptions) showPace {
	if o.quick {
		return showPace{
			speed: 100, rhythm: hastyRhythm(), iterations: 2, requests: 2, inputTokens: 1400, outputTokens: 6, trialRequests: 3, trialOutput: 4,
			about: 20 * time.Second,
		}
	}
	return showPace{
		speed: 40, rhythm: usualRhythm(), iterations: 4, requests: 4, inputTokens: 1000, outputTokens: 12, trialRequests: 6, trialOutput: 12,
		about: time.Minute,
	}
}

// Between two samples of telemetry there is such a time by the wall clock. A page that takes longer is a sample lost, and
// every phase of a run waits for some.
const (
	shortestSampling = 200 * time.Millisecond
	longestSampling  = time.Second // uma-load's own, where nobody is in a hurry
)

// samplingFor is the time between two samples where the slowest of some pages took so long: with all that will run beside
// it, others take several times that.
func samplingFor(slowest time.Duration) time.Duration {
	return min(max(10*slowest, shortestSampling), longestSampling).Round(10 * time.Millisecond)
}

// ofMachine is how much of the machines' time passes meanwhile.
func (p showPace) ofMachine(wall time.Duration) time.Duration {
	return time.Duration(float64(wall) * p.speed)
}

// laptopValidity are the limits of uma-load's rules that are wider here, since client, engines and machines share what may
// be a busy laptop: how late the client may be, and how many samples may be lost. Samples at the borders of phases, which
// the figures of memory are from, must all be there as ever.
func laptopValidity() []string {
	return []string{"client_lag=100ms", "client_stall=1s", "telemetry_lost=25%"}
}
