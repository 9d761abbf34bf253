package loadgen

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/umascope/umascope/loadgen/sim"
	"github.com/umascope/umascope/loadgen/traffic"
)

// overheard is the address of a simulated engine whose prompts are heard as they come: by the hash of
// what stands in the request, how many ids it has.
func overheard(t *testing.T) (url string, heard func(sha256 string) (ids int, sent bool)) {
	t.Helper()
	engine, _ := simulated(t, func(*sim.Config) {})
	var mutex sync.Mutex
	seen := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has gone
		}
		var body struct{ Prompt json.RawMessage }
		var ids []uint32
		if json.Unmarshal(text, &body) == nil && json.Unmarshal(body.Prompt, &ids) == nil {
			sum := sha256.Sum256(body.Prompt)
			mutex.Lock()
			seen[hex.EncodeToString(sum[:])] = len(ids)
			mutex.Unlock()
		}
		r.Body = io.NopCloser(strings.NewReader(string(text)))
		engine.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server.URL, func(sum string) (int, bool) {
		mutex.Lock()
		defer mutex.Unlock()
		n, sent := seen[sum]
		return n, sent
	}
}

func TestPromptsOfIDsHaveExactlyTheLengthThatIsAskedFor(t *testing.T) {
	drawn := []string{"--input-tokens=100:300", "--output-tokens=4", "--requests=10"}
	for name, args := range map[string][]string{
		"closed":          drawn,
		"shared prefix":   append(drawn, "--shared-prefix-tokens=48"),
		"poisson":         append(drawn, "--arrival=poisson", "--rate=200"),
		"whole answers":   append(drawn, "--no-stream"),
		"a trace":         {"--arrival=trace", "--trace=" + mooncake(t), "--trace-unit=ms", "--trace-block-tokens=512"},
		"sets of prompts": {"--scenario=reuse_verify", "--input-tokens=100:300", "--set=requests=4"},
	} {
		t.Run(name, func(t *testing.T) {
			url, heard := overheard(t)
			args = append([]string{"--url", url, "--endpoint=completions", "--prompt-ids", "--warmup=2"}, args...)
			path, _, _ := completed(t, args...)
			sent := records(t, path)
			for _, r := range sent {
				if r.TokensIn == nil || *r.TokensIn != r.InputTokensTarget {
					t.Errorf("%s %d: %v tokens, %d asked for", r.Phase, r.Index, r.TokensIn, r.InputTokensTarget)
				}
				if n, known := heard(r.PromptSHA256); !known || n != r.InputTokensTarget {
					t.Errorf("%s %d: no such prompt was sent, or of %d ids", r.Phase, r.Index, n)
				}
				if (name == "shared prefix") != (r.PrefixSHA256 != "") || r.PrefixSHA256 != sent[0].PrefixSHA256 {
					t.Errorf("prefix %q", r.PrefixSHA256)
				}
			}
			manifest := manifestOf(t, path)
			if scale := manifest.Workload.Scale; scale.Basis != traffic.ByIDs || scale.IDs == nil || !scale.Exact() || manifest.Flags["prompt-ids"] != "true" {
				t.Errorf("scale %+v", scale)
			}
			sum := summaryOf(t, path)
			if !strings.HasPrefix(sum.Tokens.InputLengths, "exact: prompts are token ids") {
				t.Errorf("lengths are %s", sum.Tokens.InputLengths)
			}
		})
	}
}

// mooncake is a small trace whose requests begin alike.
func mooncake(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	text := `{"timestamp":0,"input_length":600,"output_length":3,"hash_ids":[1,2]}
{"timestamp":10,"input_length":900,"output_length":3,"hash_ids":[1,3]}
{"timestamp":20,"input_length":600,"output_length":3,"hash_ids":[1,2]}
`
	overwrite(t, path, text)
	return path
}

func TestTheWorkloadOfIDsDependsOnTheSeedAlone(t *testing.T) {
	url, _ := overheard(t)
	hash := func(more ...string) string {
		_, path, _, stderr := invoke(t, t.Context(), append([]string{"--url", url, "--endpoint=completions", "--prompt-ids", "--requests=3", "--warmup=0", "--output-tokens=2"}, more...)...)
		sum := summaryOf(t, path).WorkloadSHA256
		if sum == "" {
			t.Fatal(stderr)
		}
		return sum
	}
	first := hash()
	if hash() != first || hash("--seed=2") == first {
		t.Error("the hash of the workload is not that of its prompts")
	}
}

func TestIDsThatAServerDoesNotCountAreRefusedBeforeTheRun(t *testing.T) {
	adds := listing(t, "m", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"model":"m","choices":[{"text":"x","finish_reason":"length"}],"usage":{"prompt_tokens":65,"completion_tokens":1}}`))
	})
	code, path, _, stderr := invoke(t, t.Context(), "--url", adds, "--endpoint=completions", "--prompt-ids")
	if code != exitUsage || !strings.Contains(stderr, "--prompt-ids: the server counts 65 tokens in a prompt of 64 token ids") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if left, _ := filepath.Glob(path); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
