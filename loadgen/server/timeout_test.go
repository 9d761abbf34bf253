package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/traffic"
)

// pipes is a listener whose connections are in memory, so that the clock of synctest moves on while both ends wait.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, open := <-p; open {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func (p pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// hanging is a server that lists a model and answers requests to it, but for the paths for which it does not answer.
func hanging(silent func(path string) bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var asked struct {
			Stream   bool
			Messages []openai.Message
		}
		_ = json.Unmarshal(body, &asked)
		words := 0
		for _, m := range asked.Messages {
			words += len(strings.Fields(m.Content))
		}
		choice := fmt.Sprintf(`{"model":"m","choices":[{"delta":{"content":"x"},"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":1}}`, words)
		switch {
		case silent(r.URL.Path):
			<-r.Context().Done()
		case r.URL.Path == "/v1/models":
			_, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`)
		case strings.HasSuffix(r.URL.Path, "/completions") && asked.Stream:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: "+choice+"\n\ndata: [DONE]\n\n")
		case strings.HasSuffix(r.URL.Path, "/completions"):
			_, _ = io.WriteString(w, choice)
		default:
			http.NotFound(w, r)
		}
	}
}

// takes runs a step against a server on the virtual clock and returns how long it took, and its error.
func takes(t *testing.T, of Target, handler http.Handler, step func(context.Context, Target) error) (took time.Duration, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		listener := make(pipes)
		server := &http.Server{Handler: handler}
		go func() { _ = server.Serve(listener) }()
		of.URL, of.Endpoint, of.Engine, of.Dial = "http://engine.test", openai.Chat, EngineAuto, listener.dial
		began := time.Now()
		err = step(t.Context(), of)
		took = time.Since(began)
		close(listener)
		_ = server.Close()
	})
	return took, err
}

// steps are what a run and check do before a load, and a run after it.
func steps() map[string]func(context.Context, Target) error {
	served := Served{Model: Model{ID: "m"}, Engine: "vllm"}
	return map[string]func(context.Context, Target) error{
		"model list": func(ctx context.Context, of Target) error {
			_, err := Inquire(ctx, of, slog.New(slog.DiscardHandler))
			return err
		},
		"fields and fingerprint": func(ctx context.Context, of Target) error {
			s := served
			i, err := Recognize(ctx, of, &s, Wanted{Stream: true}, slog.New(slog.DiscardHandler))
			if err == nil {
				i.Close()
			}
			return err
		},
		"latency by a token": func(ctx context.Context, of Target) error {
			_, err := Calibration{Target: of, Served: served}.TokenLatency(ctx)
			return err
		},
		"latency by the list": func(ctx context.Context, of Target) error {
			_, err := Calibration{Target: of, Served: served}.ListLatency(ctx)
			return err
		},
		"framing": func(ctx context.Context, of Target) error {
			client, err := openai.New(openai.Options{BaseURL: of.URL, Dial: of.Dial, RequestTimeout: of.RequestTimeout, FirstTokenTimeout: of.FirstTokenTimeout})
			if err != nil {
				return err
			}
			defer client.Close()
			_, _, err = Calibration{Target: of, Served: served, Client: client}.Framing(ctx, func(string) (int, error) { return 1, nil })
			return err
		},
		"check": func(ctx context.Context, of Target) error {
			_, err := Check(ctx, of)
			return err
		},
	}
}

func TestNoRequestBeforeALoadTakesLongerThanOneOfTheLoadMay(t *testing.T) {
	const limit = 4 * time.Second
	all := func(string) bool { return true }
	for name, step := range steps() {
		for _, c := range []struct {
			what   string
			silent func(string) bool
		}{
			{"answers nothing", all},
			{"lists its model only", func(path string) bool { return strings.HasSuffix(path, "/completions") }},
		} {
			took, err := takes(t, Target{Known: supported.Engines(), RequestTimeout: limit}, hanging(c.silent), step)
			// What is asked of an engine of unknown kind is one more request.
			if took > 2*limit {
				t.Errorf("%s of a server that %s: %s, %v", name, c.what, took, err)
			}
			if c.what == "answers nothing" && err == nil {
				t.Errorf("%s of a server that %s: no error", name, c.what)
			}
		}
	}
}

func TestAnEngineThatMissesTheDeadlineOfTheLoadIsNamedDead(t *testing.T) {
	dead := func(path string) bool { return strings.HasSuffix(path, "/completions") }
	for want, of := range map[string]Target{
		"--request-timeout: a request for 4 tokens of \"m\" was not answered: ":                               {RequestTimeout: 4 * time.Second, FirstTokenTimeout: 4 * time.Second},
		"--first-token-timeout: a request for 4 tokens of \"m\" was not answered: no first token within 2s; ": {RequestTimeout: time.Minute, FirstTokenTimeout: 2 * time.Second},
	} {
		took, err := takes(t, of, hanging(dead), steps()["fields and fingerprint"])
		if err == nil || !strings.HasPrefix(err.Error(), want) || took > 4*time.Second {
			t.Errorf("after %s: %v, want %s", took, err, want)
		}
	}
}

func TestAProbeThatIsShorterThanTheRequestsOfTheLoadShowsNoDeadEngine(t *testing.T) {
	dead := func(path string) bool { return strings.HasSuffix(path, "/completions") }
	took, err := takes(t, Target{Known: supported.Engines(), RequestTimeout: 10 * time.Minute, FirstTokenTimeout: 10 * time.Minute}, hanging(dead), steps()["fields and fingerprint"])
	if err != nil || took < slowestCheck {
		t.Errorf("after %s: %v", took, err)
	}
}

func TestPagesThatHangCostLittleOfTheDeadline(t *testing.T) {
	pages := func(path string) bool { return !strings.HasPrefix(path, "/v1/") }
	took, err := takes(t, Target{Known: supported.Engines(), RequestTimeout: 4 * time.Second}, hanging(pages), steps()["model list"])
	if err != nil || took > 12*time.Second {
		t.Errorf("after %s: %v", took, err)
	}
	client := func(ctx context.Context, of Target) error {
		c, err := openai.New(openai.Options{BaseURL: of.URL, Dial: of.Dial, RequestTimeout: of.RequestTimeout})
		if err != nil {
			return err
		}
		defer c.Close()
		scale, err := Calibration{Target: of, Served: Served{Model: Model{ID: "m"}, Engine: "vllm"}, Client: c, Stream: true}.Scale(ctx)
		if err == nil && scale.Basis != traffic.ByUsage {
			t.Errorf("%+v", scale)
		}
		return err
	}
	if took, err := takes(t, Target{Known: supported.Engines(), RequestTimeout: 4 * time.Second}, hanging(pages), client); err != nil || took > 12*time.Second {
		t.Errorf("the scale after %s: %v", took, err)
	}
}
