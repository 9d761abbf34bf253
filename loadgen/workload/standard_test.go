package workload

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/traffic"
)

// standardWork is the workload of a command line on a server that takes as many tokens.
func standardWork(t *testing.T, limit int, args ...string) (*Workload, error) {
	t.Helper()
	s, err := given(t, args...)
	if err != nil {
		return nil, err
	}
	return s.Write(Server{Model: "m", MaxTokens: limit, Vendor: server.VendorOf(supported.Engines(), "vllm")})
}

// sent returns the content of a phase's requests: all messages without their roles.
func sent(t *testing.T, w *Workload, p Phase) (all []string) {
	t.Helper()
	for j := range w.Prepare(t.Context(), p, io.Discard)[0].jobs {
		var body struct {
			Prompt   string
			Messages []openai.Message
		}
		if err := json.Unmarshal(j.Request.Body, &body); err != nil {
			t.Fatal(err)
		}
		all = append(all, body.Prompt+contents(body.Messages))
	}
	return all
}

func TestAFileIsTakenInItsOrderAndTheWarmupFromItsEnd(t *testing.T) {
	w, err := standardWork(t, 0, "--prompts", promptFile(t, "one\ntwo\nthree\nfour\n"), "--requests=5", "--warmup=2")
	if err != nil {
		t.Fatal(err)
	}
	if got := sent(t, w, w.Phases[0]); !slices.Equal(got, []string{"four", "three"}) {
		t.Errorf("warm-up %q", got)
	}
	if got := sent(t, w, w.Phases[1]); !slices.Equal(got, []string{"one", "two", "three", "four", "one"}) {
		t.Errorf("measured %q", got)
	}
}

func TestAFileSetsTheLengthOfItsAnswers(t *testing.T) {
	w, err := standardWork(t, 0, "--prompts", promptFile(t, `{"prompt": "a", "output_tokens": 7}`+"\n"+`{"prompt": "b"}`), "--requests=2", "--warmup=0", "--output-tokens=9")
	if err != nil {
		t.Fatal(err)
	}
	_, entries := plan(t, w)
	if entries[0].MaxTokens != 7 || entries[1].MaxTokens != 9 {
		t.Errorf("%d and %d tokens of answer", entries[0].MaxTokens, entries[1].MaxTokens)
	}
}

func TestSharedTextComesBeforeThePromptsOfAFile(t *testing.T) {
	w, err := standardWork(t, 0, "--prompts", promptFile(t, "one\ntwo\n"), "--requests=2", "--warmup=0", "--shared-prefix-tokens=20")
	if err != nil {
		t.Fatal(err)
	}
	got := sent(t, w, w.Phases[0])
	first, ok := strings.CutSuffix(got[0], "one")
	if second, also := strings.CutSuffix(got[1], "two"); !ok || !also || first != second || len(strings.Fields(first)) < 15 {
		t.Errorf("%q", got)
	}
}

func TestATemplateFramesPromptsOfTheCompletionsEndpoint(t *testing.T) {
	own := filepath.Join(t.TempDir(), "own.tmpl")
	if err := os.WriteFile(own, []byte("{{range .Messages}}[{{.Role}}] {{.Content}}\n{{end}}[bot]"), 0o644); err != nil {
		t.Fatal(err)
	}
	row := promptFile(t, `{"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "hi"}]}`)
	for template, want := range map[string]string{
		"llama3": "<|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nhi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
		own:      "[system] S\n[user] hi\n[bot]",
	} {
		w, err := standardWork(t, 0, "--endpoint=completions", "--template", template, "--prompts", row, "--requests=1", "--warmup=0")
		if err != nil {
			t.Fatal(err)
		}
		if got := sent(t, w, w.Phases[0]); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %q", template, got, want)
		}
	}
	if _, err := standardWork(t, 0, "--endpoint=completions", "--prompts", row); err == nil || !strings.Contains(err.Error(), "--template") {
		t.Errorf("messages without a template: %v", err)
	}
}

// smallTrace has two requests that begin alike and one without block names.
const smallTrace = "testdata/trace.jsonl"

