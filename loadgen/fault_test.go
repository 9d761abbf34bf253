package loadgen

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/sim"
	"github.com/umascope/umascope/loadgen/summary"
)

// The faults of this file are those of a server under load, each through the whole program: what the
// records call it, what the figures are made of, and what the run says of itself.

// byStatus counts records.
func byStatus(all []openai.Record) map[openai.Status]int {
	counts := map[openai.Status]int{}
	for _, r := range all {
		counts[r.Status]++
	}
	return counts
}

func TestEveryFaultOfAnEngineIsCountedAsWhatItIs(t *testing.T) {
	t.Parallel()
	const requests, faulty = 40, 4
	for _, c := range []struct {
		fault  sim.Fault
		status openai.Status
		says   string
	}{
		{sim.Fault{Kind: sim.FaultRefuse}, openai.StatusHTTP, "HTTP 500: an error that was asked for"},
		{sim.Fault{Kind: sim.FaultErrorEvent, AfterTokens: 3}, openai.StatusInBand, "an error that was asked for"},
		{sim.Fault{Kind: sim.FaultTruncate, AfterTokens: 3}, openai.StatusTruncated, "neither"},
		{sim.Fault{Kind: sim.FaultCut, AfterTokens: 3}, openai.StatusTruncated, "connection lost"},
		{sim.Fault{Kind: sim.FaultStall, AfterTokens: 3}, openai.StatusTimeout, "no further token within"},
	} {
		t.Run(string(c.fault.Kind), func(t *testing.T) {
			// After the questions that are asked before a run, and before those after it.
			c.fault.Numbers = []uint64{30, 31, 32, 33}
			_, url := simulated(t, func(config *sim.Config) { config.Faults.Requests = []sim.Fault{c.fault} })
			code, folder, stdout, stderr := invoke(t, t.Context(), "--url", url, fmt.Sprint("--requests=", requests), "--warmup=0",
				"--output-tokens=8", "--engine=vllm", "--ignore-eos", "--chunk-timeout=300ms")
			sent := records(t, folder)
			counts := byStatus(sent)
			sum := summaryOf(t, folder)
			if code != exitInvalid || counts[openai.StatusOK] != requests-faulty || counts[c.status] != faulty {
				t.Fatalf("exit %d, requests by status %v: %s", code, counts, stderr)
			}
			if !slices.ContainsFunc(sum.InvalidReasons, func(r summary.Reason) bool { return r.Code == summary.CodeErrorRate }) {
				t.Errorf("invalid for %v", sum.InvalidReasons)
			}
			if sum.Latency.E2E.Send.N != requests-faulty || !strings.Contains(stdout, string(c.status)) {
				t.Errorf("%d latencies; printed %s", sum.Latency.E2E.Send.N, stdout)
			}
			for _, r := range sent {
				if r.Status == c.status && (!strings.Contains(r.Error, c.says) || c.fault.AfterTokens > 0 && r.FirstTokenNS == nil) {
					t.Errorf("%q, first token %v", r.Error, r.FirstTokenNS)
				}
			}
		})
	}
}

// dying is the address of a server that ends with so many requests, those before a run included.
func dying(t *testing.T, requests int64) string {
	t.Helper()
	engine, _ := simulated(t, func(c *sim.Config) { c.DecodeBase = time.Millisecond })
	var asked atomic.Int64
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == requests {
			server.Listener.Close()
			go server.CloseClientConnections()
		}
		engine.Handler().ServeHTTP(w, r)
	})
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

func TestAServerThatDiesUnderLoadLeavesACompleteFolder(t *testing.T) {
	code, folderPath, _, stderr := invoke(t, t.Context(), "--url", dying(t, 40), "--requests=60", "--concurrency=4", "--warmup=0", "--output-tokens=20")
	if code != exitInvalid || !strings.Contains(stderr, "error_rate") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	counts := byStatus(records(t, folderPath))
	if counts[openai.StatusOK] == 0 || counts[openai.StatusTruncated]+counts[openai.StatusConnect] < 20 || counts[openai.StatusConnect] == 0 {
		t.Errorf("requests by status %v", counts)
	}
	sum := summaryOf(t, folderPath)
	if !slices.ContainsFunc(sum.Warnings, func(w string) bool { return strings.Contains(w, "whether the model changed is not known") }) {
		t.Errorf("warnings %q", sum.Warnings)
	}
}

