package openai

import (
	"fmt"
	"math"
	"strconv"
)

// count is a number of tokens that the server may not have reported.
type count struct {
	n     int
	known bool
}

// pointer returns the count in the form of a record.
func (c count) pointer() *int {
	if !c.known {
		return nil
	}
	return &c.n
}

// later returns next if it is set, else c.
func (c count) later(next count) count {
	if next.known {
		return next
	}
	return c
}

// plus adds two counts of one event; an unset one adds nothing.
func (c count) plus(other count) count {
	return count{c.n + other.n, c.known || other.known}
}

// usage holds the server's counts: OpenAI's usage object and the vendors' additions.
type usage struct {
	prompt, completion, cached count
	// reasoning is the part of completion that is reasoning; accepted is the part that was drafted and accepted.
	reasoning, accepted count
	// drafted are the tokens of all drafts.
	drafted, drafts count
	tiers           tiers
	// contradiction is how two usage objects of one answer exclude each other; empty if they do not.
	contradiction string
}

// tiers holds the sources of cached tokens, as an engine reports them with FieldCachedDetails.
type tiers struct{ device, host, storage count }

// add merges a later usage object. The prompt of an answer has one length, and its output only grows.
func (u *usage) add(next usage) {
	if u.contradiction == "" && u.prompt.known && next.prompt.known && u.prompt.n != next.prompt.n {
		u.contradiction = fmt.Sprintf("usage counts %d prompt tokens, then %d", u.prompt.n, next.prompt.n)
	}
	if u.contradiction == "" && next.completion.known && next.completion.n < u.completion.n {
		u.contradiction = fmt.Sprintf("usage counts %d output tokens, then %d", u.completion.n, next.completion.n)
	}
	u.prompt = u.prompt.later(next.prompt)
	u.completion = u.completion.later(next.completion)
	u.cached = u.cached.later(next.cached)
	u.reasoning = u.reasoning.later(next.reasoning)
	u.accepted = u.accepted.later(next.accepted)
	u.drafted, u.drafts = u.drafted.later(next.drafted), u.drafts.later(next.drafts)
	u.tiers = tiers{
		u.tiers.device.later(next.tiers.device), u.tiers.host.later(next.tiers.host), u.tiers.storage.later(next.tiers.storage),
	}
}

// reported returns the usage without values that are not counts. A prompt never has 0 tokens: such an object is filled in
// later, as Ollama's, which has zeros in every chunk and figures in the last.
func (u usage) reported() usage {
	if !u.prompt.known || u.prompt.n > 0 {
		return u
	}
	u.prompt, u.cached = count{}, count{}
	if u.completion.n == 0 {
		return usage{}
	}
	return u
}

// countElements consumes a list and counts it; any other value leaves the count unset.
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

// decodeUsage reads OpenAI's object, with DeepSeek's name for cached tokens too:
//
//	{"prompt_tokens":9,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":3}}
func (k *chunk) decodeUsage(c *cursor) {
	k.usageSeen = c.peek() == '{'
	var u usage
	var hits, thoughts count
	eachMember(c, func(name []byte) {
		switch string(name) {
		case "prompt_tokens":
			u.prompt = tokenCount(c)
		case "completion_tokens":
			u.completion = tokenCount(c)
		case "prompt_tokens_details":
			u.cached = memberCount(c, "cached_tokens")
		case "prompt_cache_hit_tokens":
			hits = tokenCount(c)
		case "completion_tokens_details":
			u.reasoning, u.accepted = completionDetails(c)
		case "reasoning_tokens":
			thoughts = tokenCount(c)
		default:
			k.decodeExtra(c, k.extras.inUsage(name))
		}
	})
	u.cached, u.reasoning = hits.later(u.cached), thoughts.later(u.reasoning)
	k.usage = u.reported()
}

func completionDetails(c *cursor) (reasoning, accepted count) {
	eachMember(c, func(name []byte) {
		switch string(name) {
		case "reasoning_tokens":
			reasoning = tokenCount(c)
		case "accepted_prediction_tokens":
			accepted = tokenCount(c)
		default:
			c.skip()
		}
	})
	return reasoning, accepted
}

// eachMember consumes an object and calls member with each name; member consumes the value. A value that is not an
// object is consumed and ignored.
func eachMember(c *cursor, member func(name []byte)) {
	if c.peek() != '{' {
		c.skip()
		return
	}
	c.enter('{')
	for name, ok := c.key(); ok; name, ok = c.key() {
		member(name)
	}
}

// memberCount consumes an object and returns one of its members as a count.
func memberCount(c *cursor, wanted string) (found count) {
	eachMember(c, func(name []byte) {
		if string(name) == wanted {
			found = tokenCount(c)
		} else {
			c.skip()
		}
	})
	return found
}

// loggedTokens counts the tokens with log probabilities: the entries of content on the chat endpoint, those of tokens
// on the completions endpoint.
func loggedTokens(c *cursor) (logged count) {
	eachMember(c, func(name []byte) {
		if n := string(name); n == "content" || n == "tokens" {
			logged = logged.later(countElements(c))
		} else {
			c.skip()
		}
	})
	return logged
}

// positiveNumber consumes a value and returns it if it is a number above 0, else 0.
func positiveNumber(c *cursor) float64 {
	f, err := strconv.ParseFloat(string(c.skip()), 64)
	if err != nil || !(f > 0) {
		return 0
	}
	return f
}

// tokenCount consumes a value and returns it if it is a whole number that can be a count. Gateways that pass numbers
// through a float write 70.0.
func tokenCount(c *cursor) count {
	value := c.skip()
	if n, err := strconv.ParseUint(string(value), 10, 31); err == nil {
		return count{int(n), true}
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || f != math.Trunc(f) || f < 0 || f > math.MaxInt32 {
		return count{}
	}
	return count{int(f), true}
}

// tokensPerChunk is how many tokens without text (special tokens, parts of a character) a chunk may have on average, in a
// count that is believed.
const tokensPerChunk = 8

// usageFault returns why the counts of usage cannot be right; "" if they can. A token has at least one byte of text,
// apart from the special ones. Reasoning that usage names may be hidden, and is not limited by every server.
func (a *answer) usageFault(maxTokens int) string {
	u := a.usage
	visible, besides := u.completion.n-u.reasoning.n, ""
	if u.reasoning.n > 0 {
		besides = fmt.Sprintf(" besides %d of reasoning", u.reasoning.n)
	}
	most := len(a.output) + tokensPerChunk*a.chunks
	switch {
	case u.contradiction != "":
		return u.contradiction
	case u.cached.known && u.prompt.known && u.cached.n > u.prompt.n:
		return fmt.Sprintf("usage counts %d cached tokens in a prompt of %d", u.cached.n, u.prompt.n)
	case maxTokens > 0 && visible > maxTokens:
		return fmt.Sprintf("usage counts %d output tokens%s, and at most %d were asked for", visible, besides, maxTokens)
	case visible > most && !a.wordless:
		return fmt.Sprintf("usage counts %d output tokens%s in %d bytes of text and %d chunks", visible, besides, len(a.output), a.chunks)
	}
	return ""
}
