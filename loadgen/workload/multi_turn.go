package workload

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"

	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/traffic"
)

// Orders in which a client continues its conversations.
const (
	roundRobin  = "round_robin"
	randomOrder = "random"
)

// Defaults of multi_turn.
const (
	defaultClients = 1
	defaultActive  = 8
	// defaultTurns is how many turns a conversation has if no file sets them.
	defaultTurns = 4
)

// messageTokens is the most tokens that a chat template adds to each message of a conversation. Source: the templates
// of the Llama, Qwen and Mistral models.
const messageTokens = 8

// resolveMultiTurn: conversations. A client has several active conversations and one request in flight: when an answer
// has ended, it sends the next turn of one of them. The history holds the server's real answers.
//
// Conversations are assigned to the clients before the run, so that the order of a client's requests depends only on
// the seed, not on the speed of the answers.
func resolveMultiTurn(s *Settings) error {
	switch {
	case s.Arrival == traffic.Recorded:
		return errors.New("--arrival: a trace has no conversations; use --scenario standard")
	case s.concurrencyGiven:
		return fmt.Errorf("--concurrency: in --scenario %s it is --clients that says how many requests are in flight", scenarioMultiTurn)
	case s.Arrival == traffic.Closed && len(s.stages) > 0:
		return errors.New("--stages: the number of clients does not change; add --arrival poisson for stages of rates")
	case s.PromptIDs:
		return errors.New("--prompt-ids: conversations go on with the text of answers")
	case s.endpoint == completions && s.template == nil:
		return errors.New("--template: completions take one text; name a template for conversations")
	}
	s.clientsGiven = s.clients != 0
	if !s.clientsGiven {
		s.clients = max(defaultClients, s.Place.World)
	}
	if s.active == 0 {
		s.active = max(defaultActive, s.clients)
	}
	if s.active < s.clients {
		return fmt.Errorf("--active-conversations: %d are too few for %d clients", s.active, s.clients)
	}
	s.Concurrency = s.clients
	return nil
}

// conversations are the conversations of a run.
type conversations struct {
	set      traffic.PromptSet // used without a file
	file     []traffic.Conversation
	shared   traffic.Prompt
	turns    []int // of each conversation of the file
	maxTurns int   // of conversations that are not from the file

	seed       uint64
	clients    int
	mostActive int
	shuffled   bool // the next conversation is drawn; otherwise it is the one that waited longest
}

func writeMultiTurn(s *Settings, f Server) (Script, error) {
	t := conversations{seed: s.Seed, clients: s.clients, mostActive: s.active, shuffled: s.sampling == randomOrder}
	made := Script{workers: s.clients, Slots: 1, Facts: rundir.Script{
		Scenario: s.Scenario.Name, SharedPrefixTokens: s.sharedTokens, Clients: s.clients, Active: s.active, Sampling: s.sampling,
	}}
	t.set = s.promptSet(f.Scale)
	var err error
	if s.file != nil {
		t.file, t.shared = s.file.Conversations, t.set.Shared()
		made.Facts.File, made.Facts.MaxTurns = s.file, s.maxTurns
		made.longest, made.Facts.Clipped, err = t.fitFile(s, f)
	} else {
		made.longest, err = t.fitSet(s, f)
		made.Facts.InputTokens, made.Facts.MaxTurns = t.set.Lengths, t.maxTurns
	}
	if err != nil {
		return Script{}, err
	}
	for _, turns := range t.turns {
		made.most += turns
	}
	if made.most > 0 && made.most < s.requests {
		made.note("the prompt file has %d turns; the run ends with them", made.most)
	}
	made.contents = t.contents
	measured := []string{rundir.PhaseMeasure}
	made.Verify = &evidence.Verification{First: rundir.PhaseMeasure, Again: measured, All: measured, Turns: true, Pressed: true}
	return made, nil
}

// fitSet makes conversations whose full length stays below the limit.
func (t *conversations) fitSet(s *Settings, f Server) (longest int, err error) {
	if t.set.Lengths, err = f.fit(s, lengthsOf(s), s.outputTokens.Max); err != nil {
		return 0, err
	}
	t.maxTurns = s.maxTurns
	if t.maxTurns == 0 {
		t.maxTurns = defaultTurns
	}
	longest = longestOf(t.set.Lengths)
	most, known := f.longestInput(s, s.outputTokens.Max)
	if !known {
		return s.sharedTokens + longest, nil
	}
	each := longest + s.outputTokens.Max + 2*messageTokens
	fitting := max(0, (most-s.sharedTokens+s.outputTokens.Max)/each)
	if fitting < t.maxTurns {
		if fitting == 0 || s.maxTurns != 0 && !s.clip {
			return 0, fmt.Errorf("--max-turns: %d turns of up to %d tokens with answers of %d do not fit: %s", t.maxTurns, longest, s.outputTokens.Max, f.room(s, s.outputTokens.Max))
		}
		t.maxTurns = fitting
	}
	return s.sharedTokens + longest, nil
}