func TestATraceIsReplayedAsItWasRecorded(t *testing.T) {
	w, err := standardWork(t, 0, "--arrival=trace", "--trace", smallTrace, "--trace-unit=ms", "--trace-block-tokens=512", "--warmup=2")
	if err != nil {
		t.Fatal(err)
	}
	_, entries := plan(t, w)
	if len(entries) != 5 || entries[0].PlannedNS != nil {
		t.Fatalf("%d lines planned: %+v", len(entries), entries)
	}
	for i, want := range []traffic.TraceRow{{Offset: 0, InputTokens: 600, OutputTokens: 3}, {Offset: 40 * time.Millisecond, InputTokens: 700, OutputTokens: 5}, {Offset: 90 * time.Millisecond, InputTokens: 20, OutputTokens: 2}} {
		if e := entries[2+i]; *e.PlannedNS != int64(want.Offset) || e.InputTokensTarget != want.InputTokens || e.MaxTokens != want.OutputTokens {
			t.Errorf("request %d: %+v, want %+v", i, e, want)
		}
	}
	texts := sent(t, w, w.Phases[1])
	words := func(s string, n int) string { return strings.Join(strings.Fields(s)[:n], " ") }
	if words(texts[0], 500) != words(texts[1], 500) || words(texts[0], 520) == words(texts[1], 520) {
		t.Error("two requests with one common block share another beginning")
	}
	if warm := sent(t, w, w.Phases[0]); words(warm[0], 10) == words(texts[0], 10) {
		t.Error("the warm-up fills the cache with what is measured")
	}
}

func TestPromptsThatAreTooLongAreRefusedOrClipped(t *testing.T) {
	file, trace := promptFile(t, "short\n"+strings.Repeat("much too long ", 100)), smallTrace
	for _, c := range []struct {
		args    []string
		says    string
		longest int
	}{
		{[]string{"--prompts", file}, "prompt 2", 0},
		{[]string{"--prompts", file, "--clip"}, "", 200},
		{[]string{"--arrival=trace", "--trace", trace, "--trace-unit=ms", "--trace-block-tokens=512"}, "request 1", 0},
		{[]string{"--arrival=trace", "--trace", trace, "--trace-unit=ms", "--trace-block-tokens=512", "--clip"}, "", 200},
		{[]string{"--prompts=short"}, "--prompts", 0},
		{[]string{"--prompts=short", "--clip"}, "", 200},
	} {
		w, err := standardWork(t, 0, append(c.args, "--max-input-tokens=210", "--token-margin=10", "--requests=3", "--warmup=0")...)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want %q", c.args, err, c.says)
			continue
		}
		if err != nil {
			continue
		}
		longest := 0
		_, entries := plan(t, w)
		for _, e := range entries {
			longest = max(longest, e.InputTokensTarget)
		}
		if longest > c.longest || longest < c.longest-2 {
			t.Errorf("%v: %d tokens at most, want %d", c.args, longest, c.longest)
		}
	}
}

func TestStagesEndTheMeasuredPhaseAndTheWarmupHasTheFirstLevel(t *testing.T) {
	s, err := given(t, "--arrival=gamma", "--burstiness=0.5", "--stages=5s:0,10s:20,5s:40")
	if err != nil {
		t.Fatal(err)
	}
	phases := s.phases(nil)
	if got := phases[1].Limit; got != (traffic.Limit{Duration: 20 * time.Second}) {
		t.Errorf("limit %+v", got)
	}
	if p := phases[0].Process; p.RatePerSecond != 20 || p.Stages != nil || p.Burstiness != 0.5 || p.Check() != nil {
		t.Errorf("warm-up %+v", p)
	}
	if s, err = given(t, "--stages=5s:3,5s:9"); err != nil || s.phases(nil)[0].Slots != 3 || s.phases(nil)[1].Process.Open() {
		t.Errorf("closed: %+v, %v", s.phases(nil), err)
	}
}

func BenchmarkPlanOfATrace(b *testing.B) {
	var trace strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&trace, `{"timestamp": %d, "input_length": 8000, "output_length": 100, "hash_ids": [0,1,2,3,4,5,6,7,8,9,%d]}`+"\n", i, i+10)
	}
	read, err := traffic.ReadTrace(strings.NewReader(trace.String()), traffic.TraceUnits{Time: "ms", BlockTokens: 512})
	if err != nil {
		b.Fatal(err)
	}
	s := &Settings{trace: read, Arrival: traffic.Recorded, Seed: 1, Scenario: scenarios()[0]}
	w, err := s.Write(Server{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := w.Plan(b.Context(), io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
