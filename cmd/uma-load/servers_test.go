package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/cmd/internal/memnet"
	"github.com/umascope/umascope/loadgen"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/sim"
	"github.com/umascope/umascope/loadgen/summary"
)

// Addresses of the engines of these tests, in a network of their own.
const firstServer, secondServer = "http://127.0.0.1:18001", "http://127.0.0.1:18002"

// bubble is a network with engines on a virtual clock.
type bubble struct {
	memnet.Network
	t *testing.T
}

// serve runs a simulated engine at a URL until the test ends, or until it is stopped. The handler may answer in its
// place.
func (b *bubble) serve(url string, change func(*sim.Config), instead func(http.Handler) http.Handler) (stop func()) {
	b.t.Helper()
	config := sim.Immediate(10 * time.Millisecond)
	config.JitterRatio = 0
	if change != nil {
		change(&config)
	}
	engine, err := sim.New(config)
	if err != nil {
		b.t.Fatal(err)
	}
	listener, err := b.Listen("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		b.t.Fatal(err)
	}
	handler := engine.Handler()
	if instead != nil {
		handler = instead(handler)
	}
	server := &http.Server{Handler: handler}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = engine.Run(b.t.Context()) }()
	go func() { _ = server.Serve(listener) }()
	b.t.Cleanup(func() { _ = server.Close(); <-ended })
	synctest.Wait()
	return func() { _ = server.Close() }
}

// run makes one run with a load on both servers.
func (b *bubble) run(args ...string) (code int, run summary.Run, stdout, stderr string) {
	b.t.Helper()
	out := b.t.TempDir()
	var printed, complained bytes.Buffer
	args = slices.Concat([]string{"run", "--url", firstServer, "--url", secondServer, "--out", out, "--run-id", "r1", "--progress=none",
		"--validity=client_lag=off", "--validity=client_stall=off", "--validity=stream_buffered=off"}, args)
	program := loadgen.Program{Stdout: &printed, Stderr: &complained, Network: runner.Network{Dial: b.Dial, Listen: b.Listen}}
	code = program.Run(b.t.Context(), args)
	run, err := summary.Open(filepath.Join(out, "r1"))
	if err != nil && (code == 0 || code == 3) {
		b.t.Fatalf("%v: %s", err, complained.String())
	}
	return code, run, printed.String(), complained.String()
}

// TestTwoServersOfDifferentSpeedHaveFiguresOfTheirOwn: a token takes 10 ms on one and 40 ms on the other, on a virtual
// clock.
func TestTwoServersOfDifferentSpeedHaveFiguresOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{t: t}
		b.serve(firstServer, nil, nil)
		b.serve(secondServer, func(c *sim.Config) { c.DecodeBase = 40 * time.Millisecond }, nil)
		code, run, stdout, stderr := b.run("--requests=20", "--warmup=4", "--concurrency=1", "--output-tokens=8", "--ignore-eos")
		if code != 0 {
			t.Fatalf("exit %d: %s%s", code, stdout, stderr)
		}
		urls := []string{firstServer, secondServer}
		if got := run.Manifest.ServerURLs(); !slices.Equal(got, urls) || run.Manifest.Replicas[0].Engine == "" || run.Manifest.Replicas[0].FingerprintEnd == nil {
			t.Errorf("the manifest names %v: %+v", got, run.Manifest.Replicas)
		}
		for record, err := range summary.Records(run.Path(rundir.RequestsFile)) {
			if err != nil {
				t.Fatal(err)
			}
			if record.Server != urls[record.Index%2] {
				t.Errorf("%s %d went to %q", record.Phase, record.Index, record.Server)
			}
		}
		tokens := 0.0
		for i, s := range run.Summary.Servers {
			want := []time.Duration{10 * time.Millisecond, 40 * time.Millisecond}[i].Seconds()
			if s.URL != urls[i] || s.Requests[openai.StatusOK] != 10 || !near(s.Latency.TPOT.Send.P50, want) || !near(s.Latency.TTFT.Send.P50, want) {
				t.Errorf("%s: %v, TPOT %v, TTFT %v; want %v", s.URL, s.Requests, *s.Latency.TPOT.Send.P50, *s.Latency.TTFT.Send.P50, want)
			}
			tokens += *s.Throughput.OutputTokensPerSecond
		}
		if whole := run.Summary.Throughput.OutputTokensPerSecond; len(run.Summary.Servers) != 2 || !near(whole, tokens) {
			t.Errorf("%d servers with %v tokens per second together, the run has %v", len(run.Summary.Servers), tokens, *whole)
		}
		for _, want := range []string{"by server", firstServer, secondServer, "50 %"} {
			if !strings.Contains(stdout, want) {
				t.Errorf("%q is not printed:\n%s", want, stdout)
			}
		}
	})
}

// dying serves an engine that is gone after so many answers.
func (b *bubble) dying(url string, after int32) {
	var served atomic.Int32
	var stop func()
	stop = b.serve(url, nil, func(engine http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			engine.ServeHTTP(w, r)
			if strings.HasSuffix(r.URL.Path, "/completions") && served.Add(1) == after {
				go stop()
			}
		})
	})
}

