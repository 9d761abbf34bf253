package spec

// Answered is what a number in an answer counts, in addition to OpenAI's own.
type Answered string

// The counts, of prompt tokens found in a cache, all of them or by tier, and of speculative decoding: tokens drafted and accepted,
// drafts verified, and tokens decoded in one step.
const (
	AnsweredCached        Answered = "cached"
	AnsweredCachedDevice  Answered = "cached on the device"
	AnsweredCachedHost    Answered = "cached on the host"
	AnsweredCachedStorage Answered = "cached in storage"
	AnsweredDrafted       Answered = "drafted"
	AnsweredAccepted      Answered = "accepted"
	AnsweredDrafts        Answered = "drafts"
	AnsweredPerStep       Answered = "per step"
)

// Members of OpenAI to which engines add: a path that begins with one goes on in each choice, or in usage.
const (
	AnswerChoices = "choices"
	AnswerUsage   = "usage"
)

// AnswerCount is a number in an answer, by the members from the answer down to it.
type AnswerCount struct {
	Of   Answered
	Path []string
}

// AnswerCounts are the numbers of all engines.
func (all Engines) AnswerCounts() []AnswerCount {
	var counts []AnswerCount
	for _, e := range all {
		counts = append(counts, e.Answer...)
	}
	return counts
}
