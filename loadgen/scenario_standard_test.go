package loadgen

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/report"
	"github.com/umascope/umascope/loadgen/schedule"
)

// standardWork is the workload of a command line on a server that takes as many tokens.
func standardWork(t *testing.T, limit int, args ...string) (*workload, error) {
	t.Helper()
	s, err := parsed(t, args...)
	if err != nil {
		return nil, err
	}
	f := served{model: model{ID: "m", MaxTokens: limit}, engine: "vllm"}
	made, err := s.scenario.write(s, f)
	return s.workload(f, made), err
}

// sent lists what the requests of a phase say: all messages but their roles.
func sent(t *testing.T, w *workload, p phase) (all []string) {
	t.Helper()
	for j := range w.prepare(t.Context(), p, io.Discard)[0].jobs {
		var body struct {
			Prompt   string
			Messages []chat.Message
		}
		if err := json.Unmarshal(j.request.Body, &body); err != nil {
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
	if got := sent(t, w, w.phases[0]); !slices.Equal(got, []string{"four", "three"}) {
		t.Errorf("warm-up %q", got)
	}
	if got := sent(t, w, w.phases[1]); !slices.Equal(got, []string{"one", "two", "three", "four", "one"}) {
		t.Errorf("measured %q", got)
	}
}

func TestTheRunSaysWhatAReaderMustKnowOfItsPrompts(t *testing.T) {
	path := promptFile(t, threeTalks)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--prompts", path, "--requests=9"}, "the prompt file has 3 prompts"},
		{[]string{"--prompts", path, "--requests=2"}, "the lengths asked of prompts are estimated"},
		{[]string{"--prompts", path, "--scenario=multi_turn"}, "the prompt file has 6 turns"},
		{[]string{"--prompts", promptFile(t, strings.Repeat("word ", 400)), "--requests=1", "--max-input-tokens=300", "--clip"}, "1 prompts or conversations were shortened"},
	} {
		code, folder, _, stderr := invoke(t, t.Context(), append([]string{"--url", engine(t, 100*time.Microsecond), "--warmup=0", "--output-tokens=2"}, c.args...)...)
		if code != exitDone || !strings.Contains(stderr, c.says) {
			t.Fatalf("%v: exit %d: %s", c.args, code, stderr)
		}
		if warnings := strings.Join(read[report.Summary](t, filepath.Join(folder, fileSummary)).Warnings, "\n"); !strings.Contains(warnings, c.says) {
			t.Errorf("%v: warnings %q, want %q", c.args, warnings, c.says)
		}
	}
}

func TestAFileSaysHowLongItsAnswersAre(t *testing.T) {
	w, err := standardWork(t, 0, "--prompts", promptFile(t, `{"prompt": "a", "output_tokens": 7}`+"\n"+`{"prompt": "b"}`), "--requests=2", "--warmup=0", "--output-tokens=9")
	if err != nil {
		t.Fatal(err)
	}
	_, entries := plan(t, w)
	if entries[0].MaxTokens != 7 || entries[1].MaxTokens != 9 {
		t.Errorf("%d and %d tokens of answer", entries[0].MaxTokens, entries[1].MaxTokens)
	}
}

func TestSharedTextStandsBeforeThePromptsOfAFile(t *testing.T) {
	w, err := standardWork(t, 0, "--prompts", promptFile(t, "one\ntwo\n"), "--requests=2", "--warmup=0", "--shared-prefix-tokens=20")
	if err != nil {
		t.Fatal(err)
	}
	got := sent(t, w, w.phases[0])
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
		if got := sent(t, w, w.phases[0]); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %q", template, got, want)
		}
	}
	if _, err := standardWork(t, 0, "--endpoint=completions", "--prompts", row); err == nil || !strings.Contains(err.Error(), "--template") {
		t.Errorf("messages without a template: %v", err)
	}
}

const smallTrace = `{"timestamp": 0, "input_length": 600, "output_length": 3, "hash_ids": [1, 2]}
{"timestamp": 40, "input_length": 700, "output_length": 5, "hash_ids": [1, 3]}
{"timestamp": 90, "input_length": 20, "output_length": 2}
`

func TestATraceIsReplayedAsItWasRecorded(t *testing.T) {
	w, err := standardWork(t, 0, "--arrival=trace", "--trace", promptFile(t, smallTrace), "--warmup=2")
	if err != nil {
		t.Fatal(err)
	}
	_, entries := plan(t, w)
	if len(entries) != 5 || entries[0].PlannedNS != nil {
		t.Fatalf("%d lines planned: %+v", len(entries), entries)
	}
	for i, want := range []schedule.Row{{Offset: 0, InputTokens: 600, OutputTokens: 3}, {Offset: 40 * time.Millisecond, InputTokens: 700, OutputTokens: 5}, {Offset: 90 * time.Millisecond, InputTokens: 20, OutputTokens: 2}} {
		if e := entries[2+i]; *e.PlannedNS != int64(want.Offset) || e.InputTokensTarget != want.InputTokens || e.MaxTokens != want.OutputTokens {
			t.Errorf("request %d: %+v, want %+v", i, e, want)
		}
	}
	texts := sent(t, w, w.phases[1])
	words := func(s string, n int) string { return strings.Join(strings.Fields(s)[:n], " ") }
	if words(texts[0], 500) != words(texts[1], 500) || words(texts[0], 520) == words(texts[1], 520) {
		t.Error("two requests with one common block share another beginning")
	}
	if warm := sent(t, w, w.phases[0]); words(warm[0], 10) == words(texts[0], 10) {
		t.Error("the warm-up fills the cache with what is measured")
	}
}

