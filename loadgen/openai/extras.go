package openai

import (
	"fmt"
	"slices"
)

// Counted is what a number in an answer counts, in addition to OpenAI's own.
type Counted string

// The counts, of prompt tokens found in a cache, all of them or by tier, and of speculative decoding: tokens drafted and accepted,
// drafts verified, and tokens decoded in one step.
const (
	CountedCached        Counted = "cached"
	CountedCachedDevice  Counted = "cached on the device"
	CountedCachedHost    Counted = "cached on the host"
	CountedCachedStorage Counted = "cached in storage"
	CountedDrafted       Counted = "drafted"
	CountedAccepted      Counted = "accepted"
	CountedDrafts        Counted = "drafts"
	CountedPerStep       Counted = "per step"
)

func counts() []Counted {
	return []Counted{
		CountedCached, CountedCachedDevice, CountedCachedHost, CountedCachedStorage, CountedDrafted, CountedAccepted, CountedDrafts, CountedPerStep,
	}
}

// AnswerCount is a number in an answer, by the members from the answer down to it. A path that begins with choices or usage goes
// on in each choice, or in usage.
type AnswerCount struct {
	Of   Counted
	Path []string
}

// extras are the members that known engines write in addition to OpenAI's: in the answer, in each choice, in usage.
type extras struct{ answer, choice, usage []extraMember }

// extraMember is a member of an object, with the members below it; of is what its number counts, "" of an object.
type extraMember struct {
	name  string
	of    Counted
	below []extraMember
}

// extrasOf makes a tree of the paths.
func extrasOf(all []AnswerCount) (*extras, error) {
	var b extras
	for _, count := range all {
		if !slices.Contains(counts(), count.Of) {
			return nil, fmt.Errorf("a count %q in answers is unknown", count.Of)
		}
		top, path := &b.answer, count.Path
		switch {
		case len(path) > 1 && path[0] == "choices":
			top, path = &b.choice, path[1:]
		case len(path) > 1 && path[0] == "usage":
			top, path = &b.usage, path[1:]
		}
		insert(top, path, count.Of)
	}
	return &b, nil
}

func insert(members *[]extraMember, path []string, of Counted) {
	if len(path) == 0 {
		return
	}
	i := slices.IndexFunc(*members, func(m extraMember) bool { return m.name == path[0] })
	if i < 0 {
		i = len(*members)
		*members = append(*members, extraMember{name: path[0]})
	}
	if len(path) == 1 {
		(*members)[i].of = of
		return
	}
	insert(&(*members)[i].below, path[1:], of)
}

// inAnswer, inChoice and inUsage return a member by its name, nil if no engine writes it.
func (b *extras) inAnswer(name []byte) *extraMember {
	if b == nil {
		return nil
	}
	return find(b.answer, name)
}

func (b *extras) inChoice(name []byte) *extraMember {
	if b == nil {
		return nil
	}
	return find(b.choice, name)
}

func (b *extras) inUsage(name []byte) *extraMember {
	if b == nil {
		return nil
	}
	return find(b.usage, name)
}

func find(members []extraMember, name []byte) *extraMember {
	for i := range members {
		if string(name) == members[i].name {
			return &members[i]
		}
	}
	return nil
}

// decodeExtra consumes the value of a member; those below it too.
func (k *chunk) decodeExtra(c *cursor, m *extraMember) {
	switch {
	case m == nil:
		c.skip()
	case len(m.below) == 0:
		k.noteExtra(c, m.of)
	default:
		eachMember(c, func(name []byte) { k.decodeExtra(c, find(m.below, name)) })
	}
}

func (k *chunk) noteExtra(c *cursor, of Counted) {
	if of == CountedPerStep {
		k.perIteration = positiveNumber(c)
		return
	}
	tokens := tokenCount(c)
	switch of {
	case CountedCached:
		k.extra.cached = tokens
	case CountedCachedDevice:
		k.extra.tiers.device = tokens
	case CountedCachedHost:
		k.extra.tiers.host = tokens
	case CountedCachedStorage:
		k.extra.tiers.storage = tokens
	case CountedDrafted:
		k.extra.drafted = tokens
	case CountedAccepted:
		k.extra.accepted = tokens
	case CountedDrafts:
		k.extra.drafts = tokens
	}
}
