package server

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/openai"
)

// recognized is what a run finds at a server, with its warnings and the fields of the last request.
func recognized(t *testing.T, p *picky, target Target, want Wanted) (Served, []string, error) {
	t.Helper()
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	target.URL, target.Endpoint, target.Engine, target.ReadyConsecutive = s.URL, openai.Chat, openai.EngineOpenAI, 1
	want.Stream, want.TopP = true, 1
	log := slog.New(slog.DiscardHandler)
	served, err := Inquire(t.Context(), target, log)
	if err != nil {
		return served, nil, err
	}
	i, err := Recognize(t.Context(), target, &served, want, log)
	if err != nil {
		return served, nil, err
	}
	defer i.Close()
	i.Watch(t.Context(), func(error) {})
	i.Again(t.Context())
	return served, i.Warnings(), nil
}

func TestFieldsThatAServerRefusesAreLeftOutAndNamedWithTheirCost(t *testing.T) {
	for name, c := range map[string]struct {
		refused []string
		omit    []openai.Field
		says    []string
	}{
		"none":           {nil, nil, nil},
		"stream_options": {[]string{"stream_options"}, []openai.Field{"stream_options"}, []string{"without stream_options", "not asked for usage"}},
		"usage in them":  {[]string{"stream_options.include_usage"}, []openai.Field{"stream_options"}, []string{"without stream_options"}},
		"temperature":    {[]string{"temperature"}, []openai.Field{"temperature"}, []string{"without temperature", "comparisons of outputs vary"}},
		"top_p":          {[]string{"top_p"}, []openai.Field{"top_p"}, []string{"without top_p"}},
		"max_tokens":     {[]string{"max_tokens"}, []openai.Field{"max_tokens"}, []string{"without max_tokens", "other name"}},
		"both caps":      {[]string{"max_tokens", "max_completion_tokens"}, []openai.Field{"max_tokens", "max_completion_tokens"}, []string{"as long as the model makes them"}},
		"all at once": {
			[]string{"temperature", "max_tokens", "stream_options", "top_p"},
			[]openai.Field{"temperature", "top_p", "stream_options", "max_tokens"}, []string{"without temperature", "without top_p", "without stream_options", "without max_tokens"},
		},
	} {
		for _, status := range []int{http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusOK} {
			t.Run(name+" "+http.StatusText(status), func(t *testing.T) {
				p := &picky{refused: c.refused, refusal: status}
				served, warnings, err := recognized(t, p, Target{Known: supported.Engines()}, Wanted{})
				if err != nil {
					t.Fatal(err)
				}
				slices.Sort(served.Omit)
				slices.Sort(c.omit)
				if !slices.Equal(served.Omit, c.omit) || len(served.Accepted.Refused) != len(c.omit) {
					t.Errorf("left out %v, want %v; %+v", served.Omit, c.omit, served.Accepted)
				}
				for _, words := range c.says {
					if !strings.Contains(strings.Join(warnings, "\n"), words) {
						t.Errorf("nothing of %q in %q", words, warnings)
					}
				}
				for _, fields := range p.taken {
					for _, name := range c.refused {
						if holds(fields, name) {
							t.Errorf("%s was sent and taken", name)
						}
					}
				}
			})
		}
	}
}

