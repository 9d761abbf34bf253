package loadgen

import (
	"fmt"

	"github.com/umascope/umascope/loadgen/prompt"
)

// longestInput is the most tokens that a prompt may have beside an answer of the given length; not
// known if neither the user nor the server says. A margin is kept: the chat template comes on top,
// lengths may be estimates, and an engine that is given too much may fail more than one request.
func (f served) longestInput(s *settings, output int) (tokens int, known bool) {
	switch most := f.model.MaxTokens - output; {
	case s.maxInputTokens > 0 && f.model.MaxTokens > 0:
		tokens = min(s.maxInputTokens, most)
	case s.maxInputTokens > 0:
		tokens = s.maxInputTokens
	case f.model.MaxTokens > 0:
		tokens = most
	default:
		return 0, false
	}
	return max(tokens-s.tokenMargin, 0), true
}

// room says, for errors, what fits.
func (f served) room(s *settings, output int) string {
	most, _ := f.longestInput(s, output)
	limit := fmt.Sprintf("--max-input-tokens %d", s.maxInputTokens)
	if s.maxInputTokens == 0 || f.model.MaxTokens > 0 && f.model.MaxTokens-output < s.maxInputTokens {
		limit = fmt.Sprintf("the server takes %d with the answer (%d)", f.model.MaxTokens, output)
	}
	return fmt.Sprintf("at most %d tokens fit: %s and a margin of %d; --clip shortens what is too long", most, limit, s.tokenMargin)
}

// fit returns the prompt lengths to draw from. Those of a prompt set are kept below the limit;
// those that somebody asked for are refused above it, before the run.
func (f served) fit(s *settings, lengths []prompt.Lengths, output int) ([]prompt.Lengths, error) {
	longest, known := f.longestInput(s, output)
	if !known {
		return lengths, nil
	}
	longest -= s.sharedTokens
	for i, asked := range lengths {
		clipped, ok := asked.Clip(longest)
		if !ok && s.clip && longest >= 1 {
			clipped, ok = prompt.Lengths{Min: longest, Max: longest}, true
		}
		if ok && (s.inputTokens == nil || s.clip || clipped == asked) {
			lengths[i] = clipped
			continue
		}
		flag := "--prompts: " + s.prompts
		if s.inputTokens != nil {
			flag = "--input-tokens: " + asked.String()
		}
		return nil, fmt.Errorf("%s: %s", flag, f.room(s, output))
	}
	return lengths, nil
}

// How far prompts may be from their lengths, in all, before a warning says so: a share, and what
// chat templates add to each, of which the longest have a system message of their own.
const (
	missedRatio    = 0.02
	templateTokens = 64
)

// missed says when prompts were not as long as they were meant to be. What is said in a turn of a
// conversation is only a part of its prompt, and nothing is to be said of those.
func (a *answers) missed(s script) string {
	if a.targeted == 0 || s.facts.Clients > 0 {
		return ""
	}
	allowed := missedRatio * float64(a.targetTokens)
	off := a.countedTokens - a.targetTokens
	if float64(off) >= -allowed && float64(off) <= allowed+float64(templateTokens*a.targeted) {
		return ""
	}
	return fmt.Sprintf("prompts have %.0f tokens on average by the server's count, %.0f were asked for: see how lengths come about", float64(a.countedTokens)/float64(a.targeted), float64(a.targetTokens)/float64(a.targeted))
}
