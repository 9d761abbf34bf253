package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Paced is a server without an engine, to measure clients with: the events of its streams have equal distances, and
// each contains the time at which it was written. It answers any POST, ignores the request's content, and costs little
// more than its writes.
type Paced struct {
	// FirstToken is the time from the request to the first event, Gap that between two events; if both are 0, the
	// server writes the whole answer at once.
	FirstToken, Gap time.Duration
	// Role is the time from the request to an event that has the role and no text, as many engines send one before the
	// first token; 0 leaves it out. It has no stamp, since it is not a token.
	Role time.Duration
	// End is the time from the last token to the usage and the end of the stream.
	End time.Duration
	// Tokens is how many events with a token an answer has.
	Tokens int
	// NoUsage leaves out the event with the usage, as servers do for clients that did not request it.
	NoUsage bool
	// Clock stamps events, in nanoseconds; nil: the wall clock, in nanoseconds since 1970. A client in
	// another process of the same machine has the same one.
	Clock func() int64
}

// StampField is the field of each event with the time at which it was written.
const StampField = "simulated_written_ns"

// ServeHTTP answers one request. Each stream keeps its own schedule: a late event does not delay the ones after it.
func (p Paced) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	w.Header().Set(simulatedHeader, simulatedBy)
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "only POST is answered", http.StatusMethodNotAllowed)
		return
	}
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxBodyBytes)); err != nil {
		http.Error(w, "the body could not be read", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	// The server ignores clients that disconnect or do not read.
	_ = p.stream(w, r, begun)
}

// Check returns an error if a figure is invalid.
func (p Paced) Check() error {
	var problems []error
	if p.Tokens < 1 {
		problems = append(problems, fmt.Errorf("paced server: Tokens is %d: must be at least 1", p.Tokens))
	}
	if p.FirstToken < 0 || p.Gap < 0 || p.Role < 0 || p.End < 0 {
		problems = append(problems, errors.New("paced server: a time is negative"))
	}
	return errors.Join(problems...)
}

func (p Paced) stream(w http.ResponseWriter, r *http.Request, begun time.Time) error {
	if p.Clock == nil {
		p.Clock = func() int64 { return time.Now().UnixNano() }
	}
	s := &pacedStream{Paced: p, ctx: r.Context(), w: w, control: http.NewResponseController(w), timer: time.NewTimer(0), begun: begun}
	defer s.timer.Stop()
	if p.Role > 0 {
		if err := s.send(p.Role, pacedRole); err != nil {
			return err
		}
	}
	for i := range p.Tokens {
		if err := s.token(i); err != nil {
			return err
		}
	}
	if p.End > 0 {
		return s.send(p.FirstToken+time.Duration(p.Tokens-1)*p.Gap+p.End, string(p.end(nil)))
	}
	return s.control.Flush()
}

// pacedStream is one answer in progress.
type pacedStream struct {
	Paced
	ctx     context.Context
	w       http.ResponseWriter
	control *http.ResponseController
	timer   *time.Timer
	begun   time.Time
	event   []byte // kept for its capacity
}

// token writes an event with a token at its time. If no token has its own time, all leave in one write.
func (s *pacedStream) token(i int) error {
	if s.Gap > 0 || i == 0 && s.FirstToken > 0 {
		if err := s.wait(s.FirstToken + time.Duration(i)*s.Gap); err != nil {
			return err
		}
	}
	last := i == s.Tokens-1
	s.event = pacedEvent(s.event[:0], s.Clock(), last)
	if last && s.End == 0 {
		s.event = s.end(s.event)
	}
	if _, err := s.w.Write(s.event); err != nil || s.Gap == 0 {
		return err
	}
	return s.control.Flush()
}

// send writes an event that is not a token at its time.
func (s *pacedStream) send(after time.Duration, event string) error {
	if err := s.wait(after); err != nil {
		return err
	}
	if _, err := io.WriteString(s.w, event); err != nil {
		return err
	}
	return s.control.Flush()
}

// wait waits until so long after the request; that time may be over.
func (s *pacedStream) wait(after time.Duration) error {
	if !sleepUntil(s.ctx, s.timer, s.begun.Add(after)) {
		return s.ctx.Err()
	}
	return nil
}

const pacedRole = `data: {"id":"chatcmpl-simulated-paced-0123456789abcdef","object":"chat.completion.chunk","created":0,"model":"simulated-paced","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}

`

// pacedEvent appends one event with one token of a chat, of the size of vLLM's. It is assembled by hand: an encoder
// would cost more than all the rest.
func pacedEvent(to []byte, stamp int64, last bool) []byte {
	to = append(to, `data: {"id":"chatcmpl-simulated-paced-0123456789abcdef","object":"chat.completion.chunk","created":0,"model":"simulated-paced","`...)
	to = append(to, StampField...)
	to = append(to, `":`...)
	to = strconv.AppendInt(to, stamp, 10)
	to = append(to, `,"choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":`...)
	if last {
		return append(to, "\"length\"}]}\n\n"...)
	}
	return append(to, "null}]}\n\n"...)
}

// end appends the event with the usage, unless NoUsage is set, and the end of the stream.
func (p Paced) end(to []byte) []byte {
	if !p.NoUsage {
		to = append(to, `data: {"id":"chatcmpl-simulated-paced-0123456789abcdef","object":"chat.completion.chunk","created":0,"model":"simulated-paced","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":`...)
		to = strconv.AppendInt(to, int64(p.Tokens), 10)
		to = append(to, `,"total_tokens":`...)
		to = strconv.AppendInt(to, int64(p.Tokens)+1, 10)
		to = append(to, "}}\n\n"...)
	}
	return append(to, "data: [DONE]\n\n"...)
}