// TestAServerThatDiesIsNamedInTheVerdict: the other one answers to the end.
func TestAServerThatDiesIsNamedInTheVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{t: t}
		b.serve(firstServer, nil, nil)
		b.dying(secondServer, 30)
		code, run, stdout, stderr := b.run("--requests=80", "--warmup=0", "--concurrency=1", "--output-tokens=4", "--ignore-eos")
		if code != 3 || run.Manifest.State != rundir.StateComplete || len(run.Summary.InvalidReasons) != 1 || run.Summary.InvalidReasons[0].Code != summary.CodeErrorRate {
			t.Fatalf("exit %d, %s, %+v: %s%s", code, run.Manifest.State, run.Summary.InvalidReasons, stdout, stderr)
		}
		first, second := run.Summary.Servers[0].Requests, run.Summary.Servers[1].Requests
		if first[openai.StatusOK] != 40 || second[openai.StatusOK] == 0 || second[openai.StatusConnect] == 0 || second[openai.StatusOK]+second[openai.StatusConnect] != 40 {
			t.Errorf("first %v, second %v", first, second)
		}
		want := fmt.Sprintf("by server: %s 0 of 40, %s %d of 40", firstServer, secondServer, second[openai.StatusConnect])
		if detail := run.Summary.InvalidReasons[0].Detail; !strings.Contains(detail, want) {
			t.Errorf("%q does not have %q", detail, want)
		}
	})
}

// TestALoadEndsWhenOneOfItsServersStaysAway, as a load on that server alone does.
func TestALoadEndsWhenOneOfItsServersStaysAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{t: t}
		b.serve(firstServer, nil, nil)
		b.dying(secondServer, 30)
		code, run, _, stderr := b.run("--requests=2000", "--warmup=0", "--concurrency=1", "--output-tokens=4", "--ignore-eos")
		dropped := slices.IndexFunc(run.Summary.InvalidReasons, func(r summary.Reason) bool { return r.Code == summary.CodeModelDropped })
		if code != 3 || run.Manifest.State != rundir.StateStopped || dropped < 0 {
			t.Fatalf("exit %d, %s, %+v: %s", code, run.Manifest.State, run.Summary.InvalidReasons, stderr)
		}
		if detail := run.Summary.InvalidReasons[dropped].Detail; !strings.HasPrefix(detail, secondServer+": nothing has answered") {
			t.Errorf("%q", detail)
		}
	})
}

// TestAServerThatCannotShareTheLoadIsNamedInOneLine, before a request of the load is sent.
func TestAServerThatCannotShareTheLoadIsNamedInOneLine(t *testing.T) {
	counting := func(engine http.Handler) http.Handler { // another tokenizer
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			whole := httptest.NewRecorder()
			engine.ServeHTTP(whole, r)
			w.Header().Set("Content-Type", whole.Header().Get("Content-Type"))
			w.WriteHeader(whole.Code)
			_, _ = w.Write(bytes.ReplaceAll(whole.Body.Bytes(), []byte(`"prompt_tokens":`), []byte(`"prompt_tokens":1`)))
		})
	}
	for name, c := range map[string]struct {
		serve func(b *bubble)
		want  string
	}{
		"it does not answer":   {func(*bubble) {}, "--url: " + secondServer + ": "},
		"it has another model": {func(b *bubble) { b.serve(secondServer, func(c *sim.Config) { c.Model = "other" }, nil) }, "--url: " + secondServer + ": --model: \"simulated-"},
		"it has another engine": {func(b *bubble) { b.serve(secondServer, func(c *sim.Config) { c.Vendor = sim.TensorRTLLM }, nil) },
			"--url: " + secondServer + ": it looks like trtllm and " + firstServer + " like vllm"},
		"it has another model of one name": {func(b *bubble) { b.serve(secondServer, nil, counting) }, "--url: " + secondServer + ": \"simulated-"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &bubble{t: t}
				b.serve(firstServer, nil, nil)
				c.serve(b)
				code, _, _, stderr := b.run("--requests=4")
				last := stderr[strings.LastIndex(strings.TrimSpace(stderr), "\n")+1:]
				if code != 2 || !strings.HasPrefix(last, "uma-load: "+c.want) {
					t.Errorf("exit %d: %s", code, stderr)
				}
			})
		})
	}
}

// TestAConversationFindsItsTurnsInTheCacheOfOneServer. The answers are the only evidence: counters are of one engine.
func TestAConversationFindsItsTurnsInTheCacheOfOneServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{t: t}
		b.serve(firstServer, nil, nil)
		b.serve(secondServer, nil, nil)
		code, run, stdout, stderr := b.run("--scenario=multi_turn", "--clients=1", "--active-conversations=1", "--max-turns=4", "--requests=32", "--warmup=0", "--input-tokens=200:300", "--output-tokens=8", "--ignore-eos")
		if code != 0 {
			t.Fatalf("exit %d: %s%s", code, stdout, stderr)
		}
		server, used := map[string]string{}, map[string]int{}
		for record, err := range summary.Records(run.Path(rundir.RequestsFile)) {
			if err != nil {
				t.Fatal(err)
			}
			if on := server[record.Conversation]; on != "" && on != record.Server {
				t.Errorf("conversation %s is on %s and %s", record.Conversation, on, record.Server)
			}
			server[record.Conversation] = record.Server
			used[record.Server]++
			if record.Turn > 1 && (record.TokensCached == nil || *record.TokensCached < 100) {
				t.Errorf("turn %d of conversation %s found %v tokens", record.Turn, record.Conversation, record.TokensCached)
			}
		}
		if used[firstServer] != 16 || used[secondServer] != 16 {
			t.Errorf("requests by server: %v", used)
		}
		signals := run.Summary.Signals
		if signals.Reuse.Grade != evidence.Consistent && signals.Reuse.Grade != evidence.Proven {
			t.Errorf("reuse %+v", signals.Reuse)
		}
		for name, s := range map[string]evidence.Signal{"offload": signals.SSDOffload, "rehydrate": signals.SSDRehydrate, "output match": signals.OutputMatch} {
			if s.Grade != evidence.NotObservable || s.Reason != evidence.SeveralServers {
				t.Errorf("%s: %+v", name, s)
			}
		}
	})
}

func near(got *float64, want float64) bool {
	return got != nil && *got > want-1e-6 && *got < want+1e-6
}
