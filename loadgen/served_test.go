package loadgen

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/prompt"
)

func TestTheModelIsTheOneAskedForOrTheOnlyOne(t *testing.T) {
	one, two := []model{{ID: "a"}}, []model{{ID: "a"}, {ID: "b"}}
	for _, c := range []struct {
		models []model
		wanted string
		want   string
		says   string
	}{
		{one, "", "a", ""},
		{two, "b", "b", ""},
		{two, "", "", "a, b"},
		{two, "c", "", `"c" is not served; served are: a, b`},
		{nil, "", "", "lists no model"},
		{nil, "c", "", "served are: none"},
	} {
		got, err := choose(c.models, c.wanted)
		if got.ID != c.want || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, asked for %q: %q, %v", c.models, c.wanted, got.ID, err)
		}
	}
}

func TestLongModelListsAreCutShort(t *testing.T) {
	var many []model
	for i := range 1000 {
		many = append(many, model{ID: fmt.Sprintf("m%d", i)})
	}
	if got := namesOf(many); len(got) > 200 || !strings.HasSuffix(got, "and 980 more") {
		t.Errorf("%s", got)
	}
}

func TestPromptLengthsStayBelowTheServersLimit(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit int
		args  []string
		want  []prompt.Lengths
		says  string
	}{
		{"no limit known", 0, nil, []prompt.Lengths{{Min: 512, Max: 2048}}, ""},
		{"room enough", 32768, nil, []prompt.Lengths{{Min: 512, Max: 2048}}, ""},
		{"a set is clipped", 1512, nil, []prompt.Lengths{{Min: 512, Max: 1000}}, ""},
		{"long ones too", 20000, []string{"--prompts=long"}, []prompt.Lengths{{Min: 8192, Max: 19488}}, ""},
		{"nothing is left of a set", 600, nil, nil, "--prompts"},
		{"a given length is not clipped", 1512, []string{"--input-tokens=500:1001"}, nil, "--input-tokens"},
		{"a given length is clipped on demand", 1512, []string{"--input-tokens=500:1001", "--clip"}, []prompt.Lengths{{Min: 500, Max: 1000}}, ""},
		{"a given one that is too long altogether too", 1512, []string{"--input-tokens=5000", "--clip"}, []prompt.Lengths{{Min: 1000, Max: 1000}}, ""},
		{"a limit of the user", 0, []string{"--max-input-tokens=900", "--token-margin=0"}, []prompt.Lengths{{Min: 512, Max: 900}}, ""},
		{"the lower limit counts", 1512, []string{"--max-input-tokens=9000", "--token-margin=100"}, []prompt.Lengths{{Min: 512, Max: 1156}}, ""},
		{"the shared text counts", 1512, []string{"--shared-prefix-tokens=400"}, []prompt.Lengths{{Min: 512, Max: 600}}, ""},
		{"a given length that fits", 1512, []string{"--input-tokens=500:1000"}, []prompt.Lengths{{Min: 500, Max: 1000}}, ""},
	} {
		s, err := parsed(t, c.args...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := served{model: model{MaxTokens: c.limit}}.fit(s, lengthsOf(s), s.outputTokens.Max)
		if fmt.Sprint(got) != fmt.Sprint(c.want) || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
}

func TestReadyMeansAModelThatOftenInARow(t *testing.T) {
	// The list by the second: refused, empty, there, gone again, there, there.
	answers := []string{"", `{"data":[]}`, `{"data":[{"id":"m"}]}`, "", `{"data":[{"id":"m"}]}`, `{"data":[{"id":"m"}]}`}
	transport := func(asked *atomic.Int64) http.RoundTripper {
		return roundTrip(func(*http.Request) (*http.Response, error) {
			n := int(asked.Add(1)) - 1
			recorder := httptest.NewRecorder()
			if n >= len(answers) || answers[n] == "" {
				recorder.WriteHeader(http.StatusServiceUnavailable)
			} else {
				_, _ = recorder.WriteString(answers[n])
			}
			return recorder.Result(), nil
		})
	}
	for _, c := range []struct {
		wait  time.Duration
		ready bool
	}{{10 * time.Second, true}, {4 * time.Second, false}} {
		synctest.Test(t, func(t *testing.T) {
			var asked atomic.Int64
			api := &server{root: "http://test", client: &http.Client{Transport: transport(&asked)}}
			start := time.Now()
			models, err := api.ready(t.Context(), target{waitReady: c.wait, readyConsecutive: 2}, slog.New(slog.DiscardHandler))
			if (err == nil) != c.ready {
				t.Fatalf("waiting %s: %v, %v", c.wait, models, err)
			}
			if took := time.Since(start); c.ready && took != 5*time.Second || !c.ready && took != c.wait {
				t.Errorf("waiting %s took %s", c.wait, took)
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestProbesGoToTheVirtualHostThatTheLoadGoesTo(t *testing.T) {
	router := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"data":[{"id":%q}]}`, r.Host)
	}))
	defer router.Close()
	api, err := newServer(target{url: router.URL, headers: []header{{"Host", "spark1.example"}}}, "")
	if err != nil {
		t.Fatal(err)
	}
	models, err := api.models(t.Context())
	if err != nil || len(models) != 1 || models[0].ID != "spark1.example" {
		t.Errorf("models of %v, %v", models, err)
	}
}

func TestAServerIsNotBelievedEverything(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a redirect was followed, with the key")
	}))
	defer elsewhere.Close()
	for name, handler := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		},
		"not json": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			for block := []byte(strings.Repeat(" ", 1<<20)); ; {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		},
		"failing": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	} {
		s := httptest.NewServer(handler)
		api, err := newServer(target{url: s.URL}, "key")
		if err != nil {
			t.Fatal(err)
		}
		if models, err := api.models(t.Context()); err == nil {
			t.Errorf("%s: %v", name, models)
		}
		api.client.CloseIdleConnections()
		s.CloseClientConnections()
		s.Close()
	}
}

func TestWaitingForAServerEndsWithAnInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := inquire(ctx, target{url: "http://127.0.0.1:1", waitReady: time.Hour, readyConsecutive: 1, engine: engineAuto}, slog.New(slog.DiscardHandler))
	if err != errInterrupted {
		t.Errorf("error %v", err)
	}
}

func TestForeignTextCannotDriveTheTerminal(t *testing.T) {
	got := printable("a\x1b[31mred\r\nnext\u202eevil\u200b \x9b2J \xff " + strings.Repeat("x", 5000))
	if strings.ContainsAny(got, "\x1b\r\n\u202e\u200b\u009b") || !utf8.ValidString(got) || len(got) > longestForeign+10 {
		t.Errorf("%q", got)
	}
}

func TestAnswersAreComparedWithTheModelAskedFor(t *testing.T) {
	answer := func(model, fingerprint string) chat.Result {
		return chat.Result{Record: chat.Record{Status: chat.StatusOK}, Model: model, SystemFingerprint: fingerprint}
	}
	for _, c := range []struct {
		name            string
		results         []chat.Result
		mismatch, warns bool
		checked         bool
	}{
		{"as asked", []chat.Result{answer("m", "f"), answer("m", "f")}, false, false, true},
		{"silent server", []chat.Result{answer("", "")}, false, false, false},
		{"another model", []chat.Result{answer("m", ""), answer("n", "")}, true, false, true},
		{"restarted as another", []chat.Result{answer("m", "f"), answer("m", "g")}, false, true, true},
		{"failed ones do not count", []chat.Result{{Record: chat.Record{Status: chat.StatusInBand}, Model: "n"}}, false, false, false},
	} {
		a := &answers{}
		for _, r := range c.results {
			a.add(r, 256, false)
		}
		m := a.judge(model{ID: "m"})
		if m.ID != "m" || m.Checked != c.checked || (m.Mismatch != "") != c.mismatch || (len(a.warnings(script{distinct: true})) > 0) != c.warns {
			t.Errorf("%s: %+v, %v", c.name, m, a.warnings(script{distinct: true}))
		}
	}
	many := &answers{}
	for i := range 1000 {
		many.add(answer(fmt.Sprint(i), ""), 256, false)
	}
	if len(many.models) != mostNames {
		t.Errorf("%d names kept", len(many.models))
	}
}

func TestWarningsNameWhatTheAnswersShow(t *testing.T) {
	result := func(cached, out int) chat.Result {
		return chat.Result{Record: chat.Record{Status: chat.StatusOK, TokensIn: new(100), TokensCached: new(cached), TokensOut: new(out)}}
	}
	for _, c := range []struct {
		name   string
		result chat.Result
		forced bool
		says   string
	}{
		{"nothing", result(10, 8), false, ""},
		{"prompts seen before", result(11, 8), false, "prefix cache"},
		{"the length asked for", result(0, 8), true, ""},
		{"another length", result(0, 7), true, "--ignore-eos"},
		{"shorter than the cap", result(0, 7), false, ""},
		{"beyond the cap", result(0, 9), false, "--output-tokens"},
	} {
		a := &answers{}
		a.add(c.result, 8, c.forced)
		if got := strings.Join(a.warnings(script{distinct: true}), ""); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
