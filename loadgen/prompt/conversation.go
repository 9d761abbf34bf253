package prompt

import "strconv"

// Turn is one message of the user. What comes after it is the server's own answer.
type Turn struct {
	Text string
	// Tokens is its length by the scale.
	Tokens int
	// OutputTokens is the length asked of the answer; 0 where the conversation does not say.
	OutputTokens int
	// SharedBytes is how much of the text's beginning all conversations have.
	SharedBytes int
}

// Conversation is what a user says, turn by turn.
type Conversation struct {
	ID string
	// Before are the messages that stand before the first turn.
	Before []Message
	Turns  []Turn
	// recorded are all messages of a row that is to be sent as it stands.
	recorded []Message
}

// Turn returns one turn, from 0 on, of the made conversation with the given index of a stream: a
// prompt of its own length, with the shared text and the words of the run in the first one.
func (s Set) Turn(stream string, conversation, turn int) Prompt {
	if turn > 0 {
		s.SharedTokens, s.Key = 0, ""
	}
	return s.Prompt(stream+"/conversation/"+strconv.Itoa(conversation), turn)
}

// prompt is the conversation as a single request: a row that is to be sent as it stands, or else
// the first turn.
func (c Conversation) prompt(scale Scale) Prompt {
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