func TestWhatIsTooLongIsRefusedOrClipped(t *testing.T) {
	file, trace := promptFile(t, "short\n"+strings.Repeat("much too long ", 100)), promptFile(t, smallTrace)
	for _, c := range []struct {
		args    []string
		says    string
		longest int
	}{
		{[]string{"--prompts", file}, "prompt 2", 0},
		{[]string{"--prompts", file, "--clip"}, "", 200},
		{[]string{"--arrival=trace", "--trace", trace}, "request 1", 0},
		{[]string{"--arrival=trace", "--trace", trace, "--clip"}, "", 200},
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
	s, err := parsed(t, "--arrival=gamma", "--burstiness=0.5", "--stages=5s:0,10s:20,5s:40")
	if err != nil {
		t.Fatal(err)
	}
	phases := s.phases(nil)
	if got := phases[1].limit; got != (schedule.Limit{Duration: 20 * time.Second}) {
		t.Errorf("limit %+v", got)
	}
	if p := phases[0].process; p.RatePerSecond != 20 || p.Stages != nil || p.Burstiness != 0.5 || p.Check() != nil {
		t.Errorf("warm-up %+v", p)
	}
	if s, err = parsed(t, "--stages=5s:3,5s:9"); err != nil || s.phases(nil)[0].slots != 3 || s.phases(nil)[1].process.Open() {
		t.Errorf("closed: %+v, %v", s.phases(nil), err)
	}
}

func TestEveryArrivalAndPromptSourceLeavesACompleteFolder(t *testing.T) {
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"--arrival=gamma", "--rate=200", "--burstiness=0.3", "--requests=10"}, 10},
		{[]string{"--arrival=constant", "--stages=50ms:100,50ms:200"}, 15},
		{[]string{"--arrival=trace", "--trace", promptFile(t, smallTrace)}, 3},
		{[]string{"--prompts", promptFile(t, threeTalks), "--requests=6", "--shared-prefix-tokens=64"}, 6},
		{[]string{"--endpoint=completions", "--template=llama3", "--requests=4"}, 4},
	} {
		url := engine(t, 100*time.Microsecond)
		args := slices.Concat([]string{"--url", url, "--warmup=2"}, c.args)
		if !slices.Contains(c.args, "--arrival=trace") {
			args = append(args, "--output-tokens=4")
		}
		code, folder, stdout, stderr := invoke(t, t.Context(), args...)
		if code != exitDone {
			t.Fatalf("%v: exit %d: %s%s", c.args, code, stdout, stderr)
		}
		summary := read[report.Summary](t, filepath.Join(folder, fileSummary))
		if summary.Requests[chat.StatusOK] != c.want {
			t.Errorf("%v: %v requests, want %d", c.args, summary.Requests, c.want)
		}
		m := read[manifest](t, filepath.Join(folder, fileManifest))
		if m.Workload.InputLengths == "" || strings.Contains(strings.Join(summary.Warnings, ""), "it has seen them before") {
			t.Errorf("%v: lengths %q, warnings %q", c.args, m.Workload.InputLengths, summary.Warnings)
		}
		// The simulated engine counts every word of the vocabulary as one token.
		for _, r := range records(t, folder) {
			added := *m.Workload.Scale.TemplateTokens
			if r.Phase == phaseMeasure && m.Workload.Script.File == nil && m.Workload.Sampling.Template == "" && *r.TokensIn != r.InputTokensTarget+added {
				t.Errorf("%v: %d tokens asked for, %d counted, of which the template has %d", c.args, r.InputTokensTarget, *r.TokensIn, added)
			}
		}
	}
}

func TestBadInputFilesAreExit2WithOneLineAndLeaveNothing(t *testing.T) {
	url := engine(t, time.Millisecond)
	bad := promptFile(t, "[5]")
	long := promptFile(t, strings.Repeat("far too long ", 100_000))
	for _, args := range [][]string{
		{"--prompts", bad}, {"--prompts", "/nonexistent"}, {"--arrival=trace", "--trace", bad}, {"--prompts", long},
		{"--endpoint=completions", "--template", bad}, {"--max-input-tokens=300"},
	} {
		code, folder, stdout, stderr := invoke(t, t.Context(), append([]string{"--url", url, "--log-level=error"}, args...)...)
		if code != exitUsage || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "--") || stdout != "" {
			t.Errorf("%v: exit %d: %s%s", args, code, stdout, stderr)
		}
		if name := args[len(args)-1]; strings.HasPrefix(name, "/") && !strings.Contains(stderr, name) {
			t.Errorf("%v: the file is not named: %s", args, stderr)
		}
		if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: %s was left behind: %v", args, folder, err)
		}
	}
}

func BenchmarkPlanOfATrace(b *testing.B) {
	var trace strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&trace, `{"timestamp": %d, "input_length": 8000, "output_length": 100, "hash_ids": [0,1,2,3,4,5,6,7,8,9,%d]}`+"\n", i, i+10)
	}
	read, err := schedule.ReadTrace(strings.NewReader(trace.String()))
	if err != nil {
		b.Fatal(err)
	}
	s := &settings{trace: read, arrival: schedule.Recorded, seed: 1, scenario: standard()}
	made, err := s.scenario.write(s, served{})
	if err != nil {
		b.Fatal(err)
	}
	w := s.workload(served{}, made)
	for b.Loop() {
		if _, err := w.plan(b.Context(), io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
