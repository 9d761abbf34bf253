package chat

import "strconv"

// count is a number of tokens that the server may not have told.
type count struct {
	n     int
	known bool
}

// pointer is the count as a record holds it.
func (c count) pointer() *int {
	if !c.known {
		return nil
	}
	return &c.n
}

// later returns next if it is known, else c.
func (c count) later(next count) count {
	if next.known {
		return next
	}
	return c
}

// plus adds two counts of one event; an unknown one adds nothing.
func (c count) plus(other count) count {
	return count{c.n + other.n, c.known || other.known}
}

// usage is the OpenAI usage object.
type usage struct{ prompt, completion, cached count }

// add takes what a later usage object tells.
func (u *usage) add(next usage) {
	u.prompt = u.prompt.later(next.prompt)
	u.completion = u.completion.later(next.completion)
	u.cached = u.cached.later(next.cached)
}

// countElements consumes a list and counts it; anything else tells nothing.
func countElements(c *cursor) count {
	if c.peek() != '[' {
		c.skip()
		return count{}
	}
	elements := count{known: true}
	for c.enter('['); c.element(); {
		c.skip()
		elements.n++
	}
	return elements
}

func (k *chunk) decodeUsage(c *cursor) {
	k.usage, k.usageSeen = usage{}, false
	if c.peek() != '{' {
		c.skip()
		return
	}
	k.usageSeen = true
	c.enter('{')
	for name, ok := c.key(); ok; name, ok = c.key() {
		switch string(name) {
		case "prompt_tokens":
			k.usage.prompt = tokenCount(c)
		case "completion_tokens":
			k.usage.completion = tokenCount(c)
		case "prompt_tokens_details":
			k.usage.cached = cachedTokens(c)
		default:
			c.skip()
		}
	}
}

func cachedTokens(c *cursor) count {
	var cached count
	if c.peek() != '{' {
		c.skip()
		return cached
	}
	c.enter('{')
	for name, ok := c.key(); ok; name, ok = c.key() {
		if string(name) == "cached_tokens" {
			cached = tokenCount(c)
		} else {
			c.skip()
		}
	}
	return cached
}

// tokenCount consumes a value and takes it if it is an integer that can count something.
func tokenCount(c *cursor) count {
	value := c.skip()
	n, err := strconv.ParseUint(string(value), 10, 31)
	if err != nil {
		return count{}
	}
	return count{int(n), true}
}
