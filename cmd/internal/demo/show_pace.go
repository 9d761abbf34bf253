package demo

import "time"

// showPace is how much of everything there is, and how fast the clocks of the machines go.
type showPace struct {
	speed float64
	// iterations is how many runs an arm has in a campaign; a run has so many requests, each with so many tokens to read
	// and to write.
	iterations, requests, inputTokens, outputTokens int
	// A trial sends so many prompts again, of which so many tokens are answered.
	trialRequests, trialOutput int
	// sampling is the time between two samples of telemetry, by the wall clock. A page that takes longer is a sample lost,
	// and phases wait for one.
	sampling time.Duration
	// about is how long it all takes on two cores, for who waits.
	about time.Duration
}

// paceOf is how much is shown. The quick demo has just enough runs for an order, and no more.
//
// Every run has so many tokens of prompts that the engine has grown to all that it takes, see grownTokens.
func paceOf(o showOptions) showPace {
	if o.quick {
		return showPace{
			speed: 80, iterations: 2, requests: 2, inputTokens: 1500, outputTokens: 8, trialRequests: 4, trialOutput: 6,
			sampling: 250 * time.Millisecond, about: 20 * time.Second,
		}
	}
	return showPace{
		speed: 40, iterations: 4, requests: 4, inputTokens: 1000, outputTokens: 12, trialRequests: 6, trialOutput: 12,
		sampling: 400 * time.Millisecond, about: time.Minute,
	}
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
