package loadgen

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/workload"
)

func TestARunLeavesACompleteFolder(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
	}{
		{"closed chat", []string{"--concurrency=3"}},
		{"closed completions", []string{"--concurrency=3", "--endpoint=completions"}},
		{"poisson chat", []string{"--arrival=poisson", "--rate=100"}},
		{"constant completions", []string{"--arrival=constant", "--rate=100", "--endpoint=completions"}},
		{"whole answers", []string{"--no-stream"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			url := engine(t, 200*time.Microsecond)
			args := slices.Concat([]string{"--url", url, "--requests=12", "--warmup=3", "--output-tokens=8", "--engine=vllm", "--ignore-eos"}, c.args)
			folder, stdout, _ := completed(t, args...)
			expectFolder(t, folder)
			if !strings.Contains(stdout, folder) || !strings.Contains(stdout, "E2E") {
				t.Errorf("printed %s", stdout)
			}
		})
	}
}

// expectFolder checks that the files of a run of 12 requests after 3 agree with each other.
func expectFolder(t *testing.T, dir string) {
	t.Helper()
	manifest := manifestOf(t, dir)
	if manifest.State != rundir.StateComplete || manifest.EndedAt == nil || manifest.Labels["arm"] != "default" || manifest.Labels["host"] == "" {
		t.Errorf("manifest %+v", manifest)
	}
	sum := summaryOf(t, dir)
	if sum.Requests[openai.StatusOK] != 12 || !sum.Valid || sum.WorkloadSHA256 != manifest.Workload.SHA256 || sum.Run != "r1" {
		t.Errorf("summary %+v", sum)
	}
	planned := map[string]rundir.ScheduleLine{}
	lines := text(t, filepath.Join(dir, rundir.ScheduleFile))
	for line := range strings.Lines(lines) {
		var e rundir.ScheduleLine
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		planned[e.PromptSHA256] = e
	}
	sent := records(t, dir)
	if len(sent) != 15 || len(planned) != 15 {
		t.Errorf("%d requests sent, %d planned", len(sent), len(planned))
	}
	for _, r := range sent {
		e := planned[r.PromptSHA256]
		if e.Phase != r.Phase || e.Index != r.Index || e.ParamsSHA256 != r.ParamsSHA256 || r.Run != "r1" {
			t.Errorf("planned %+v, sent %+v", e, r)
		}
		if r.Status != openai.StatusOK || *r.TokensOut != 8 || r.IntendedNS > *r.EligibleNS || *r.EligibleNS > *r.DispatchNS {
			t.Errorf("record %+v", r)
		}
	}
	phases := read[struct{ Phases []workload.Span }](t, filepath.Join(dir, rundir.PhasesFile)).Phases
	var names []string
	for _, p := range phases {
		names = append(names, p.Name)
	}
	if !slices.Equal(names, []string{rundir.PhaseReady, rundir.PhaseWarmup, rundir.PhaseMeasure, rundir.PhaseStop}) {
		t.Errorf("phases %v", names)
	}
	expectFiles(t, dir, rundir.ReportFile, rundir.HTMLFile)
}

func TestTheSameSeedSendsTheSameWorkload(t *testing.T) {
	url := engine(t, 100*time.Microsecond)
	args := []string{"--url", url, "--requests=6", "--warmup=0", "--output-tokens=2:9", "--arrival=poisson", "--rate=200"}
	hash := func(more ...string) string {
		_, dir, _, stderr := invoke(t, t.Context(), slices.Concat(args, more)...)
		sum := summaryOf(t, dir).WorkloadSHA256
		if sum == "" {
			t.Fatal(stderr)
		}
		return sum
	}
	first := hash()
	if again := hash("--label", "arm=other"); again != first {
		t.Error("two arms of one workload have different hashes")
	}
	if other := hash("--seed=2"); other == first {
		t.Error("another seed has the same hash")
	}
}

func TestOutputsAreKeptOnlyWhenAskedFor(t *testing.T) {
	url := engine(t, 100*time.Microsecond)
	_, without, _, _ := invoke(t, t.Context(), "--url", url, "--requests=2", "--warmup=0", "--output-tokens=4")
	if _, err := os.Stat(filepath.Join(without, rundir.OutputsFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("outputs nobody asked for: %v", err)
	}
	_, with, _, _ := invoke(t, t.Context(), "--url", url, "--requests=2", "--warmup=0", "--output-tokens=4", "--save-outputs")
	content := text(t, filepath.Join(with, rundir.OutputsFile))
	hashes := map[string]bool{}
	for _, r := range records(t, with) {
		hashes[r.OutputSHA256] = true
	}
	for line := range strings.Lines(content) {
		var o rundir.OutputLine
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatal(err)
		}
		if !hashes[fmt.Sprintf("%x", sha256.Sum256([]byte(o.Output)))] {
			t.Errorf("output %q is of no request", o.Output)
		}
	}
}

func TestAMissedSLOIsExit4AndAnInvalidRunExit3(t *testing.T) {
	url := engine(t, time.Millisecond)
	args := []string{"--url", url, "--requests=4", "--warmup=0", "--output-tokens=4"}
	if code, _, _, stderr := invoke(t, t.Context(), append(args, "--slo=e2e=1ns")...); code != exitMissed || !strings.Contains(stderr, "--slo") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if code, _, _, _ := invoke(t, t.Context(), append(args, "--slo=e2e=1h")...); code != exitDone {
		t.Errorf("exit %d with an SLO that was kept", code)
	}
	code, dir, _, stderr := invoke(t, t.Context(), append(args, "--request-timeout=1ns", "--slo=e2e=1h")...)
	if code != exitInvalid || !strings.Contains(stderr, "error_rate") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if got := summaryOf(t, dir); got.Valid || got.Requests[openai.StatusTimeout] != 4 {
		t.Errorf("summary %+v", got.Requests)
	}
}

