package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/engine/supported"
)

func TestTheModelIsTheOneAskedForOrTheOnlyOne(t *testing.T) {
	one, two := []Model{{ID: "a"}}, []Model{{ID: "a"}, {ID: "b"}}
	for _, c := range []struct {
		models []Model
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

func TestAnswersMayNameTheRevisionOfTheModel(t *testing.T) {
	for name, own := range map[string]bool{
		"org/m": true, "org/m@main": true, "org/m2": false, "org/m2@main": false, "other@org/m": false, "": false, "m": false,
	} {
		if got := (Model{ID: "org/m"}).Named(name); got != own {
			t.Errorf("%q is the name of org/m: %v", name, got)
		}
	}
}

func TestLongModelListsAreCutShort(t *testing.T) {
	var many []Model
	for i := range 1000 {
		many = append(many, Model{ID: fmt.Sprintf("m%d", i)})
	}
	if got := namesOf(many); len(got) > 200 || !strings.HasSuffix(got, "and 980 more") {
		t.Errorf("%s", got)
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
			api := &api{root: "http://test", client: &http.Client{Transport: transport(&asked)}}
			start := time.Now()
			models, err := api.ready(t.Context(), Target{Known: supported.Engines(), WaitReady: c.wait, ReadyConsecutive: 2}, slog.New(slog.DiscardHandler))
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
	api, err := newAPI(Target{Known: supported.Engines(), URL: router.URL, Headers: []Header{{"Host", "spark1.example"}}}, "")
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
		api, err := newAPI(Target{Known: supported.Engines(), URL: s.URL}, "key")
		if err != nil {
			t.Fatal(err)
		}
		if models, err := api.models(t.Context()); err == nil {
			t.Errorf("%s: %v", name, models)
		}
		api.close()
		s.CloseClientConnections()
		s.Close()
	}
}

func TestWaitingForAServerEndsWithAnInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Inquire(ctx, Target{Known: supported.Engines(), URL: "http://127.0.0.1:1", WaitReady: time.Hour, ReadyConsecutive: 1, Engine: EngineAuto}, slog.New(slog.DiscardHandler))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestWhatAServerSaysOfItselfRepeatsNoSecret(t *testing.T) {
	const key = "sk-0123456789"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		output := r.Header.Get("Authorization") + " " + r.Header.Get("X-Route")
		_, _ = io.WriteString(w, `{"version":"`+output+`","data":[{"id":"`+r.Header.Get("X-Route")+`","owned_by":"`+output+`","root":"`+output+`"}]}`)
	}))
	defer s.Close()
	api, err := newAPI(Target{Known: supported.Engines(), URL: s.URL, Headers: []Header{{"X-Route", "big-model-of-8b"}}}, key)
	if err != nil {
		t.Fatal(err)
	}
	defer api.close()
	models, err := api.models(t.Context())
	if err != nil || len(models) != 1 {
		t.Fatalf("%v, %v", models, err)
	}
	for _, text := range []string{models[0].OwnedBy, models[0].Root, api.version(t.Context(), "vllm")} {
		if strings.Contains(text, key) || !strings.Contains(text, "[redacted]") {
			t.Errorf("%q", text)
		}
	}
	if models[0].ID != "big-model-of-8b" {
		t.Errorf("the model by whose name a route is chosen became %q", models[0].ID)
	}
}

func TestAServerThatHangsOrDripsIsGivenUp(t *testing.T) {
	for name, answer := range map[string]func(net.Conn) error{
		"hangs": func(c net.Conn) error { _, err := c.Read(make([]byte, 1)); return err },
		"drips": func(c net.Conn) error {
			_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
			for err == nil {
				time.Sleep(time.Second)
				_, err = io.WriteString(c, " ")
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api, err := newAPI(Target{Known: supported.Engines(), URL: "http://engine.test"}, "")
				if err != nil {
					t.Fatal(err)
				}
				here, there := net.Pipe()
				api.client.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) { return here, nil }
				served := make(chan error, 1)
				go func() {
					if _, err := http.ReadRequest(bufio.NewReader(there)); err != nil {
						served <- err
						return
					}
					served <- answer(there)
				}()
				asked := time.Now()
				models, err := api.models(t.Context())
				if took := time.Since(asked); err == nil || took != probeTimeout {
					t.Errorf("%v, %v after %v", models, err, took)
				}
				if <-served == nil {
					t.Error("the connection is still open")
				}
			})
		})
	}
}
