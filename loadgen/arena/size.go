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
