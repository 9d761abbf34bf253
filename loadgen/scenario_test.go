package loadgen

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

func TestTheRunSaysWhatAReaderMustKnowOfItsPrompts(t *testing.T) {
	path := "workload/testdata/talks.json"
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--prompts", path, "--requests=9"}, "the prompt file has 3 prompts"},
		{[]string{"--prompts", path, "--requests=2"}, "the lengths asked of prompts are estimated"},
		{[]string{"--prompts", path, "--scenario=multi_turn"}, "the prompt file has 6 turns"},
		{[]string{"--prompts", textFile(t, strings.Repeat("word ", 400)), "--requests=1", "--max-input-tokens=300", "--clip"}, "1 prompts or conversations were shortened"},
	} {
		code, dir, _, stderr := invoke(t, t.Context(), append([]string{"--url", engine(t, 100*time.Microsecond), "--warmup=0", "--output-tokens=2"}, c.args...)...)
		if code != exitDone || !strings.Contains(stderr, c.says) {
			t.Fatalf("%v: exit %d: %s", c.args, code, stderr)
		}
		if warnings := strings.Join(summaryOf(t, dir).Warnings, "\n"); !strings.Contains(warnings, c.says) {
			t.Errorf("%v: warnings %q, want %q", c.args, warnings, c.says)
		}
	}
}

func TestEveryArrivalAndPromptSourceLeavesACompleteFolder(t *testing.T) {
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"--arrival=gamma", "--rate=200", "--burstiness=0.3", "--requests=10"}, 10},
		{[]string{"--arrival=constant", "--stages=50ms:100,50ms:200"}, 15},
		{[]string{"--arrival=trace", "--trace", "workload/testdata/trace.jsonl", "--trace-unit=ms", "--trace-block-tokens=512"}, 3},
		{[]string{"--prompts", "workload/testdata/talks.json", "--requests=6", "--shared-prefix-tokens=64"}, 6},
		{[]string{"--endpoint=completions", "--template=llama3", "--requests=4"}, 4},
	} {
		url := engine(t, 100*time.Microsecond)
		args := slices.Concat([]string{"--url", url, "--warmup=2"}, c.args)
		if !slices.Contains(c.args, "--arrival=trace") {
			args = append(args, "--output-tokens=4")
		}
		dir, _, _ := completed(t, args...)
		sum := summaryOf(t, dir)
		if sum.Requests[openai.StatusOK] != c.want {
			t.Errorf("%v: %v requests, want %d", c.args, sum.Requests, c.want)
		}
		m := manifestOf(t, dir)
		if m.Workload.InputLengths == "" || strings.Contains(strings.Join(sum.Warnings, ""), "it has seen them before") {
			t.Errorf("%v: lengths %q, warnings %q", c.args, m.Workload.InputLengths, sum.Warnings)
		}
		// The simulated engine counts every word of the vocabulary as one token.
		for _, r := range records(t, dir) {
			added := *m.Workload.Scale.TemplateTokens
			if r.Phase == rundir.PhaseMeasure && m.Workload.Script.File == nil && m.Workload.Sampling.Template == "" && *r.TokensIn != r.InputTokensTarget+added {
				t.Errorf("%v: %d tokens asked for, %d counted, of which the template has %d", c.args, r.InputTokensTarget, *r.TokensIn, added)
			}
		}
	}
}

func TestBadInputFilesAreExit2WithOneLineAndLeaveNothing(t *testing.T) {
	url := engine(t, time.Millisecond)
	bad := textFile(t, "[5]")
	long := textFile(t, strings.Repeat("far too long ", 100_000))
	for _, args := range [][]string{
		{"--prompts", bad}, {"--prompts", "/nonexistent"}, {"--arrival=trace", "--trace", bad}, {"--prompts", long},
		{"--endpoint=completions", "--template", bad}, {"--max-input-tokens=300"},
	} {
		code, folder, stdout, stderr := invoke(t, t.Context(), append([]string{"--url", url, "--log.level=error"}, args...)...)
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

func TestAMultiTurnRunLeavesACompleteFolder(t *testing.T) {
	for _, args := range [][]string{
		{"--clients=2", "--input-tokens=40", "--max-turns=3", "--requests=12", "--warmup=3"},
		{"--endpoint=completions", "--template=llama3", "--prompts", "workload/testdata/talks.json", "--warmup=0"},
	} {
		url := engine(t, 100*time.Microsecond)
		dir, _, _ := completed(t, slices.Concat([]string{"--url", url, "--scenario=multi_turn", "--output-tokens=6"}, args)...)
		in := map[string]int{}
		for _, r := range records(t, dir) {
			if r.Phase != rundir.PhaseMeasure {
				continue
			}
			// The history makes every prompt longer than the one before it, by the answer too.
			if key := fmt.Sprint(r.Conversation, r.InputTokensTarget > 1000); r.Turn > 1 && *r.TokensIn <= in[key] && r.Conversation != "a" {
				t.Errorf("turn %d of %s has %d tokens after %d", r.Turn, r.Conversation, *r.TokensIn, in[key])
			}
			in[r.Conversation] = *r.TokensIn
		}
		sum := summaryOf(t, dir)
		if sum.Scenario != "multi_turn" || !sum.Valid {
			t.Errorf("summary %+v", sum)
		}
	}
}

func TestEveryTurnSaysWhichClientTookIt(t *testing.T) {
	_, dir, _, stderr := invoke(t, t.Context(), "--url", engine(t, 100*time.Microsecond), "--scenario=multi_turn", "--clients=2", "--input-tokens=40", "--max-turns=3", "--requests=12", "--warmup=0", "--output-tokens=4")
	planned := map[string]string{}
	file, err := os.Open(filepath.Join(dir, rundir.ScheduleFile))
	if err != nil {
		t.Fatal(err, stderr)
	}
	defer file.Close()
	for decoder := json.NewDecoder(file); decoder.More(); {
		var line rundir.ScheduleLine
		if err := decoder.Decode(&line); err != nil {
			t.Fatal(err)
		}
		planned[line.Conversation] = strconv.Itoa(*line.Client)
	}
	clients := map[string]bool{}
	for _, r := range records(t, dir) {
		clients[r.Session] = true
		if r.Session != planned[r.Conversation] {
			t.Errorf("turn %d of %s is in session %q, planned for client %s", r.Turn, r.Conversation, r.Session, planned[r.Conversation])
		}
	}
	if len(clients) != 2 {
		t.Errorf("sessions %v", clients)
	}
}

// textFile is a file that a flag names.
func textFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "text")
	overwrite(t, path, text)
	return path
}
