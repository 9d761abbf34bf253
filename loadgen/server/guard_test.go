package server

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/openai"
)

func refused(text string) openai.Result {
	return openai.Result{Record: openai.Record{Status: openai.StatusHTTP, HTTPStatus: http.StatusBadRequest, Error: text}}
}

func TestPromptsAboveTheLimitAndMissingModelsAreKnownByTheWordsOfEveryEngine(t *testing.T) {
	known := 0
	for _, e := range supported.Engines() {
		for _, text := range e.Wording.TooLong {
			if known++; !overLimit(refused("HTTP 400: " + text)) {
				t.Errorf("not known, of %s: %s", e.Name, text)
			}
		}
		for _, text := range e.Wording.NoModel {
			if known++; !deniesModel(refused("HTTP 400: " + text)) {
				t.Errorf("no denial, of %s: %s", e.Name, text)
			}
		}
	}
	if known < 10 {
		t.Errorf("%d texts of engines", known)
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
type lists [][]Model

func (l *lists) next(context.Context) ([]Model, error) {
	if len(*l) == 0 || (*l)[0] == nil {
		*l = (*l)[min(1, len(*l)):]
		return nil, errors.New("no answer")
	}
	first := (*l)[0]
	*l = (*l)[1:]
	return first, nil
}

func TestAModelIsGoneOnlyWhenItIsNotListedTwiceInARow(t *testing.T) {
	here, gone := []Model{{ID: "m"}}, []Model{{ID: "n"}}
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
			if c.dropped && (reason.kind != modelDropped || !errors.Is(context.Cause(stop), error(reason))) {
				t.Errorf("%s: %v", name, context.Cause(stop))
			}
		})
	}
}

func TestThousandsOfFailuresAreOneLookASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		models := func(context.Context) ([]Model, error) { looks++; return []Model{{ID: "m"}}, nil }
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

func TestAServerThatTakesNoConnectionsIsGoneAfterAWhile(t *testing.T) {
	for name, c := range map[string]struct {
		answers func(after time.Duration) bool // whether it answers at that time
		gone    bool
	}{
		"dead":                  {func(time.Duration) bool { return false }, true},
		"the client is at odds": {func(time.Duration) bool { return true }, false},
		"back in time":          {func(after time.Duration) bool { return after > goneAfter/2 }, false},
		"now and then":          {func(after time.Duration) bool { return after%(goneAfter/2) < lookInterval }, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			models := func(context.Context) ([]Model, error) {
				if c.answers(time.Since(began)) {
					return []Model{{ID: "m"}}, nil
				}
				return nil, errors.New("connection refused")
			}
			stop, halt := context.WithCancelCause(t.Context())
			defer halt(nil)
			g := &guard{models: models, model: "m", halt: halt, ctx: t.Context()}
			for range 1500 {
				if stop.Err() != nil {
					break
				}
				g.saw(openai.Result{Record: openai.Record{Status: openai.StatusConnect, Error: "connection refused"}})
				time.Sleep(10 * time.Millisecond)
			}
			g.wait()
			reason := g.stopped()
			if (reason != nil) != c.gone {
				t.Errorf("%s: %v", name, reason)
			}
			if took := time.Since(began); c.gone && (took < goneAfter || took > goneAfter+2*lookInterval) {
				t.Errorf("%s: known after %v", name, took)
			}
		})
	}
}

func TestTwoFailuresWithAnAnswerBetweenThemAreNotOneLongOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		models := func(context.Context) ([]Model, error) { return nil, errors.New("connection refused") }
		g := &guard{models: models, model: "m", halt: func(error) { t.Error("stopped") }, ctx: t.Context()}
		for range 5 {
			g.saw(openai.Result{Record: openai.Record{Status: openai.StatusConnect}})
			g.wait()
			time.Sleep(goneAfter)
			g.saw(openai.Result{Record: openai.Record{Status: openai.StatusOK, HTTPStatus: http.StatusOK}})
		}
	})
}

func TestOnlyRefusalsAreLookedInto(t *testing.T) {
	g := &guard{models: func(context.Context) ([]Model, error) { t.Error("looked"); return nil, nil }, ctx: t.Context()}
	for _, status := range []openai.Status{openai.StatusOK, openai.StatusTimeout, openai.StatusCancelled, openai.StatusTruncated} {
		g.saw(openai.Result{Record: openai.Record{Status: status, Error: "prompt is too long"}})
	}
	if g.wait(); g.stopped() != nil {
		t.Errorf("%v", g.stopped())
	}
}

func TestALoadThatNeverBeganHasNothingToCompare(t *testing.T) {
	i := &Identity{api: &api{known: supported.Engines()}, start: observed("one")}
	i.Again(t.Context())
	if v := i.Verdict(); i.Stopped() || v.Guarded || v.Compared || v.Fingerprint == "" {
		t.Errorf("%+v", v)
	}
}
