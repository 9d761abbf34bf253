package openai

import (
	"slices"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// beside are the members that known engines write beside OpenAI's: in the answer, in each choice, in usage.
type beside struct{ answer, choice, usage []besideMember }

// besideMember is a member of an object, with the members below it; of is what its number counts, 0 of an object.
type besideMember struct {
	name  string
	of    spec.Answered
	below []besideMember
}

// besideOf makes a tree of the paths.
func besideOf(counts []spec.AnswerCount) *beside {
	var b beside
	for _, count := range counts {
		top, path := &b.answer, count.Path
		switch {
		case len(path) > 1 && path[0] == spec.AnswerChoices:
			top, path = &b.choice, path[1:]
		case len(path) > 1 && path[0] == spec.AnswerUsage:
			top, path = &b.usage, path[1:]
		}
		insert(top, path, count.Of)
	}
	return &b
}

func insert(members *[]besideMember, path []string, of spec.Answered) {
	if len(path) == 0 {
		return
	}
	i := slices.IndexFunc(*members, func(m besideMember) bool { return m.name == path[0] })
	if i < 0 {
		i = len(*members)
		*members = append(*members, besideMember{name: path[0]})
	}
	if len(path) == 1 {
		(*members)[i].of = of
		return
	}
	insert(&(*members)[i].below, path[1:], of)
}

// inAnswer, inChoice and inUsage return a member by its name, nil if no engine writes it.
func (b *beside) inAnswer(name []byte) *besideMember {
	if b == nil {
		return nil
	}
	return find(b.answer, name)
}

func (b *beside) inChoice(name []byte) *besideMember {
	if b == nil {
		return nil
	}
	return find(b.choice, name)
}

func (b *beside) inUsage(name []byte) *besideMember {
	if b == nil {
		return nil
	}
	return find(b.usage, name)
}

func find(members []besideMember, name []byte) *besideMember {
	for i := range members {
		if string(name) == members[i].name {
			return &members[i]
		}
	}
	return nil
}

// decodeBeside consumes the value of a member; those below it too.
func (k *chunk) decodeBeside(c *cursor, m *besideMember) {
	switch {
	case m == nil:
		c.skip()
	case len(m.below) == 0:
		k.noteBeside(c, m.of)
	default:
		eachMember(c, func(name []byte) { k.decodeBeside(c, find(m.below, name)) })
	}
}

func (k *chunk) noteBeside(c *cursor, of spec.Answered) {
	if of == spec.AnsweredPerStep {
		k.perIteration = positiveNumber(c)
		return
	}
	tokens := tokenCount(c)
	switch of {
	case spec.AnsweredCached:
		k.extra.cached = tokens
	case spec.AnsweredCachedDevice:
		k.extra.tiers.device = tokens
	case spec.AnsweredCachedHost:
		k.extra.tiers.host = tokens
	case spec.AnsweredCachedStorage:
		k.extra.tiers.storage = tokens
	case spec.AnsweredDrafted:
		k.extra.drafted = tokens
	case spec.AnsweredAccepted:
		k.extra.accepted = tokens
	case spec.AnsweredDrafts:
		k.extra.drafts = tokens
	}
}
