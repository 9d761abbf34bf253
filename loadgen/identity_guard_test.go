package loadgen

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/report"
	"github.com/umascope/umascope/loadgen/sim"
)

func refused(text string) chat.Result {
	return chat.Result{Record: chat.Record{Status: chat.StatusHTTP, HTTPStatus: http.StatusBadRequest, Error: text}}
}

func TestPromptsAboveTheLimitAreKnownByTheWordsOfEveryServer(t *testing.T) {
	for _, text := range []string{
		"HTTP 400: This model's maximum context length is 8192 tokens. However, you requested 9000 tokens in the messages.",
		"HTTP 400: The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
		"The sum of prompt length (9351.0), query length (0) should not exceed max_num_tokens (8192)",
		"Prompt length (5056) exceeds maximum input length (2048)",
		"HTTP 400: The input (9000 tokens) is longer than the model's context length (8192 tokens).",
		"HTTP 400: Input length (9000 tokens) exceeds the maximum allowed length (8186 tokens).",
		"HTTP 400: Requested token count exceeds the model's maximum context length of 8192 tokens.",
		"HTTP 400: the request exceeds the available context size, try increasing it",
	} {
		if !overLimit(refused(text)) {
			t.Errorf("not known: %s", text)
		}
	}
	for _, text := range []string{"HTTP 401: no key", "HTTP 429: too many requests", "HTTP 400: max_tokens is 0", "HTTP 404: The model `m` does not exist.", ""} {
		if overLimit(refused(text)) {
			t.Errorf("taken for a limit: %s", text)
		}
	}
	coded := refused("HTTP 400: no")
	if coded.ErrorCode = "context_length_exceeded"; !overLimit(coded) {
		t.Error("the code alone is not enough")
	}
}

// lists are the answers to looks at a model list, one after the other; nil is an error.
type lists [][]model

func (l *lists) next(context.Context) ([]model, error) {
	if len(*l) == 0 || (*l)[0] == nil {
		*l = (*l)[min(1, len(*l)):]
		return nil, errors.New("no answer")
	}
	first := (*l)[0]
	*l = (*l)[1:]
	return first, nil
}

func TestAModelIsGoneOnlyWhenItIsNotListedTwiceInARow(t *testing.T) {
	here, gone := []model{{ID: "m"}}, []model{{ID: "n"}}
	for name, c := range map[string]struct {
		lists   lists
		dropped bool
	}{
		"still there":             {lists{here, here}, false},
		"gone":                    {lists{gone, gone}, true},
		"no model at all":         {lists{{}, {}}, true},
		"back a moment later":     {lists{gone, here}, false},
		"no list":                 {lists{nil, nil}, false},
		"gone, then no list":      {lists{gone, nil}, false},
		"never anything to go by": {nil, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			stop, halt := context.WithCancelCause(t.Context())
			defer halt(nil)
			g := &guard{models: c.lists.next, model: "m", halt: halt, ctx: t.Context()}
			g.saw(refused("HTTP 404: The model `m` does not exist."))
			g.wait()
			reason := g.stopped()
			if (reason != nil) != c.dropped || (stop.Err() != nil) != c.dropped {
				t.Fatalf("%s: %v", name, reason)
			}
			if c.dropped && (reason.code != report.CodeModelDropped || !errors.Is(context.Cause(stop), error(reason))) {
				t.Errorf("%s: %v", name, context.Cause(stop))
			}
		})
	}
}

func TestThousandsOfFailuresAreOneLookASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		models := func(context.Context) ([]model, error) { looks++; return []model{{ID: "m"}}, nil }
		g := &guard{models: models, model: "m", halt: func(error) { t.Error("stopped") }, ctx: t.Context()}
		for range 3000 {
			g.saw(refused("HTTP 500: no"))
			time.Sleep(time.Millisecond)
		}
		g.wait()
		if looks < 2 || looks > 4 {
			t.Errorf("%d looks in 3 s", looks)
		}
	})
}

func TestOnlyRefusalsAreLookedInto(t *testing.T) {
	g := &guard{models: func(context.Context) ([]model, error) { t.Error("looked"); return nil, nil }, ctx: t.Context()}
	for _, status := range []chat.Status{chat.StatusOK, chat.StatusTimeout, chat.StatusCancelled, chat.StatusTruncated, chat.StatusConnect} {
		g.saw(chat.Result{Record: chat.Record{Status: status, Error: "prompt is too long"}})
	}
	if g.wait(); g.stopped() != nil {
		t.Errorf("%v", g.stopped())
	}
}

func TestAPromptAboveTheLimitStopsTheRunAtOnce(t *testing.T) {
	for _, vendor := range []sim.Vendor{sim.Dynamo, sim.VLLM, sim.TensorRTLLM, sim.SGLang} {
		_, url := simulated(t, func(c *sim.Config) {
			c.Vendor, c.MaxPromptTokens, c.DropOnLongPrompt = vendor, 600, vendor == sim.Dynamo
		})
		code, folder, _, stderr := invoke(t, t.Context(), "--url", url, "--requests=500", "--warmup=0", "--input-tokens=500:2000", "--output-tokens=4")
		if code != exitInvalid || !strings.Contains(stderr, "prompt_limit") {
			t.Fatalf("%s: exit %d: %s", vendor, code, stderr)
		}
		if n := len(records(t, folder)); n == 0 || n > 100 {
			t.Errorf("%s: %d requests were sent all the same", vendor, n)
		}
		if state := read[manifest](t, filepath.Join(folder, fileManifest)).State; state != stateStopped {
			t.Errorf("%s: state %s", vendor, state)
		}
	}
}

func TestAModelThatIsGoneStopsTheRunAtOnce(t *testing.T) {
	engine, url := simulated(t, func(c *sim.Config) { c.Vendor, c.DecodeBase = sim.Dynamo, time.Millisecond })
	out, stderr := t.TempDir(), &lockedBuffer{}
	code := make(chan int)
	go func() {
		args := []string{"run", "--url", url, "--out", out, "--run-id=r1", "--web.listen-address=127.0.0.1:0", "--duration=1h", "--warmup=0", "--output-tokens=4"}
		code <- Program{Stdout: &lockedBuffer{}, Stderr: stderr}.Run(t.Context(), append(args, uncontended...))
	}()
	await(t, func() bool {
		info, err := os.Stat(filepath.Join(out, "r1", fileRequests))
		return err == nil && info.Size() > 0
	})
	if err := engine.SetFaults(sim.Faults{ModelGone: true}); err != nil {
		t.Fatal(err)
	}
	if got := <-code; got != exitInvalid || !strings.Contains(stderr.String(), "model_dropped") {
		t.Errorf("exit %d: %s", got, stderr.String())
	}
}
