package workload

import (
	"fmt"

	"github.com/umascope/umascope/loadgen/traffic"
)

// longestInput returns the most tokens that a prompt may have with an answer of the given length; known is false if
// neither the user nor the server gives a limit. It keeps a margin: the chat template adds tokens, lengths may be
// estimates, and a prompt that is too long may make an engine fail other requests too.
func (f Server) longestInput(s *Settings, output int) (tokens int, known bool) {
	switch most := f.MaxTokens - output; {
	case s.maxInputTokens > 0 && f.MaxTokens > 0:
		tokens = min(s.maxInputTokens, most)
	case s.maxInputTokens > 0:
		tokens = s.maxInputTokens
	case f.MaxTokens > 0:
		tokens = most
	default:
		return 0, false
	}
	return max(tokens-s.tokenMargin, 0), true
}

// room returns, for errors, the lengths that fit.
func (f Server) room(s *Settings, output int) string {
	most, _ := f.longestInput(s, output)
	limit := fmt.Sprintf("--max-input-tokens %d", s.maxInputTokens)
	if s.maxInputTokens == 0 || f.MaxTokens > 0 && f.MaxTokens-output < s.maxInputTokens {
		limit = fmt.Sprintf("the server takes %d with the answer (%d)", f.MaxTokens, output)
	}
	return fmt.Sprintf("at most %d tokens fit: %s and a margin of %d; --clip shortens what is too long", most, limit, s.tokenMargin)
}

// fit returns the prompt lengths to draw from. Lengths of a prompt set are clipped to the limit; lengths from the user
// are refused above it, before the run.
func (f Server) fit(s *Settings, lengths []traffic.Lengths, output int) ([]traffic.Lengths, error) {
	longest, known := f.longestInput(s, output)
	if !known {
		return lengths, nil
	}
	longest -= s.sharedTokens
	for i, asked := range lengths {
		clipped, ok := asked.Clip(longest)
		if !ok && s.clip && longest >= 1 {
			clipped, ok = traffic.Lengths{Min: longest, Max: longest}, true
		}
		if ok && (s.inputTokens == nil || s.clip || clipped == asked) {
			lengths[i] = clipped
			continue
		}
		flag := "--prompts: " + s.Prompts
		if s.inputTokens != nil {
			flag = "--input-tokens: " + asked.String()
		}
		return nil, fmt.Errorf("%s: %s", flag, f.room(s, output))
	}
	return lengths, nil
}
