package workload

import (
	"errors"
	"fmt"
	"iter"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/traffic"
)

// resolveStandard: independent requests.
func resolveStandard(s *Settings) error {
	if err := refuseConversations(s); err != nil {
		return err
	}
	if s.file != nil && s.endpoint == completions && s.template == nil {
		for i := range s.file.Len() {
			if len(s.file.Prompt(i).Before) > 0 {
				return errors.New("--template: --prompts has messages, and completions take one text: name a template")
			}
		}
	}
	return nil
}

func writeStandard(s *Settings, f Server) (Script, error) {
	set := s.promptSet(f.Scale)
	made := Script{workers: 1, Slots: s.Concurrency, Facts: rundir.Script{Scenario: s.Scenario.Name, SharedPrefixTokens: s.sharedTokens}}
	switch {
	case s.Arrival == traffic.Recorded:
		return made.replay(s, f, set)
	case s.file != nil:
		return made.fromFile(s, f, set)
	}
	lengths, err := f.fit(s, lengthsOf(s), s.outputTokens.Max)
	if err != nil {
		return Script{}, err
	}
	set.Lengths = lengths
	made.Facts.InputTokens = lengths
	made.longest = set.SharedTokens + longestOf(lengths)
	made.contents = numbered(set.Prompt)
	return made, nil
}

// numbered yields requests that are functions of phase and index.
func numbered(draw func(phase string, index int) traffic.Prompt) func(string, int) iter.Seq[content] {
	return func(phase string, first int) iter.Seq[content] {
		return func(yield func(content) bool) {
			for index := first; yield(content{draw: func() traffic.Prompt { return draw(phase, index) }}); index++ {
			}
		}
	}
}

// fromFile takes the prompts of a file in order. The warm-up takes them from the end, so with a long enough file it
// uses none of the measured ones.
func (made Script) fromFile(s *Settings, f Server, set traffic.PromptSet) (Script, error) {
	shared, n := set.Shared(), s.file.Len()
	// Texts are joined when they are drawn: all of them with a long beginning may not fit into memory.
	at := func(i int) (p traffic.Prompt, tokens int, fits bool) {
		p = joinShared(shared, s.file.Prompt(i))
		tokens = p.Tokens
		if most, known := f.longestInput(s, answerTokens(s, p.OutputTokens)); known {
			p, fits = p.Clip(most, f.Scale)
			return p, tokens, fits
		}
		return p, tokens, true
	}
	for i := range n {
		p, tokens, fits := at(i)
		clipped := p.Tokens < tokens
		if !fits || clipped && !s.clip {
			return Script{}, fmt.Errorf("--prompts: %s: prompt %d has about %d tokens, %s", s.Prompts, i+1, tokens, f.room(s, answerTokens(s, p.OutputTokens)))
		}
		if clipped {
			made.Facts.Clipped++
		}
		made.longest = max(made.longest, p.Tokens)
	}
	if s.requests > n || s.requests == 0 {
		made.note("the prompt file has %d prompts; they are sent again after the last one, and a prefix cache answers them", n)
	}
	made.Facts.File = s.file
	made.contents = numbered(func(phase string, index int) traffic.Prompt {
		i := index % n
		if phase == rundir.PhaseWarmup {
			i = n - 1 - i
		}
		p, _, _ := at(i)
		if index >= n {
			p.RepeatedTokens = p.Tokens
		}
		return p
	})
	return made, nil
}

// answerTokens returns the most tokens requested for the answer to a prompt.
func answerTokens(s *Settings, asked int) int {
	if asked == 0 {
		return s.outputTokens.Max
	}
	return asked
}

// joinShared puts a shared beginning before a prompt.
func joinShared(shared, p traffic.Prompt) traffic.Prompt {
	if shared.Text == "" {
		return p
	}
	p.Text, p.Tokens, p.SharedBytes = shared.Text+p.Text, shared.Tokens+p.Tokens, len(shared.Text)+p.SharedBytes
	p.RepeatedTokens, p.Opening = shared.Tokens+p.RepeatedTokens, shared.Opening
	return p
}

// replay makes prompts with the lengths and shared blocks of a trace. The warm-up has their lengths and shares no block
// with them.
func (made Script) replay(s *Settings, f Server, set traffic.PromptSet) (Script, error) {
	made.note("%s", s.trace)
	rows, blockTokens := make([]traffic.TraceRow, len(s.trace.Rows)), max(s.trace.BlockTokens, 1)
	for i, row := range s.trace.Rows {
		if most, known := f.longestInput(s, row.OutputTokens); known && row.InputTokens > most {
			if !s.clip || most < 1 {
				return Script{}, fmt.Errorf("--trace: %s: request %d has %d tokens, %s", s.TracePath, i+1, row.InputTokens, f.room(s, row.OutputTokens))
			}
			row.InputTokens = most
			row.Blocks = row.Blocks[:min(len(row.Blocks), (most+blockTokens-1)/blockTokens)]
			made.Facts.Clipped++
		}
		made.longest = max(made.longest, row.InputTokens)
		rows[i] = row
	}
	repeated := traffic.RepeatedTokens(rows, blockTokens)
	made.contents = numbered(func(phase string, index int) traffic.Prompt {
		at := index % len(rows)
		row, again := rows[at], repeated[at]
		if phase == rundir.PhaseWarmup {
			row.Blocks, again = nil, 0
		}
		p := set.Recorded(phase, index, row.InputTokens, blockTokens, row.Blocks)
		p.OutputTokens, p.RepeatedTokens = row.OutputTokens, again
		return p
	})
	return made, nil
}

func longestOf(lengths []traffic.Lengths) int {
	longest := 0
	for _, l := range lengths {
		longest = max(longest, l.Max)
	}
	return longest
}
