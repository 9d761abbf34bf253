package workload

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/traffic"
)

// countFields counts a token for every four bytes of a word.
func countFields(text string) (int, error) {
	n := 0
	for word := range strings.FieldsSeq(text) {
		n += (len(word) + 3) / 4
	}
	return n, nil
}

// fieldScale is the scale of countFields.
func fieldScale() traffic.TokenScale {
	scale := traffic.Assumption()
	for _, word := range traffic.Words() {
		n, _ := countFields(word)
		scale.WordTokens = append(scale.WordTokens, n)
	}
	return scale
}

// arenaOf writes the workload of a cell for a server whose chat template adds 5 tokens, or 9 with a system message.
func arenaOf(t *testing.T, key string, args ...string) (*Workload, error) {
	t.Helper()
	s, err := given(t, append([]string{"--scenario=arena"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	s.PromptKey = key
	return s.Write(Server{Model: "m", Vendor: server.VendorOf(supported.Engines(), "vllm"), MaxTokens: 8192, Scale: fieldScale(), Count: countFields, Framing: &Framing{User: 5, System: 9}})
}

func phaseNames(w *Workload) []string {
	var names []string
	for _, p := range w.Phases {
		names = append(names, p.Name)
	}
	return names
}

// promptsOf draws the prompts of a phase.
func promptsOf(w *Workload, phase string) []traffic.Prompt {
	var all []traffic.Prompt
	for c := range w.Script.contents(phase, 0) {
		all = append(all, c.draw())
	}
	return all
}

// usageOf is what a server would count of a prompt.
func usageOf(p traffic.Prompt) int {
	n, _ := countFields(p.Text)
	if len(p.Before) == 0 {
		return n + 5
	}
	system, _ := countFields(p.Before[0].Content)
	return n + system + 9
}

func TestACellSendsContextsBeforeEachBatch(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"depth":       {[]string{"--set=depth=512"}, []string{"warmup", "context_1", "batch_1", "context_2", "batch_2", "context_3", "batch_3"}},
		"no depth":    {[]string{"--set=runs=2"}, []string{"warmup", "batch_1", "batch_2"}},
		"no caching":  {[]string{"--set=depth=512", "--set=prefix.caching=off"}, []string{"warmup", "batch_1", "batch_2", "batch_3"}},
		"no warm-up":  {[]string{"--set=runs=1", "--warmup=0"}, []string{"batch_1"}},
		"own warm-up": {[]string{"--set=runs=1", "--warmup=3"}, []string{"warmup", "batch_1"}},
	} {
		w, err := arenaOf(t, "", append(c.args, "--concurrency=2", "--set=pp=64")...)
		if err != nil {
			t.Fatal(err)
		}
		if got := phaseNames(w); !slices.Equal(got, c.want) {
			t.Errorf("%s: phases %v, want %v", name, got, c.want)
		}
		for _, p := range w.Phases {
			if want := map[bool]int{true: 3, false: 2}[p.Name == rundir.PhaseWarmup && name == "own warm-up"]; len(promptsOf(w, p.Name)) != want || p.Limit.Requests != want || p.Slots != 2 {
				t.Errorf("%s: %s has %d prompts of %d, %d at one moment", name, p.Name, len(promptsOf(w, p.Name)), p.Limit.Requests, p.Slots)
			}
			if counts := w.Counts(p.Name); counts != strings.HasPrefix(p.Name, "batch_") {
				t.Errorf("%s: %s is measured: %t", name, p.Name, counts)
			}
		}
	}
}

func TestPromptsOfACellHaveItsExactLengthWithTheChatTemplate(t *testing.T) {
	for _, depth := range []int{0, 256, 4096} {
		w, err := arenaOf(t, "run", fmt.Sprintf("--set=depth=%d", depth), "--set=pp=128", "--concurrency=3")
		if err != nil {
			t.Fatal(err)
		}
		for _, phase := range phaseNames(w) {
			want := depth + 128
			if strings.HasPrefix(phase, "context_") {
				want = depth + 1
			}
			for _, p := range promptsOf(w, phase) {
				if got := usageOf(p); got != want || p.Tokens != want || p.OutputTokens != 128 {
					t.Errorf("depth %d, %s: a prompt of %d tokens, want %d (target %d, answer %d)", depth, phase, got, want, p.Tokens, p.OutputTokens)
				}
			}
		}
	}
}

func TestABatchHasTheContextsThatWereSentBeforeIt(t *testing.T) {
	w, err := arenaOf(t, "run", "--set=depth=512", "--set=pp=64", "--concurrency=2", "--set=runs=2")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for i := range 2 {
		contexts, prompts := promptsOf(w, fmt.Sprintf("context_%d", i+1)), promptsOf(w, fmt.Sprintf("batch_%d", i+1))
		for at := range prompts {
			if contexts[at].Before[0] != prompts[at].Before[0] || prompts[at].RepeatedTokens != 512 || contexts[at].RepeatedTokens != 0 {
				t.Errorf("batch %d, request %d does not repeat the context of its number", i+1, at)
			}
			beginning := prompts[at].Before[0].Content[:60]
			if other := seen[beginning]; other != "" {
				t.Errorf("%s and batch %d begin alike", other, i+1)
			}
			seen[beginning] = fmt.Sprint("batch ", i+1)
		}
	}
	for _, p := range promptsOf(w, rundir.PhaseWarmup) {
		if p.RepeatedTokens != 0 || seen[p.Before[0].Content[:60]] != "" {
			t.Error("the warm-up sends a text that is measured")
		}
	}
}

// TestACellAsksForTokenIDs: llama-benchy always does, and its figures depend on them.
func TestACellAsksForTokenIDs(t *testing.T) {
	cell, err := arenaOf(t, "run", "--set=pp=64")
	if err != nil {
		t.Fatal(err)
	}
	s, err := given(t, "--requests=1")
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.Write(Server{Model: "m", Vendor: server.VendorOf(supported.Engines(), "vllm"), MaxTokens: 8192, Scale: fieldScale()})
	if err != nil {
		t.Fatal(err)
	}
	for w, want := range map[*Workload]bool{cell: true, other: false} {
		body, err := w.body(w.Sampling, nil, "text", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(body), `"return_token_ids":true`); got != want {
			t.Errorf("%s asks for ids: %t, want %t: %s", w.Script.Facts.Scenario, got, want, body)
		}
	}
}

func TestTheHashOfACellIsThatOfItsSeedAndNotOfItsRun(t *testing.T) {
	sum := func(key string, args ...string) (string, string) {
		t.Helper()
		w, err := arenaOf(t, key, append(args, "--set=pp=128", "--set=runs=1")...)
		if err != nil {
			t.Fatal(err)
		}
		hash, _ := planOf(t, w)
		return hash, promptsOf(w, "batch_1")[0].Text + fmt.Sprint(promptsOf(w, "batch_1")[0].Before)
	}
	for _, depth := range []string{"--set=depth=0", "--set=depth=256"} {
		first, text := sum("a", depth)
		again, other := sum("b", depth)
		if first != again || text == other {
			t.Errorf("%s: runs of other names: hashes alike %t, prompts alike %t", depth, first == again, text == other)
		}
		if seeded, _ := sum("a", depth, "--seed=2"); seeded == first {
			t.Errorf("%s: another seed has the same hash", depth)
		}
	}
}

func TestACellThatTheServerCannotTakeIsRefused(t *testing.T) {
	for _, c := range []struct {
		args []string
		want error
		says string
	}{
		{[]string{"--set=depth=8000", "--set=pp=128", "--set=tg=128"}, ErrDoesNotFit, "8256 tokens"},
		{[]string{"--set=depth=9"}, nil, "depth 9: the chat template alone adds 9 tokens"},
		{[]string{"--set=pp=5"}, nil, "pp 5: the chat template alone adds 5 tokens"},
	} {
		_, err := arenaOf(t, "", c.args...)
		if err == nil || !strings.Contains(err.Error(), c.says) || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%v: %v", c.args, err)
		}
	}
	if _, err := arenaOf(t, "", "--set=depth=7936", "--set=pp=128", "--set=tg=128"); err != nil {
		t.Errorf("a cell that fits to the token: %v", err)
	}
	s, err := given(t, "--scenario=arena")
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("gone")
	if _, err := s.Write(Server{Model: "m", Scale: fieldScale(), Count: func(string) (int, error) { return 0, gone }}); !errors.Is(err, gone) {
		t.Errorf("a tokenizer that fails: %v", err)
	}
}

func TestFlagsThatACellHasItselfAreRefused(t *testing.T) {
	for want, args := range map[string][]string{
		"--arrival": {"--arrival=poisson", "--rate=1"}, "--requests": {"--requests=3"}, "--duration": {"--duration=3s"}, "--prompts": {"--prompts=long"},
		"--input-tokens": {"--input-tokens=3"}, "--output-tokens": {"--output-tokens=3"}, "--shared-prefix-tokens": {"--shared-prefix-tokens=3"},
		"--no-stream": {"--no-stream"}, "--warmup": {"--warmup=3s"}, "--clients": {"--clients=2"}, "--ramp": {"--ramp=1s"},
		"--set: depth":          {"--set=depth=-1"},
		"--set: prefix.caching": {"--set=prefix.caching=perhaps"},
		"--set: latency":        {"--set=latency=ping"},
	} {
		if _, err := given(t, append([]string{"--scenario=arena"}, args...)...); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
	s := &Settings{arena: &arenaCell{}}
	if s.Scenario = (Scenario{Name: ScenarioArena}); resolveArena(&Settings{endpoint: openai.Completions, Arrival: traffic.Closed, Scenario: s.Scenario}) == nil {
		t.Error("completions are accepted")
	}
}

// TestEveryRequestOfACellHasItsLengthWhereTheServerCountsChats: at the borders of texts and template tokens are fewer
// than those of the parts.
func TestEveryRequestOfACellHasItsLengthWhereTheServerCountsChats(t *testing.T) {
	chat := func(messages []openai.Message) (int, error) {
		n := 0
		for _, m := range messages {
			tokens, _ := countFields(m.Content)
			if n += tokens + 4; m.Content[len(m.Content)-1]%4 == 0 {
				n--
			}
		}
		return n + 1, nil
	}
	for _, set := range [][]string{{"depth=0"}, {"depth=300"}, {"depth=300", "prefix.caching=off"}} {
		args := []string{"--scenario=arena", "--concurrency=6", "--set=pp=100", "--set=tg=8", "--set=runs=4"}
		for _, size := range set {
			args = append(args, "--set="+size)
		}
		s, err := given(t, args...)
		if err != nil {
			t.Fatal(err)
		}
		s.PromptKey = "run"
		w, err := s.Write(Server{Model: "m", MaxTokens: 8192, Scale: fieldScale(), Count: countFields, Framing: &Framing{User: 5, System: 9}, CountChat: chat})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(w.InputLengths, "exact: the server counted every prompt") || len(w.Script.Notes) > 0 {
			t.Errorf("%v: lengths are %q, notes %v", set, w.InputLengths, w.Script.Notes)
		}
		n := 0
		for _, phase := range phaseNames(w) {
			for _, p := range promptsOf(w, phase) {
				var messages []openai.Message
				for _, m := range append(p.Before, traffic.Message{Role: "user", Content: p.Text}) {
					messages = append(messages, openai.Message(m))
				}
				if tokens, _ := chat(messages); tokens != p.Tokens {
					t.Errorf("%v: a request of %s has %d tokens, want %d", set, phase, tokens, p.Tokens)
				}
				n++
			}
		}
		if n < 24 {
			t.Errorf("%v: %d requests", set, n)
		}
	}
}
