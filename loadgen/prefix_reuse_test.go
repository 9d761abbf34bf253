package loadgen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/sim"
	"github.com/umascope/umascope/loadgen/summary"
)

// cachedShare is the share of the prompt tokens of a phase that the server answered from its prefix cache.
func cachedShare(t *testing.T, dir, phase string) float64 {
	t.Helper()
	var all, hits float64
	for _, r := range records(t, dir) {
		if r.Phase == phase {
			all, hits = all+float64(*r.TokensIn), hits+float64(*r.TokensCached)
		}
	}
	if all == 0 {
		t.Fatalf("%s: no prompt tokens in %s", dir, phase)
	}
	return hits / all
}

// rewritten is a gateway to an engine that changes the messages of chats.
func rewritten(t *testing.T, engine string, change func([]openai.Message) []openai.Message) string {
	t.Helper()
	return inFront(t, engine, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has gone
		}
		var body map[string]json.RawMessage
		var messages []openai.Message
		if json.Unmarshal(text, &body) == nil && json.Unmarshal(body["messages"], &messages) == nil {
			body["messages"], _ = json.Marshal(change(messages))
			text, _ = json.Marshal(body)
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		pass.ServeHTTP(w, r)
	})
}

// Every scenario, with an engine that is kept up: the second of two identical runs finds as little in its prefix cache
// as the first, and did the same work.
func TestTheSecondOfTwoIdenticalRunsIsAsColdAsTheFirst(t *testing.T) {
	t.Parallel()
	sets := []string{"--warmup=0", "--set=baseline.requests=0", "--force"}
	for name, c := range map[string]struct {
		phase string
		args  []string
	}{
		"standard":         {"measure", []string{"--input-tokens=200", "--requests=12", "--warmup=4"}},
		"shared prefix":    {"measure", []string{"--input-tokens=100", "--shared-prefix-tokens=64", "--requests=12", "--warmup=4"}},
		"token ids":        {"measure", []string{"--endpoint=completions", "--prompt-ids", "--input-tokens=200", "--requests=12", "--warmup=4"}},
		"a template":       {"measure", []string{"--endpoint=completions", "--template=llama3", "--input-tokens=200", "--requests=12", "--warmup=4"}},
		"a trace":          {"measure", []string{"--arrival=trace", "--trace=workload/testdata/trace.jsonl", "--trace-unit=ms", "--trace-block-tokens=512", "--warmup=2"}},
		"burst":            {"burst", []string{"--scenario=burst", "--set=bursts=2", "--set=requests=4", "--set=every=10ms", "--input-tokens=200", "--warmup=0"}},
		"multi_turn":       {"measure", []string{"--scenario=multi_turn", "--clients=2", "--max-turns=3", "--input-tokens=100", "--requests=12", "--warmup=2"}},
		"reuse_verify":     {"reuse_1", append(sets, "--scenario=reuse_verify", "--set=requests=4", "--input-tokens=200")},
		"eviction_replay":  {"warm_A", append(sets, "--scenario=eviction_replay", "--set=a.requests=4", "--set=b.requests=4", "--input-tokens=200")},
		"rehydrate_replay": {"populate", append(sets, "--scenario=rehydrate_replay", "--set=populate.requests=4", "--set=thrash.requests=4", "--input-tokens=200")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Answers of full length: later turns of a conversation find them in the cache.
			args := append(slices.Clone(c.args), "--ignore-eos", "--url", engine(t, 0))
			if name != "a trace" {
				args = append(args, "--output-tokens=4")
			}
			var shares []float64
			var hashes []string
			for range 2 {
				dir, _, _ := completed(t, args...)
				sum := summaryOf(t, dir)
				shares, hashes = append(shares, cachedShare(t, dir, c.phase)), append(hashes, sum.WorkloadSHA256)
				if !slices.Contains(sum.Checked, "prompts") || sum.PrefixCache == nil || *sum.PrefixCache.UnplannedRatio() > 0.01 {
					t.Errorf("checked %v, %+v", sum.Checked, sum.PrefixCache)
				}
			}
			// The first request of an engine's life does not find the template, those of another run do.
			if diff := shares[1] - shares[0]; diff < 0 || diff > 0.03 || hashes[0] != hashes[1] {
				t.Errorf("cached shares %.3f and %.3f of workloads %.8s and %.8s", shares[0], shares[1], hashes[0], hashes[1])
			}
		})
	}
}

