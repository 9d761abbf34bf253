package traffic

import "strconv"

// Turn is one message of the user. The server's own answer follows it.
type Turn struct {
	Text string
	// Tokens is its length by the scale, in tokens.
	Tokens int
	// OutputTokens is the requested length of the answer in tokens; 0 if the conversation does not set it.
	OutputTokens int
	// SharedBytes is how many bytes of the text's beginning all conversations share.
	SharedBytes int
}

// Conversation is the user's part of a dialogue, turn by turn.
type Conversation struct {
	ID string
	// Before are the messages before the first turn.
	Before []Message
	Turns  []Turn
	// recorded are all messages of a row that is sent unchanged.
	recorded []Message
}

// Turn returns one turn, from 0 on, of the generated conversation with the given index of a stream: a prompt of its own
// length. The first turn has the shared text and the run's own words.
func (s PromptSet) Turn(stream string, conversation, turn int) Prompt {
	if turn > 0 {
		s.SharedTokens, s.Key = 0, ""
	}
	return s.Prompt(stream+"/conversation/"+strconv.Itoa(conversation), turn)
}

// prompt returns the conversation as a single request: the unchanged row, or else the first turn.
func (c Conversation) prompt(scale TokenScale) Prompt {
	first := c.Turns[0]
	p := Prompt{Before: c.Before, Text: first.Text, Tokens: first.Tokens, OutputTokens: first.OutputTokens, SharedBytes: first.SharedBytes}
	if n := len(c.recorded); n > 0 {
		p.Before, p.Text, p.Tokens = c.recorded[:n-1], c.recorded[n-1].Content, scale.Count(c.recorded[n-1].Content)
	}
	for _, m := range p.Before {
		p.Tokens += scale.Count(m.Content)
	}
	return p
}
