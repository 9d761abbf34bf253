package openai

import (
	"net/http"
	"testing"
	"time"
)

// answersTo sends one request after the other to a server that answers with one stream after the other.
func answersTo(t *testing.T, streams ...string) []Record {
	t.Helper()
	next := 0
	c := newTestClient(t, Options{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		next++
		return pieces(streams[next-1]).RoundTrip(r)
	})}, nil)
	var records []Record
	for range streams {
		records = append(records, c.Do(t.Context(), Request{Endpoint: Chat, Body: []byte("{}")}, since(time.Now()), nil).Record)
	}
	return records
}

// llama-cpp-python drops what it is writing when the next request comes, and ends the stream as if it
// were whole: with [DONE], after as many tokens as there were, often none.
func TestDoneWithoutTheReasonThatTheServerGivesOtherwiseIsACutAnswer(t *testing.T) {
	whole, cut := events(textChunk("a"), stopChunk, done), events(textChunk("a"), done)
	records := answersTo(t, cut, whole, cut, whole)
	wantStatus(t, records[0], StatusOK, "") // as far as the records show, this server never gives a reason
	wantStatus(t, records[1], StatusOK, "")
	wantStatus(t, records[2], StatusTruncated, "without the finish_reason that this server gives otherwise")
	wantStatus(t, records[3], StatusOK, "")
	if records[2].ArrivalKinds != "t" {
		t.Errorf("what there was of the cut answer is lost: kinds %q", records[2].ArrivalKinds)
	}
}

func TestDoneAfterNothingIsNoAnswer(t *testing.T) {
	for name, stream := range map[string]string{
		"nothing":          events(done),
		"the role alone":   events(roleChunk, done),
		"the usage alone":  events(usageChunk, done),
		"comments and all": ": ping\n\n" + events(`{"choices":[]}`, done),
	} {
		t.Run(name, func(t *testing.T) {
			wantStatus(t, answersTo(t, stream)[0], StatusTruncated, "[DONE] comes before any answer")
		})
	}
	wantStatus(t, answersTo(t, events(stopChunk, done))[0], StatusOK, "") // no token, and the engine gives the reason
}
