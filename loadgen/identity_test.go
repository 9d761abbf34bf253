package loadgen

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/sim"
)

func TestAnotherModelUnderTheSameNameMakesTheRunInvalid(t *testing.T) {
	var prompts atomic.Int64
	url := inFront(t, engine(t, 0), func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		// One of the fixed texts is code; it comes once before the run and once after it.
		if bytes.Contains(body, []byte("for (int i")) && prompts.Add(1) > 1 {
			_, _ = w.Write([]byte(`{"model":"simulated-8b","choices":[{"message":{"content":"x"},"finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`))
			return
		}
		pass.ServeHTTP(w, r)
	})
	code, dir, _, stderr := invoke(t, t.Context(), "--url", url, "--requests=3", "--warmup=0", "--output-tokens=4")
	if code != exitInvalid || !strings.Contains(stderr, "model_changed") {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	m := manifestOf(t, dir).Server
	if m.FingerprintStart == nil || m.FingerprintEnd == nil || slices.Equal(m.FingerprintStart.ProbeTokens, m.FingerprintEnd.ProbeTokens) {
		t.Errorf("manifest: %+v, %+v", m.FingerprintStart, m.FingerprintEnd)
	}
}

func TestDriftOfTheGreedyAnswerIsOnlyAWarning(t *testing.T) {
	_, url := simulated(t, func(c *sim.Config) { c.Faults.Drift = sim.Drift{Ratio: 1, Alone: true} })
	code, dir, _, stderr := invoke(t, t.Context(), "--url", url, "--requests=3", "--warmup=0", "--output-tokens=8")
	s := summaryOf(t, dir)
	if code != exitDone || !strings.Contains(strings.Join(s.Warnings, "\n"), "not bitwise deterministic") || !slices.Contains(s.Checked, "fingerprint") {
		t.Errorf("exit %d: %s%v", code, stderr, s.Warnings)
	}
}

func TestAServerThatCountsNothingHasNoFingerprintAndTheRunGoesOn(t *testing.T) {
	url := listing(t, "m", func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil && bytes.Contains(body, []byte(`"stream":true`)) {
			streamed(w, `{"model":"m","choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}`)
			return
		}
		_, _ = w.Write([]byte(`{"model":"m","choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`))
	})
	dir, _, _ := completed(t, "--url", url, "--requests=3", "--warmup=0", "--output-tokens=4")
	s := summaryOf(t, dir)
	if s.Model.Fingerprint != "" || slices.Contains(s.Checked, "fingerprint") || !strings.Contains(strings.Join(s.Warnings, "\n"), "fingerprint is not complete: token counts") {
		t.Errorf("fingerprint %q, checked %v, warnings %v", s.Model.Fingerprint, s.Checked, s.Warnings)
	}
}

func TestAPromptAboveTheLimitStopsTheRunAtOnce(t *testing.T) {
	for _, vendor := range []sim.Vendor{sim.Dynamo, sim.VLLM, sim.TensorRTLLM} {
		_, url := simulated(t, func(c *sim.Config) {
			c.Vendor, c.MaxPromptTokens, c.DropOnLongPrompt = vendor, 600, vendor == sim.Dynamo
		})
		code, dir, _, stderr := invoke(t, t.Context(), "--url", url, "--requests=500", "--warmup=0", "--input-tokens=500:2000", "--output-tokens=4")
		if code != exitInvalid || !strings.Contains(stderr, "prompt_limit") {
			t.Fatalf("%s: exit %d: %s", vendor, code, stderr)
		}
		if n := len(records(t, dir)); n == 0 || n > 100 {
			t.Errorf("%s: %d requests were sent all the same", vendor, n)
		}
		if state := manifestOf(t, dir).State; state != rundir.StateStopped {
			t.Errorf("%s: state %s", vendor, state)
		}
	}
}

func TestAModelThatIsGoneStopsTheRunAtOnce(t *testing.T) {
	t.Parallel()
	engine, url := simulated(t, func(c *sim.Config) { c.Vendor, c.DecodeBase = sim.Dynamo, time.Millisecond })
	out, stderr := t.TempDir(), &lockedBuffer{}
	code := make(chan int)
	go func() {
		args := []string{"run", "--url", url, "--out", out, "--run-id=r1", "--web.listen-address=127.0.0.1:0", "--duration=1h", "--warmup=0", "--output-tokens=4"}
		code <- Program{Stdout: &lockedBuffer{}, Stderr: stderr}.Run(t.Context(), append(args, uncontended...))
	}()
	await(t, func() bool {
		info, err := os.Stat(filepath.Join(out, "r1", rundir.RequestsFile))
		return err == nil && info.Size() > 0
	})
	if err := engine.SetFaults(sim.Faults{ModelGone: true}); err != nil {
		t.Fatal(err)
	}
	if got := <-code; got != exitInvalid || !strings.Contains(stderr.String(), "model_dropped") {
		t.Errorf("exit %d: %s", got, stderr.String())
	}
}