func TestAnInterruptedRunLeavesACompleteFolder(t *testing.T) {
	t.Parallel()
	for _, cut := range []bool{false, true} {
		url := engine(t, 20*time.Millisecond)
		ctx, interrupt := context.WithCancel(t.Context())
		program := Program{Stdout: &bytes.Buffer{}, Stderr: &lockedBuffer{}}
		if cut {
			closed := make(chan struct{})
			close(closed)
			program.Cut = closed // a second signal on the heels of the first
		}
		out := t.TempDir()
		dir := filepath.Join(out, "r1")
		code := make(chan int)
		go func() {
			args := []string{"run", "--url", url, "--out", out, "--run-id=r1", "--web.listen-address=127.0.0.1:0",
				"--duration=1h", "--warmup=0", "--output-tokens=10", "--engine=vllm", "--ignore-eos", "--concurrency=2"}
			code <- program.Run(ctx, append(args, uncontended...))
		}()
		if !cut {
			await(t, func() bool {
				info, err := os.Stat(filepath.Join(dir, rundir.RequestsFile))
				return err == nil && info.Size() > 0
			})
			interrupt()
		}
		if got := <-code; got != exitFailed {
			t.Errorf("cut %v: exit %d: %s", cut, got, program.Stderr)
		}
		if output := strings.Contains(program.Stderr.(*lockedBuffer).String(), "interrupt again"); output == cut {
			t.Errorf("cut %v: says what a second interrupt does: %v", cut, output)
		}
		interrupt()
		manifest := manifestOf(t, dir)
		sum := summaryOf(t, dir)
		output := func(r summary.Reason) bool { return strings.Contains(r.Detail, "interrupted") }
		if manifest.State != rundir.StateInterrupted || !slices.ContainsFunc(sum.InvalidReasons, output) {
			t.Errorf("cut %v: state %q, invalid for %v", cut, manifest.State, sum.InvalidReasons)
		}
		if sent := records(t, dir); !cut && sent[len(sent)-1].Status != openai.StatusOK {
			t.Errorf("the requests in flight were not drained: %s", sent[len(sent)-1].Status)
		}
	}
}

// longestProbe is more than the bodies of requests have that are not part of a load, and less than
// those that are.
const longestProbe = 800

func TestSecretsAreNeverWrittenDown(t *testing.T) {
	const secret = "sk-very-secret-0123456789"
	t.Setenv("OPENAI_API_KEY", secret)
	refusing := listing(t, "m", func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength < longestProbe {
			_, _ = w.Write([]byte(`{"model":"m","choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`))
			return
		}
		// A server that quotes what it was sent, as badly configured gateways do.
		http.Error(w, "bad key "+r.Header.Get("Authorization")+" "+r.Header.Get("X-Token"), http.StatusUnauthorized)
	})
	_, dir, stdout, stderr := invoke(t, t.Context(), "--url", refusing, "--requests=2", "--warmup=0", "--header", "X-Token:"+secret)
	everything(t, dir, func(path, text string) {
		if strings.Contains(text, secret) {
			t.Errorf("%s holds the secret", path)
		}
	})
	if strings.Contains(stdout+stderr, secret) {
		t.Errorf("printed: %s%s", stdout, stderr)
	}
	if got := manifestOf(t, dir).Flags["header"]; got != "X-Token:<redacted>" {
		t.Errorf("the manifest says of the header: %q", got)
	}
}

// misnamed is a server that lists one model and answers as another.
func misnamed(t *testing.T) string {
	t.Helper()
	return listing(t, "big", func(w http.ResponseWriter, _ *http.Request) {
		streamed(w, `{"model":"small","choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}`)
	})
}

func TestAModelThatAnswersUnderAnotherNameMakesTheRunInvalid(t *testing.T) {
	code, _, _, stderr := invoke(t, t.Context(), "--url", misnamed(t), "--requests=3", "--warmup=0")
	if code != exitInvalid || !strings.Contains(stderr, "model_mismatch") || !strings.Contains(stderr, `"small"`) {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestASimulatedEngineIsLabelledInLogManifestSummaryAndReport(t *testing.T) {
	dir, stdout, stderr := completed(t, "--url", engine(t, time.Millisecond), "--requests=2", "--warmup=0", "--output-tokens=4")
	if !manifestOf(t, dir).Server.Simulated {
		t.Error("the manifest does not say so")
	}
	if !summaryOf(t, dir).Model.Simulated {
		t.Error("the summary does not say so")
	}
	texts := map[string]string{"log": stderr, "table": stdout}
	for _, name := range []string{rundir.ReportFile, rundir.HTMLFile} {
		content := text(t, filepath.Join(dir, name))
		texts[name] = content
	}
	for name, text := range texts {
		if !strings.Contains(text, "simulated engine") && !strings.Contains(text, "engine is simulated") {
			t.Errorf("%s does not say so: %s", name, text)
		}
	}
}

func TestADeadlineOfTheCallerIsAnInterruption(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	code, _, _, stderr := invoke(t, ctx, "--url", engine(t, time.Millisecond), "--arrival=constant", "--rate=1", "--requests=1000", "--warmup=0")
	if code != exitFailed || !strings.Contains(stderr, "interrupted") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
