package arena

import "time"

// Requests returns how many requests of a cell are measured: those of the contexts too, if they are sent before.
func (c Cell) Requests(caching bool) int {
	n := c.Runs * c.Concurrency
	if caching && c.Depth > 0 {
		return 2 * n
	}
	return n
}

// Prefill returns the prompt tokens that a server computes in the measured batches: the fewest, if a prefix cache holds
// every context that was sent before, and the most, if it holds none. A cell without such contexts has one number.
func (c Cell) Prefill(caching bool) (least, most int) {
	n := c.Runs * c.Concurrency
	least = n * (c.Depth + c.PP)
	if caching {
		return least, least + n*c.Depth
	}
	return least, least
}

// Output returns the most output tokens of the measured batches.
func (c Cell) Output(caching bool) int { return c.Requests(caching) * c.TG }

// KVTokens returns how many tokens the KV cache holds when the answers of a batch end together.
func (c Cell) KVTokens() int { return c.Concurrency * c.Context() }

// Context returns the tokens of a request with its answer.
func (c Cell) Context() int { return c.Depth + c.PP + c.TG }

// Rates are tokens a second by which times are estimated: of prompts, and of one answer.
type Rates struct{ PP, TG float64 }

// Duration estimates the time of the measured batches of a cell, if the prefix cache holds every context and if it holds
// none. A request beside others is assumed to be as fast as one alone: the true time is longer.
func (r Rates) Duration(c Cell, caching bool) (least, most time.Duration) {
	few, many := c.Prefill(caching)
	batches := float64(c.Requests(caching)) / float64(c.Concurrency)
	decode := batches * float64(c.TG) / r.TG
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	return seconds(float64(few)/r.PP + decode), seconds(float64(many)/r.PP + decode)
}

// Took is how long a cell took, and how fast it was.
type Took struct {
	Cell
	Rates
	Duration time.Duration
}

// Remaining estimates the time of cells from those that are measured: by their mean rates, and by how much longer they
// took than by their rates, as a server is slower with several requests at once and runs have more than their batches. It
// is not known without a measured cell.
func Remaining(done []Took, left []Cell, caching bool) (remaining time.Duration, known bool) {
	var rates Rates
	for _, t := range done {
		rates.PP += t.Rates.PP / float64(len(done))
		rates.TG += t.Rates.TG / float64(len(done))
	}
	if !(rates.PP > 0 && rates.TG > 0) {
		return 0, false
	}
	var took, byRates time.Duration
	for _, t := range done {
		least, _ := rates.Duration(t.Cell, caching)
		took, byRates = took+t.Duration, byRates+least
	}
	for _, c := range left {
		least, _ := rates.Duration(c, caching)
		remaining += least
	}
	return time.Duration(float64(remaining) * float64(took) / float64(byRates)), true
}