// What stands before the user's text in the templates of Qwen2.5, Llama 3.1 and gpt-oss, in words of the simulated engine.
var systemMessages = map[string]string{
	"none":      "",
	"Qwen2.5":   "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.",
	"Llama 3.1": "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n",
	"gpt-oss":   "You are ChatGPT, a large language model trained by OpenAI.\nKnowledge cutoff: 2024-06\nCurrent date: 2026-11-21\n\nReasoning: medium\n\n# Valid channels: analysis, commentary, final. Channel must be included for every message.",
}

func TestShortPromptsBehindATemplateStayValid(t *testing.T) {
	t.Parallel()
	for name, system := range systemMessages {
		for _, block := range []int{16, 32, 64, 128} {
			t.Run(fmt.Sprint(name, " ", block), func(t *testing.T) {
				t.Parallel()
				_, address := simulated(t, func(c *sim.Config) { c.KV.TokensPerBlock = block })
				through := rewritten(t, address, func(messages []openai.Message) []openai.Message {
					if system == "" {
						return messages
					}
					return append([]openai.Message{{Role: "system", Content: system}}, messages...)
				})
				for range 2 {
					code, dir, stdout, stderr := invoke(t, t.Context(), "--url", through, "--engine=vllm", "--input-tokens=128", "--requests=30", "--warmup=2", "--output-tokens=2")
					if sum := summaryOf(t, dir); code != exitDone || !slices.Contains(sum.Checked, "prompts") || *sum.PrefixCache.UnplannedHitTokens != 0 {
						t.Errorf("exit %d: %+v: %s%s", code, sum.PrefixCache, stdout, stderr)
					}
				}
			})
		}
	}
}

func TestPromptsThatAServerTakesForOthersMakeTheRunInvalid(t *testing.T) {
	t.Parallel()
	// A gateway that cuts off what makes prompts of two runs differ.
	through := rewritten(t, engine(t, 0), func(messages []openai.Message) []openai.Message {
		if words := strings.Fields(messages[0].Content); len(words) > 100 {
			messages[0].Content = strings.Join(append([]string{"Words:"}, words[9:]...), " ")
		}
		return messages
	})
	args := []string{"--url", through, "--engine=vllm", "--input-tokens=200", "--requests=10", "--warmup=0", "--output-tokens=2"}
	if code, _, stdout, stderr := invoke(t, t.Context(), args...); code != exitDone {
		t.Fatalf("the first run: exit %d: %s%s", code, stdout, stderr)
	}
	code, _, stdout, stderr := invoke(t, t.Context(), args...)
	if want := "1720 of 2010 prompt tokens (85.6 %)"; code != exitInvalid || !strings.Contains(stderr, string(summary.CodePrefixReuse)) || !strings.Contains(stderr, want) {
		t.Errorf("exit %d, want %q: %s%s", code, want, stdout, stderr)
	}
}

