package loadgen

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/rundir"
)

// Prompts may be somebody's: they are kept on request, for one reader, without the keys that a prompt or an answer may
// repeat, and are never published.
func TestPromptsAreKeptForTheirOwnerAlone(t *testing.T) {
	const secret = "sk-kept-0123456789"
	t.Setenv("OPENAI_API_KEY", secret)
	server := listing(t, "m", func(w http.ResponseWriter, _ *http.Request) {
		streamed(w, `{"model":"m","choices":[{"delta":{"content":"plum <jam> `+secret+`"},"finish_reason":"stop"}]}`)
	})
	prompts := filepath.Join(t.TempDir(), "prompts.txt")
	overwrite(t, prompts, "a recipe for <jam>, with my key "+secret+"\n")
	args := []string{"--url", server, "--requests=3", "--warmup=1", "--output-tokens=4", "--prompts", prompts}
	_, without, _, _ := invoke(t, t.Context(), args...)
	if _, err := os.Stat(filepath.Join(without, rundir.PromptsFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("prompts that were not asked for: %v", err)
	}
	for endpoint, sent := range map[string]string{"chat": `"messages":[{"content":"`, "completions": `"prompt":"`} {
		_, dir, _, stderr := invoke(t, t.Context(), append(args, "--save-prompts", "--endpoint="+endpoint)...)
		info, err := os.Stat(filepath.Join(dir, rundir.PromptsFile))
		if err != nil {
			t.Fatalf("%v: %s", err, stderr)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("mode %s", info.Mode())
		}
		kept := text(t, dir, rundir.PromptsFile)
		if strings.Contains(kept, secret) {
			t.Errorf("a secret is kept: %s", kept)
		}
		seen := map[string]bool{}
		for line := range strings.Lines(kept) {
			var l rundir.PromptLine
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatal(err)
			}
			seen[fmt.Sprint(l.Phase, l.Index)] = true
			if !strings.Contains(line, sent) || !strings.Contains(line, "a recipe for <jam>, with my key [redacted]") {
				t.Errorf("line %s", line)
			}
			if endpoint == "chat" && l.Answer != "plum <jam> [redacted]" {
				t.Errorf("answer %q", l.Answer)
			}
		}
		if want := map[string]bool{"warmup0": true, "measure0": true, "measure1": true, "measure2": true}; !maps.Equal(seen, want) {
			t.Errorf("requests %v", seen)
		}
		archive := filepath.Join(t.TempDir(), "runs.tar.gz")
		if code, _, stderr := invokeVerb(t, "runs", "archive", dir, "--to", archive); code != exitDone {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		if info, err := os.Stat(archive); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("an archive of prompts: %v, %v", info.Mode(), err)
		}
		for _, how := range [][]string{nil, {"--with=outputs,conversations,logs,captures,snapshots"}} {
			pack := filepath.Join(t.TempDir(), "pack")
			succeeded(t, append([]string{"publish", dir, "--out", pack}, how...)...)
			everything(t, pack, func(name, content string) {
				if strings.Contains(name, "prompts.jsonl") || strings.Contains(content, "a recipe for") {
					t.Errorf("%v: %s is published", how, name)
				}
			})
		}
	}
}
