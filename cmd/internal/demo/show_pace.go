package demo

import "time"

// showPace is how much of everything there is, and how fast the clocks of the machines go.
type showPace struct {
	speed float64
	// iterations is how many runs an arm has in a campaign; requests and outputTokens are those of a run.
	iterations, requests, outputTokens int
	// about is how long it all takes on two cores, for who waits.
	about time.Duration
}

// paceOf is how much is shown. The quick demo has just enough runs for an order, and no more.
func paceOf(o showOptions) showPace {
	if o.quick {
		return showPace{speed: 60, iterations: 2, requests: 4, outputTokens: 12, about: 20 * time.Second}
	}
	return showPace{speed: 40, iterations: 4, requests: 8, outputTokens: 24, about: time.Minute}
}

// sampling is the time between two samples of telemetry, by the wall clock. A page that takes longer is a sample lost, and
// of a busy laptop's pages some take tenths of a second.
const sampling = 500 * time.Millisecond

// ofMachine is how much of the machines' time passes meanwhile.
func (p showPace) ofMachine(wall time.Duration) time.Duration {
	return time.Duration(float64(wall) * p.speed)
}

// load are the sizes of a scenario, as flags of uma-load.
func (p showPace) load(scenario string) []string { return usualLoad(scenario) }
