package sim

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Paced is a server without an engine, to measure clients with: its streams have their events at even
// distances, and each event tells when it was written. It answers any POST, looks at no request, and
// costs little more than its writes.
type Paced struct {
	// FirstToken is the time from the request to the first event, Gap that between two events; both 0
	// make an instant server, that writes the whole answer at once.
	FirstToken, Gap time.Duration
	// Tokens is how many events with a token an answer has.
	Tokens int
	// Clock stamps events, in nanoseconds; nil: the wall clock, in nanoseconds since 1970. A client in
	// another process of the same machine has the same one.
	Clock func() int64
}

// StampField is the field of each event that holds when it was written.
const StampField = "simulated_written_ns"

// ServeHTTP answers one request. Each stream keeps to its own schedule: an event that is late does
// not delay the ones after it.
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
	// Neither a client that left nor one that does not read is of interest to a server like this.
	_ = p.stream(w, r, begun)
}

// Check says what is wrong with the figures.
func (p Paced) Check() error {
	var problems []error
	if p.Tokens < 1 {
		problems = append(problems, fmt.Errorf("paced server: Tokens is %d: must be at least 1", p.Tokens))
	}
	if p.FirstToken < 0 || p.Gap < 0 {
		problems = append(problems, errors.New("paced server: a time is negative"))
	}
	return errors.Join(problems...)
}

func (p Paced) stream(w http.ResponseWriter, r *http.Request, begun time.Time) error {
	clock := p.Clock
	if clock == nil {
		clock = func() int64 { return time.Now().UnixNano() }
	}
	control := http.NewResponseController(w)
	timer := time.NewTimer(0)
	defer timer.Stop()
	var event []byte
	for i := range p.Tokens {
		// One write for each event that has a time of its own, one for all if none has.
		paced := p.Gap > 0 || i == 0 && p.FirstToken > 0
		if paced && !sleepUntil(r.Context(), timer, begun.Add(p.FirstToken+time.Duration(i)*p.Gap)) {
			return r.Context().Err()
		}
		event = pacedEvent(event[:0], clock(), i == p.Tokens-1)
		if i == p.Tokens-1 {
			event = pacedEnd(event, p.Tokens)
		}
		if _, err := w.Write(event); err != nil {
			return err
		}
		if p.Gap > 0 {
			if err := control.Flush(); err != nil {
				return err
			}
		}
	}
	return control.Flush()
}

// pacedEvent appends one event with one token of a chat, of the size that vLLM's have. It is put
// together by hand: an encoder would cost more than all the rest.
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

// pacedEnd appends the event with the usage and the end of the stream.
func pacedEnd(to []byte, tokens int) []byte {
	to = append(to, `data: {"id":"chatcmpl-simulated-paced-0123456789abcdef","object":"chat.completion.chunk","created":0,"model":"simulated-paced","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":`...)
	to = strconv.AppendInt(to, int64(tokens), 10)
	to = append(to, `,"total_tokens":`...)
	to = strconv.AppendInt(to, int64(tokens)+1, 10)
	return append(to, "}}\n\ndata: [DONE]\n\n"...)
}