// fitFile counts how many turns of each conversation stay below the limit with the requested answers.
func (t *conversations) fitFile(s *Settings, f Server) (longest, clipped int, err error) {
	t.turns = make([]int, len(t.file))
	for i, c := range t.file {
		turns := len(c.Turns)
		if s.maxTurns > 0 {
			turns = min(turns, s.maxTurns)
		}
		fitting := t.fitting(s, f, c, turns)
		if fitting == 0 || fitting < turns && !s.clip {
			return 0, 0, fmt.Errorf("--prompts: %s: turn %d of conversation %d is too long with what was said before: %s", s.Prompts, fitting+1, i+1, f.room(s, s.outputTokens.Max))
		}
		if fitting < turns {
			clipped++
		}
		t.turns[i] = fitting
		for _, turn := range c.Turns[:fitting] {
			longest = max(longest, turn.Tokens+t.shared.Tokens)
		}
	}
	return longest, clipped, nil
}

// fitting returns how many of the first turns of a conversation fit.
func (t *conversations) fitting(s *Settings, f Server, c traffic.Conversation, turns int) int {
	tokens := t.shared.Tokens
	for _, m := range c.Before {
		tokens += f.Scale.Count(m.Content) + messageTokens
	}
	for i, turn := range c.Turns[:turns] {
		output := answerTokens(s, turn.OutputTokens)
		tokens += turn.Tokens + messageTokens
		if most, known := f.longestInput(s, output); known && tokens > most {
			return i
		}
		tokens += output + messageTokens
	}
	return turns
}

// contents yields the turns of all clients, one of each client in a row, so that a run with a request count ends at the
// same point for all of them.
func (t conversations) contents(phase string, first int) iter.Seq[content] {
	return func(yield func(content) bool) {
		clients := make([]*client, t.clients)
		for i := range clients {
			clients[i] = t.client(phase, i)
		}
		for index, left := 0, len(clients); left > 0; {
			left = 0
			for _, c := range clients {
				a, ok := c.next()
				if !ok {
					continue
				}
				left++
				if index++; index > first && !yield(a) {
					return
				}
			}
		}
	}
}

// client iterates over its share of the conversations.
type client struct {
	conversations
	phase            string
	worker           int
	nextConversation int // the conversation that it starts next
	most             int // how many are active
	active           []progress
	random           *rand.Rand
}

// progress is an active conversation and how many of its turns have been taken.
type progress struct{ conversation, taken int }

func (t conversations) client(phase string, worker int) *client {
	return &client{
		conversations: t, phase: phase, worker: worker, nextConversation: worker, most: (t.mostActive + t.clients - 1 - worker) / t.clients,
		random: traffic.NewRandom(t.seed, phase+"/client", worker),
	}
}

// next takes the next turn; false if there are no more conversations.
func (c *client) next() (content, bool) {
	for len(c.active) < c.most && (c.file == nil || c.nextConversation < len(c.file)) {
		c.active = append(c.active, progress{c.nextConversation, 0})
		c.nextConversation += c.clients
	}
	if len(c.active) == 0 {
		return content{}, false
	}
	at := 0
	if c.shuffled {
		at = c.random.IntN(len(c.active))
	}
	now := c.active[at]
	now.taken++
	last := now.taken == c.turnsOf(now.conversation)
	switch {
	case last:
		c.active = append(c.active[:at], c.active[at+1:]...)
	case c.shuffled:
		c.active[at] = now
	default:
		c.active = append(c.active[1:], now)
	}
	return content{
		worker: c.worker, conversation: c.name(now.conversation), number: now.conversation, turn: now.taken, last: last,
		draw: func() traffic.Prompt { return c.turn(c.phase, now.conversation, now.taken-1) },
	}, true
}

// at returns the place of a conversation in the file; the warm-up takes them from the end.
func (c *client) at(conversation int) int {
	if c.phase == rundir.PhaseWarmup {
		return len(c.file) - 1 - conversation
	}
	return conversation
}

func (c *client) turnsOf(conversation int) int {
	if c.file == nil {
		return c.maxTurns
	}
	return c.turns[c.at(conversation)]
}

func (c *client) name(conversation int) string {
	if c.file == nil {
		return strconv.Itoa(conversation)
	}
	return c.file[c.at(conversation)].ID
}

// turn makes the text of one turn; the first one includes the messages before it.
func (c *client) turn(phase string, conversation, turn int) traffic.Prompt {
	if c.file == nil {
		return c.set.Turn(phase, conversation, turn)
	}
	from := c.file[c.at(conversation)]
	taken := from.Turns[turn]
	p := traffic.Prompt{Text: taken.Text, Tokens: taken.Tokens, OutputTokens: taken.OutputTokens, SharedBytes: taken.SharedBytes}
	if turn > 0 {
		return p
	}
	p.Before = from.Before
	return joinShared(c.shared, p)
}
