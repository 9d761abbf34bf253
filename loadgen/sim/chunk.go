package sim

import "math/rand/v2"

// event returns one event of a stream.
func (r *reply) event(c []choice, usage *usage) response {
	out := r.common
	if r.to == chatCompletions {
		out.Object += ".chunk"
	}
	out.Choices, out.Usage = c, usage
	return out
}

// opening returns the event that names the role and carries no token; ok only in a chat.
func (r *reply) opening() (out response, ok bool) {
	empty := ""
	return r.event([]choice{{Delta: &turn{Role: assistant, Content: &empty}}}, r.soFar(0)), r.to == chatCompletions
}

// chunk returns the event of tokens from up to, and not including, to. ok is false if the event would be empty: its
// tokens have no text and it is not the last.
func (r *reply) chunk(from, to int) (out response, ok bool) {
	c := choice{}
	text := r.said.between(from, to)
	if r.to == chatCompletions {
		c.Delta = r.piece(from, to)
	} else {
		c.Text = &text
	}
	last := to == r.said.tokens()
	usage := r.soFar(to)
	if last {
		c.FinishReason = r.reason()
		if r.style.Usage == UsageInLast && r.asked.usage {
			usage = r.usage(to)
		}
	}
	return r.event([]choice{c}, usage), last || text != ""
}

// closing returns the event with the usage alone; ok only if it was requested, or is always sent.
func (r *reply) closing() (out response, ok bool) {
	out = r.event([]choice{}, r.usage(r.said.tokens()))
	out.SGLExt = r.details()
	return out, r.style.Usage == UsageZeroAlways || r.style.Usage == UsageOnRequest && r.asked.usage
}

// soFar returns the usage in the middle of a stream, if every event carries it.
func (r *reply) soFar(tokens int) *usage {
	switch {
	case r.style.Usage == UsageZeroAlways:
		return &usage{}
	case r.style.Usage == UsageNever || !r.asked.usageAlways:
		return nil
	}
	return r.usage(tokens)
}

// cutter decides how many tokens each event has.
type cutter struct {
	least, most int
	random      *rand.Rand
}

// newCutter draws from the request's number, so that a request's events do not depend on other requests.
func newCutter(a Answer, seed, number uint64) cutter {
	return cutter{a.TokensPerChunk, max(a.TokensPerChunk, a.MostTokensPerChunk), rand.New(rand.NewPCG(seed, number))}
}

// next returns the size of the next event in tokens.
func (c cutter) next() int {
	if c.most == c.least {
		return c.least
	}
	return c.least + c.random.IntN(c.most-c.least+1)
}
