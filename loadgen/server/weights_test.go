package server

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

// modelFolder is a folder of weights of so many bytes.
func modelFolder(t *testing.T, sizes map[string]int) string {
	t.Helper()
	dir := t.TempDir()
	for name, size := range sizes {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestWeightsAreMeasuredWhereTheProcessOfALocalServerHasThem(t *testing.T) {
	server := httptest.NewServer(&picky{}) // its process is this one
	defer server.Close()
	dir := modelFolder(t, map[string]int{"config.json": 100, "a.safetensors": 1000, "b.safetensors": 24, "tokenizer.json": 7})
	if err := os.Symlink("a.safetensors", filepath.Join(dir, "linked.safetensors")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "no.safetensors"), 0o700); err != nil {
		t.Fatal(err)
	}
	got, _, err := weightsBehind(server.URL, dir)
	if err != nil {
		t.Fatal(err)
	}
	if got.Bytes != 2024 || got.Files != 3 || got.ConfigSHA256 != sha256Hex(make([]byte, 100)) {
		t.Errorf("%+v", got)
	}
	f := fingerprint{Fingerprint: rundir.Fingerprint{Endpoint: string(openai.Chat), ProbeTokens: []int{1}, Weights: &got}}
	if id := f.id(); !strings.HasPrefix(id, "chat-") || !strings.HasSuffix(id, "+weights-2024") {
		t.Errorf("id %q", id)
	}
}

// TestWeightsOfOneModelAreTheSameEachTime: what a step reads of them is computed anew for each fingerprint.
func TestWeightsOfOneModelAreTheSameEachTime(t *testing.T) {
	server := httptest.NewServer(&picky{})
	defer server.Close()
	dir := modelFolder(t, map[string]int{"a.safetensors": 1 << 20})
	config := `{"num_hidden_layers":2,"num_attention_heads":4,"hidden_size":64,"vocab_size":1000,"tie_word_embeddings":false}`
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var prints [2]fingerprint
	for i := range prints {
		found, _, err := weightsBehind(server.URL, dir)
		if err != nil || found.Step == nil || found.Step.WeightsBytes != 1<<20-1000*64*2 {
			t.Fatalf("%+v, %v", found, err)
		}
		prints[i] = fingerprint{Fingerprint: rundir.Fingerprint{Endpoint: string(openai.Chat), Weights: &found}}
	}
	if changed := prints[0].changed(prints[1]); changed != "" {
		t.Error(changed)
	}
}

func TestWeightsThatCannotBeSeenAreMissingAndNoError(t *testing.T) {
	server := httptest.NewServer(&picky{})
	defer server.Close()
	pipe := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(pipe, "config.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ url, folder, says string }{
		"another machine":    {"http://192.0.2.1:8000", "/m", "loopback"},
		"a name":             {"http://spark1:8000", "/m", "loopback"},
		"no folder":          {server.URL, "meta-llama/Llama-3.1-8B", "names no folder"},
		"nobody listens":     {"http://127.0.0.1:1", "/m", "no process is seen"},
		"folder is not here": {server.URL, "/no/such/model", "config.json"},
		"no configuration":   {server.URL, t.TempDir(), "config.json"},
		"no weights":         {server.URL, modelFolder(t, map[string]int{"config.json": 2, "rank0.engine": 9}), "no files of weights"},
		"a pipe":             {server.URL, pipe, "config.json"},
		"too large":          {server.URL, modelFolder(t, map[string]int{"config.json": longestConfig + 1}), "config.json"},
	} {
		if _, _, err := weightsBehind(c.url, c.folder); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
