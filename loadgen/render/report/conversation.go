package report

import (
	"encoding/json"
	"errors"
	"io"
	"iter"
	"slices"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/summary"
)

// Conversation is one line of conversations.jsonl: the results of its turns, in their order. Times are seconds.
type Conversation struct {
	Run          string `json:"run"`
	Phase        string `json:"phase"`
	Conversation string `json:"conversation"`
	Session      string `json:"session,omitempty"`
	Turns        []Turn `json:"turns"`
}

// Turn is one request of a conversation.
type Turn struct {
	Turn         int           `json:"turn"`
	Index        int           `json:"index"`
	Status       openai.Status `json:"status"`
	Start        *float64      `json:"start"` // since the run's start; null for a turn that was never sent
	TTFT         *float64      `json:"ttft"`
	TPOT         *float64      `json:"tpot"`
	E2E          *float64      `json:"e2e"`
	TokensIn     *int          `json:"tokens_in"`
	TokensOut    *int          `json:"tokens_out"`
	TokensCached *int          `json:"tokens_cached"`
	FinishReason string        `json:"finish_reason,omitempty"`
	PromptSHA256 string        `json:"prompt_sha256,omitempty"`
	OutputSHA256 string        `json:"output_sha256,omitempty"`
	// Output is the text that the model wrote, if outputs are kept.
	Output *string `json:"output,omitempty"`
}

// Outputs looks up the text that the model wrote; nil where it is not kept.
type Outputs func(phase string, index int) (*string, error)

// Conversations writes the conversations of a run, one JSON object a line, in the order in which their first turns
// ended. Requests outside of conversations are left out. Answers that were not streamed, by the summary of the run,
// have no first token.
func Conversations(w io.Writer, s summary.Summary, records iter.Seq2[openai.Record, error], outputs Outputs) error {
	all, err := conversations(records, s.Latency.TTFT != nil)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for _, c := range all {
		slices.SortStableFunc(c.Turns, func(a, b Turn) int { return a.Turn - b.Turn })
		for i := range c.Turns {
			if c.Turns[i].Output, err = outputs(c.Phase, c.Turns[i].Index); err != nil {
				return err
			}
		}
		if err := encoder.Encode(c); err != nil {
			return err
		}
		c.Turns = nil // texts of all conversations together may be large
	}
	return nil
}

func conversations(records iter.Seq2[openai.Record, error], streamed bool) ([]*Conversation, error) {
	type id struct{ phase, conversation, session string }
	var all []*Conversation
	known := map[id]*Conversation{}
	for r, err := range records {
		if errors.Is(err, summary.ErrTorn) {
			break
		}
		if err != nil {
			return nil, err
		}
		if r.Conversation == "" {
			continue
		}
		key := id{r.Phase, r.Conversation, r.Session}
		c, there := known[key]
		if !there {
			c = &Conversation{Run: r.Run, Phase: r.Phase, Conversation: r.Conversation, Session: r.Session}
			known[key] = c
			all = append(all, c)
		}
		c.Turns = append(c.Turns, newTurn(r, streamed))
	}
	return all, nil
}

func newTurn(r openai.Record, streamed bool) Turn {
	t := Turn{
		Turn: r.Turn, Index: r.Index, Status: r.Status, TokensIn: r.TokensIn, TokensOut: r.TokensOut,
		TokensCached: r.TokensCached, FinishReason: r.FinishReason, PromptSHA256: r.PromptSHA256, OutputSHA256: r.OutputSHA256,
	}
	if r.DispatchNS != nil {
		start := seconds(*r.DispatchNS)
		t.Start = &start
	}
	if d, ok := r.TTFT(openai.FromSend); ok && streamed {
		t.TTFT = secondsOf(d)
	}
	if d, ok := r.TPOT(); ok {
		t.TPOT = secondsOf(d)
	}
	if d, ok := r.E2E(openai.FromSend); ok {
		t.E2E = secondsOf(d)
	}
	return t
}

func secondsOf[D ~int64](d D) *float64 {
	s := seconds(int64(d))
	return &s
}