// bad are ways in which a page does not come, and what is said of each.
func bad(t *testing.T) map[string]http.HandlerFunc {
	t.Helper()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a redirect was followed")
	}))
	t.Cleanup(elsewhere.Close)
	return map[string]http.HandlerFunc{
		"hangs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"drips": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte("#"))
				_ = http.NewResponseController(w).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		},
		"redirects": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) },
		"sends a gigabyte": func(w http.ResponseWriter, _ *http.Request) {
			comment := []byte("# " + strings.Repeat("x", 1<<16) + "\n")
			for range 1 << 14 {
				if _, err := w.Write(comment); err != nil {
					return
				}
			}
		},
		"sends a million series": func(w http.ResponseWriter, _ *http.Request) {
			for i := range 1_000_000 {
				if _, err := fmt.Fprintf(w, "vllm:prompt_tokens_total{model=\"%d\"} 1\n", i); err != nil {
					return
				}
			}
		},
		"sends garbage":  func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("\x00\xff{{{\n")) },
		"is not allowed": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
	}
}

// answersOnce is a good page until the run has begun, and the bad one from then on.
func answersOnce(t *testing.T, then http.HandlerFunc) string {
	t.Helper()
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first := false
		once.Do(func() { first = true })
		if first {
			fmt.Fprint(w, "uma_exporter_mode{mode=\"constructed\"} 1\n")
			return
		}
		then(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server.URL
}

func TestAPageThatGoesBadCostsTheRunItsTelemetryAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, then := range bad(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, path, _, stderr := invoke(t, t.Context(), "--url", engine(t, 100*time.Microsecond), "--telemetry=spark="+answersOnce(t, then),
				"--telemetry-interval=100ms", "--requests=8", "--warmup=0", "--output-tokens=4")
			if code != exitInvalid || !strings.Contains(stderr, "telemetry_lost") {
				t.Errorf("exit %d: %s", code, stderr)
			}
			if counts := byStatus(records(t, path)); counts[openai.StatusOK] != 8 {
				t.Errorf("requests by status %v", counts)
			}
		})
	}
}

func TestAnEnginesPageThatIsBadIsAWarning(t *testing.T) {
	t.Parallel()
	for name, handler := range bad(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := httptest.NewServer(handler)
			defer page.Close()
			defer page.CloseClientConnections()
			code, path, _, stderr := invoke(t, t.Context(), "--url", engine(t, 100*time.Microsecond), "--scrape=engine="+page.URL,
				"--telemetry-interval=100ms", "--requests=8", "--warmup=0", "--output-tokens=4")
			sum := summaryOf(t, path)
			if code != exitDone || sum.Requests[openai.StatusOK] != 8 {
				t.Errorf("exit %d, %v: %s", code, sum.Requests, stderr)
			}
			if !slices.ContainsFunc(sum.Warnings, func(w string) bool { return strings.Contains(w, "engine") }) {
				t.Errorf("warnings %q", sum.Warnings)
			}
		})
	}
}

func TestARunEndsSoonAfterItsServerHasEnded(t *testing.T) {
	t.Parallel()
	code, path, _, stderr := invoke(t, t.Context(), "--url", dying(t, 30), "--arrival=constant", "--rate=20", "--requests=2000", "--warmup=0", "--output-tokens=8")
	if code != exitInvalid || !strings.Contains(stderr, "model_dropped") || !strings.Contains(stderr, "connection refused") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	manifest := manifestOf(t, path)
	if manifest.State != rundir.StateStopped {
		t.Errorf("state %s", manifest.State)
	}
	if sent := len(records(t, path)); sent == 0 || sent > 1000 {
		t.Errorf("%d of 2000 requests", sent)
	}
}