func TestARepeatedRunIsWarmAndMarked(t *testing.T) {
	t.Parallel()
	address, out := engine(t, 0), t.TempDir()
	measure := func(run string, more ...string) (summary.Summary, rundir.Manifest) {
		args := slices.Concat([]string{"run", "--out", out, "--run-id", run, "--web.listen-address=127.0.0.1:0", "--url", address, "--engine=vllm", "--input-tokens=200", "--requests=12", "--warmup=0", "--output-tokens=4"}, uncontended, more)
		if code, stdout, stderr := invokeVerb(t, args...); code != exitDone {
			t.Fatalf("%s: exit %d: %s%s", run, code, stdout, stderr)
		}
		dir := filepath.Join(out, run)
		return summaryOf(t, dir), manifestOf(t, dir)
	}
	first, was := measure("cold", "--seed=7", "--label=arm=cold")
	second, is := measure("warm", "--repeat-of=cold", "--label=arm=warm")
	if is.Workload.RepeatOf != "cold" || is.Seed != 7 || is.Workload.PromptKey != was.Workload.PromptKey || was.Workload.RepeatOf != "" || first.WorkloadSHA256 != second.WorkloadSHA256 {
		t.Errorf("repeats %q with seed %d and key %q, which was %q", is.Workload.RepeatOf, is.Seed, is.Workload.PromptKey, was.Workload.PromptKey)
	}
	if share := *second.PrefixCache.UnplannedRatio(); !second.Valid || share < 0.5 || slices.Contains(second.Checked, "prompts") || !warned(second, "(--repeat-of): the server had seen these prompts") {
		t.Errorf("%.2f of the prompts from a cache, valid %v, warnings %q", share, second.Valid, second.Warnings)
	}
	for i, r := range records(t, filepath.Join(out, "warm")) {
		if before := records(t, filepath.Join(out, "cold"))[i]; r.PromptSHA256 != before.PromptSHA256 {
			t.Errorf("request %d is another prompt", r.Index)
		}
	}
	// A comparison shows it.
	_, stdout, stderr := invokeVerb(t, "compare", out, "--by=arm", "--json")
	var c compare.Comparison
	if err := json.Unmarshal([]byte(stdout), &c); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	pair := c.Strata[0].Pairs[0]
	for item, want := range map[string]string{"prompts": "--repeat-of", compare.FactPrefixReuse: "%"} {
		i := slices.IndexFunc(pair.Fairness, func(f compare.Fairness) bool { return f.Item == item })
		if i < 0 || !pair.Fairness[i].Differs || !strings.Contains(pair.Fairness[i].B, want) {
			t.Errorf("%s: %+v", item, pair.Fairness)
		}
	}
	if !slices.ContainsFunc(pair.Warnings, func(w compare.Warning) bool { return w.Code == compare.CodePrefixReuse }) {
		t.Errorf("caveats %+v", pair.Warnings)
	}
	// Other flags make other prompts.
	code, _, stderr := invokeVerb(t, "run", "--out", out, "--web.listen-address=127.0.0.1:0", "--url", address, "--repeat-of=cold", "--input-tokens=201", "--requests=12", "--warmup=0")
	if code != exitUsage || !strings.Contains(stderr, "--repeat-of: request 0 of measure is another prompt") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestASecondSweepIsCold(t *testing.T) {
	t.Parallel()
	address := engine(t, 0)
	args := []string{"--url", address, "--over=concurrency=1,2", "--requests=8", "--warmup=0", "--input-tokens=200"}
	for range 2 {
		dir, _, _ := sweptWhole(t, args...)
		for _, run := range []string{"s1-01-concurrency-1", "s1-02-concurrency-2"} {
			if s := summaryOf(t, dir.Path(run)); *s.PrefixCache.UnplannedHitTokens != 0 {
				t.Errorf("%s: %+v", run, s.PrefixCache)
			}
		}
	}
	// With the same prompts in every run, the first is cold and the second warm, which is said and not held against it.
	code, dir, _, stderr := swept(t, t.Context(), append(args, "--same-prompts")...)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	cold, warm := summaryOf(t, dir.Path("s1-01-concurrency-1")), summaryOf(t, dir.Path("s1-02-concurrency-2"))
	if *cold.PrefixCache.UnplannedHitTokens != 0 || *warm.PrefixCache.UnplannedRatio() < 0.5 || !warm.Valid || !warned(warm, "(--same-prompts)") {
		t.Errorf("%+v, then %+v, %q", cold.PrefixCache, warm.PrefixCache, warm.Warnings)
	}
	if code, _, _, stderr := swept(t, t.Context(), append(args, "--repeat-of=x")...); code != exitUsage || !strings.Contains(stderr, "--repeat-of: it is of one run") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestPromptsOfAFileAreACaveat(t *testing.T) {
	t.Parallel()
	file := textFile(t, strings.Repeat("It was a dark and stormy night in Marseille, and the rain fell in torrents. ", 20)+"\n"+strings.Repeat("Call me Ishmael, some years ago, never mind how long precisely. ", 20))
	args := []string{"--url", engine(t, 0), "--prompts", file, "--requests=2", "--warmup=0", "--output-tokens=2"}
	for run := range 2 {
		code, dir, stdout, stderr := invoke(t, t.Context(), args...)
		if s := summaryOf(t, dir); code != exitDone || warned(s, "(the prompts of a file)") != (run == 1) {
			t.Errorf("run %d: exit %d, warnings %q: %s%s", run, code, s.Warnings, stdout, stderr)
		}
	}
}

func TestTheEnginesPageShowsReuseWhereAnswersDoNot(t *testing.T) {
	t.Parallel()
	_, address := simulated(t, func(c *sim.Config) { c.CachedTokens = false })
	// A page that is read every second gives the run a second around its load, in which this busy computer gets to read it.
	args := []string{"--url", address, "--engine=vllm", "--scrape=vllm=" + address, "--input-tokens=200", "--requests=12", "--warmup=0", "--output-tokens=2"}
	code, cold, stdout, stderr := invoke(t, t.Context(), args...)
	if s := summaryOf(t, cold); code != exitDone || s.PrefixCache == nil || s.PrefixCache.Source != "engine" || *s.PrefixCache.UnplannedHitTokens != 0 {
		t.Errorf("exit %d, %+v: %s%s", code, s.PrefixCache, stdout, stderr)
	}
	_, warm, _, _ := invoke(t, t.Context(), append(args, "--repeat-of", cold)...)
	if s := summaryOf(t, warm); s.PrefixCache == nil || *s.PrefixCache.UnplannedRatio() < 0.5 || !warned(s, "(--repeat-of)") {
		t.Errorf("%+v: %q", s.PrefixCache, s.Warnings)
	}
}

// A stand-in for vLLM in its development mode empties nothing: what is judged here is the order and the record. The
// real one was tried by hand, since its mode has to be on.
func TestARunHasTheEngineEmptyItsPrefixCacheBeforeTheLoad(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer string
		status int
		done   bool
		shown  string
	}{
		"done":    {`{"success":true}`, http.StatusOK, true, "prefix cache emptied before the load"},
		"refused": {"", http.StatusForbidden, false, "--reset-prefix-cache: the engine did not empty its prefix cache: POST /reset_prefix_cache answered 403"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked, resets, at atomic.Int64 // at is the requests before the reset
			url := inFront(t, engine(t, time.Millisecond), func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
				switch {
				case r.URL.Path == "/reset_prefix_cache" && r.Method == http.MethodPost:
					resets.Add(1)
					at.Store(asked.Load())
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, c.answer)
					return
				case strings.HasSuffix(r.URL.Path, "/completions"):
					asked.Add(1)
				}
				pass.ServeHTTP(w, r)
			})
			dir, out, _ := completed(t, "--url", url, "--engine=vllm", "--reset-prefix-cache", "--requests=6", "--warmup=0", "--input-tokens=64", "--output-tokens=4")
			if !strings.Contains(out, c.shown) {
				t.Errorf("printed %s", out)
			}
			if r := manifestOf(t, dir).Server.PrefixCacheReset; r == nil || r.Done != c.done || r.Status != c.status || resets.Load() != 1 {
				t.Errorf("%+v of %d requests", r, resets.Load())
			}
			// All that comes after it but the load is the fingerprint at the end.
			if before, load := at.Load(), asked.Load()-at.Load(); before == 0 || load < 6 {
				t.Errorf("%d requests before the reset, %d after it", before, load)
			}
		})
	}
}

func TestARunWhoseEngineCannotEmptyItsCacheIsBadInput(t *testing.T) {
	t.Parallel()
	url := engine(t, time.Millisecond)
	for engine, want := range map[string]string{
		"vllm":   "--reset-prefix-cache: " + url + ": POST /reset_prefix_cache answered 404 Not Found: vLLM has it with VLLM_SERVER_DEV_MODE=1 in its environment only",
		"trtllm": "--reset-prefix-cache: " + url + ": engine trtllm has no request that empties its prefix cache; vllm and sglang have one",
	} {
		code, folder, _, says := invoke(t, t.Context(), "--url", url, "--engine", engine, "--reset-prefix-cache", "--requests=6")
		if code != exitUsage || strings.Count(says, want) != 1 {
			t.Errorf("%s: exit %d: %s", engine, code, says)
		}
		if _, err := os.Stat(folder); err == nil {
			t.Errorf("%s: a folder of a run that never began", engine)
		}
	}
}