func TestAFieldThatTheUserAskedForIsNotLeftOut(t *testing.T) {
	caps := map[openai.Field]string{openai.FieldMaxTokens: "--output-tokens", openai.FieldMaxCompletionTokens: "--output-tokens"}
	for name, c := range map[string]struct {
		refused []string
		want    Wanted
		says    string
	}{
		"temperature":        {[]string{"temperature"}, Wanted{Insisted: map[openai.Field]string{openai.FieldTemperature: "--temperature"}}, "--temperature: the server refuses temperature"},
		"top_p":              {[]string{"top_p"}, Wanted{Insisted: map[openai.Field]string{openai.FieldTopP: "--top-p"}}, "--top-p: the server refuses top_p"},
		"the cap, both":      {[]string{"max_tokens", "max_completion_tokens"}, Wanted{Insisted: caps}, "--output-tokens: the server refuses max_tokens"},
		"the cap, one name":  {[]string{"max_tokens"}, Wanted{Insisted: caps}, ""},
		"a seed":             {[]string{"seed"}, Wanted{Seed: new(int64(7))}, "--request-seed: the server refuses seed"},
		"a seed and a field": {[]string{"seed", "stream_options"}, Wanted{Seed: new(int64(7))}, "--request-seed: the server refuses seed"},
		"a field of theirs":  {[]string{"top_k"}, Wanted{Extra: map[string]any{"top_k": 5}}, "--extra-body: the server refuses top_k"},
	} {
		_, _, err := recognized(t, &picky{refused: c.refused}, Target{Known: supported.Engines()}, c.want)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// The probe has the values of the run: a server may take some temperatures and refuse others.
func TestTheTemperatureOfTheRunIsProbed(t *testing.T) {
	p := &picky{}
	if _, _, err := recognized(t, p, Target{Known: supported.Engines()}, Wanted{Temperature: .7}); err != nil {
		t.Fatal(err)
	}
	for _, fields := range p.taken {
		want := 0. // of greedy answers: fingerprints, and the look for a gateway
		if fields["stream"] == true {
			want = .7
		}
		if fields["temperature"] != want {
			t.Errorf("probed with temperature %v, stream %v", fields["temperature"], fields["stream"])
		}
	}
}

func TestAServerThatRefusesEveryRequestIsRefusedWithItsFirstReason(t *testing.T) {
	_, _, err := recognized(t, &picky{status: http.StatusBadRequest}, Target{Known: supported.Engines()}, Wanted{})
	if err == nil || !strings.Contains(err.Error(), "--endpoint: chat: HTTP 400: not today") {
		t.Errorf("%v", err)
	}
}

func TestWithoutAListOfModelsTheModelIsTheOneThatTheUserNames(t *testing.T) {
	for name, c := range map[string]struct {
		models reply
		named  bool // with --model the run goes on
		says   string
	}{
		"no route":        {reply{status: 404, body: []byte(`{"detail":"Not Found"}`)}, true, "GET /v1/models answered 404"},
		"not allowed":     {reply{status: 405}, true, "answered 405"},
		"not implemented": {reply{status: 501}, true, "answered 501"},
		"broken":          {reply{status: 500}, true, "answered 500"},
		"a page":          {reply{status: 200, body: []byte("<html>")}, true, "no model list"},
		"another object":  {reply{status: 200, body: []byte(`{"status":"ok"}`)}, true, "no member data"},
		"an empty list":   {reply{status: 200, body: []byte(`{"data":[]}`)}, true, "lists no model"},
		"null":            {reply{status: 200, body: []byte(`{"data":null}`)}, true, "lists no model"},
		"a wrong key":     {reply{status: 401}, false, "wants a key"},
		"not ready":       {reply{status: 503}, false, "not ready"},
		"another model":   {reply{status: 200, body: []byte(`{"data":[{"id":"x"}]}`)}, false, `"m" is not served; served are: x`},
	} {
		t.Run(name, func(t *testing.T) {
			served, warnings, err := recognized(t, &picky{models: &c.models}, Target{Known: supported.Engines(), Model: "m"}, Wanted{})
			if !c.named {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v", err)
				}
				return
			}
			if all := strings.Join(warnings, "\n"); err != nil || served.Model.ID != "m" || !strings.Contains(all, c.says) || !strings.Contains(all, "the one that --model names") {
				t.Errorf("%+v, %v, %q", served.Model, err, warnings)
			}
			if _, _, err := recognized(t, &picky{models: &c.models}, Target{Known: supported.Engines()}, Wanted{}); err == nil {
				t.Error("goes on without a model")
			}
		})
	}
}

// namesIn returns the names in a list of models.
func namesIn(body []byte) ([]string, error) {
	listed, err := readModelList(body)
	var ids []string
	for _, m := range listed {
		ids = append(ids, m.ID)
	}
	return ids, err
}

func TestListsOfModelsAreReadInEveryForm(t *testing.T) {
	for body, want := range map[string]string{
		`{"object":"list","data":[{"id":"m"},{"id":"n"}]}`:    "m n",
		`[{"id":"m"},{"id":"n"}]`:                             "m n",
		` ["m","n"]`:                                          "m n",
		`{"models":[{"name":"m"},{"id":"n"}]}`:                "m n",
		`{"models":[{"name":"x"}],"data":[{"id":"m"}]}`:       "m",
		`{"data":[{"id":"m","max_model_len":"?"},7,null,{}]}`: "m",
		`[]`: "",
	} {
		ids, err := namesIn([]byte(body))
		if err != nil || strings.Join(ids, " ") != want {
			t.Errorf("%s: %q, %v", body, ids, err)
		}
	}
	for _, body := range []string{``, `7`, `{}`, `{"data":{"id":"m"}}`, `"m"`, `<html>`} {
		if ids, err := namesIn([]byte(body)); err == nil {
			t.Errorf("%s: %q", body, ids)
		}
	}
}

func FuzzModelList(f *testing.F) {
	for _, body := range []string{`{"data":[{"id":"m"}]}`, `["m"]`, `[{"name":"m"}]`, `{"models":[]}`, `{"data":null}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		ids, err := namesIn(body)
		if err != nil && ids != nil || slices.Contains(ids, "") {
			t.Errorf("%q: %q, %v", body, ids, err)
		}
	})
}

// A server without a list is ready when its endpoint answers.
func TestWaitingForAServerWithoutAListEndsWhenItAnswers(t *testing.T) {
	p := &picky{models: &reply{status: http.StatusNotFound}, status: http.StatusServiceUnavailable}
	s := httptest.NewServer(p)
	defer s.Close()
	target := Target{Known: supported.Engines(), URL: s.URL, Model: "m", Endpoint: openai.Chat, Engine: openai.EngineOpenAI, WaitReady: 50 * time.Millisecond, ReadyConsecutive: 1}
	if _, err := Inquire(t.Context(), target, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "not ready within 50ms: GET /v1/models answered 404") {
		t.Errorf("%v", err)
	}
	p.status = 0
	target.WaitReady = time.Minute
	if served, err := Inquire(t.Context(), target, slog.New(slog.DiscardHandler)); err != nil || served.Model.ID != "m" {
		t.Errorf("%+v, %v", served.Model, err)
	}
}

// The guard of a run does not take a missing list for a server that has gone.
func TestAServerWithoutAListHasNotGone(t *testing.T) {
	s := httptest.NewServer(&picky{models: &reply{status: http.StatusNotFound}})
	defer s.Close()
	api, err := newAPI(Target{Known: supported.Engines(), URL: s.URL}, "")
	if err != nil {
		t.Fatal(err)
	}
	i := Identity{api: api, model: Model{ID: "m"}, unlisted: "GET /v1/models answered 404"}
	if models, err := i.models(t.Context()); err != nil || len(models) != 1 || models[0].ID != "m" {
		t.Errorf("%v, %v", models, err)
	}
	s.Close()
	if _, err := i.models(context.Background()); err == nil {
		t.Error("a server that has gone still has its model")
	}
}
