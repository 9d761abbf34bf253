package runner

import (
	"bytes"
	"testing"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/workload"
)

func TestARequestIsToldInOneLine(t *testing.T) {
	ok := openai.Record{
		Phase: "measure", Index: 12, Status: openai.StatusOK, DispatchNS: new(6 * ms), FirstTokenNS: new(106 * ms),
		ArrivalsNS: []int64{106 * ms, 100 * ms}, ReadIDs: []int{1, 2}, TokensIn: new(1024), TokensOut: new(256),
	}
	turn := ok
	turn.Conversation, turn.Turn = "c7\x1b[31m", 3
	failed := openai.Record{Phase: "warmup", Status: openai.StatusHTTP, Error: "HTTP 500: no"}
	for want, r := range map[string]openai.Record{
		"measure 12: ok, first token after 100ms, whole after 200ms, 1024 tokens in, 256 out":              ok,
		"measure 12 (c7, turn 3): ok, first token after 100ms, whole after 200ms, 1024 tokens in, 256 out": turn,
		"warmup 0: http, HTTP 500: no": failed,
	} {
		if got := requestLine(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWhatIsPrintedOfARequestIsWhatWasAskedFor(t *testing.T) {
	result := openai.Result{Record: openai.Record{Phase: "measure", Status: openai.StatusOK}, Output: "an\x1b[2J answer\nof two lines"}
	for _, c := range []struct {
		v    verbosity
		body string
		want string
	}{
		{verbosity{}, `{"prompt":"x"}`, ""},
		{verbosity{Requests: true}, `{"prompt":"x"}`, "measure 0: ok\n"},
		{verbosity{Content: true}, `{"prompt":"a\nquestion"}`, "measure 0: ok\n  asked: a question\n  answered: an answer of two lines\n"},
		{verbosity{Content: true}, `{"messages":[{"role":"user","content":"first"},{"role":"user","content":"last"}]}`, "measure 0: ok\n  asked: last\n  answered: an answer of two lines\n"},
		{verbosity{Content: true}, `{"prompt":[1,2]}`, "measure 0: ok\n  asked: token ids [1,2]\n  answered: an answer of two lines\n"},
		{verbosity{Content: true}, `garbage`, "measure 0: ok\n  asked: \n  answered: an answer of two lines\n"},
	} {
		var out bytes.Buffer
		c.v.print(&out, workload.Job{Request: openai.Request{Body: []byte(c.body)}}, result)
		if out.String() != c.want {
			t.Errorf("%+v: %q, want %q", c.v, out.String(), c.want)
		}
	}
}
