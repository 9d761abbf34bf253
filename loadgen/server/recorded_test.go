package server

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/umascope/umascope/exporter/engine/supported"
)

// recordedServer answers as a real server did, whose answers testdata/record has written down. A question
// that was not recorded fails the test.
func recordedServer(t *testing.T, name string) *api {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "recorded", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string][]byte{}
	for _, file := range archive.Files {
		answers[file.Name] = file.Data
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		question := r.Method + " " + r.URL.Path
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if string(body) == "{}" {
			question += " {}"
		}
		recorded, known := answers[question]
		if !known {
			t.Errorf("%s: %q was not recorded", name, question)
		}
		answer, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(recorded)), r)
		if err != nil {
			t.Errorf("%s: %s: %v", name, question, err)
			return
		}
		for header, values := range answer.Header {
			w.Header()[header] = values
		}
		w.WriteHeader(answer.StatusCode)
		if _, err := io.Copy(w, answer.Body); err != nil {
			t.Errorf("%s: %s: %v", name, question, err)
		}
	}))
	t.Cleanup(s.Close)
	api, err := newAPI(Target{Known: supported.Engines(), URL: s.URL}, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.close)
	return api
}

// TestRealServersAreRecognized holds what is read out of recorded answers against what is known of the
// servers that gave them. The gateways stood before vLLM 0.32.0, Dynamo's workers were its mockers.
func TestRealServersAreRecognized(t *testing.T) {
	for name, want := range map[string]struct {
		model, owner, engine, version, gateway string
		context                                int
		clue                                   string // of the engine's, one that must be there
	}{
		"vllm-0.32.0":         {"tiny-llama", "vllm", "vllm", "0.32.0", "", 4096, "/metrics has series vllm:…"},
		"dynamo-1.6.1":        {"Tiny-Llama", "nvidia", "dynamo", "1.6.1", "", 4096, "/health lists workers"},
		"smg-1.13.0":          {"tiny-llama", "self_hosted", "vllm", "0.32.0", "smg", 0, `its answers have the system_fingerprint "vllm-0.32.0-30e88cc7"`},
		"sglang-router-0.3.2": {"unknown", "local", "openai", "", "sglang-router", 0, "its errors are those of a server written in Rust"},
		// -c 8192 -np 2, a vocabulary of bytes.
		"llama.cpp-0c1e570": {"tiny.gguf", "llamacpp", "llamacpp", "b0-unknown", "", 4096, "it calls itself llama.cpp"},
		"litellm-1.106.2":   {"gateway-model", "openai", "vllm", "0.32.0", "LiteLLM", 4096, "gateway LiteLLM (it calls itself LiteLLM API)\nLiteLLM 1.106.2"},
	} {
		t.Run(name, func(t *testing.T) {
			api := recordedServer(t, name)
			models, err := api.models(t.Context())
			if err != nil || len(models) != 1 {
				t.Fatalf("%+v, %v", models, err)
			}
			m := models[0]
			got := api.detect(t.Context(), m)
			if limit := api.contextOf(t.Context(), m, got.engine); m.ID != want.model || m.OwnedBy != want.owner || limit != want.context {
				t.Errorf("model %+v, limit %d", m, limit)
			}
			if got.engine != want.engine || got.version != want.version || got.gateway != want.gateway {
				t.Errorf("%q %q behind %q: %+v", got.engine, got.version, got.gateway, got.clues)
			}
			if against := got.contradiction(got.engine); against != "" {
				t.Errorf("against it: %s", against)
			}
			var clues []string
			for _, c := range got.clues {
				clues = append(clues, c.Says)
			}
			if all := strings.Join(clues, "\n"); !strings.Contains(all, want.clue) {
				t.Errorf("clues:\n%s", all)
			}
		})
	}
}

// Every recording is read by a test, and none has an address or a folder of the machine that made it.
func TestRecordingsAreMasked(t *testing.T) {
	files, err := filepath.Glob("testdata/recorded/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, private := range []string{"/tmp/", "/home/", "/root/", "sk-"} {
			if strings.Contains(string(text), private) {
				t.Errorf("%s has %q", file, private)
			}
		}
	}
}

// vLLM's framework fills in its own default, which is not the version of an engine.
func TestOnlyAServersOwnDescriptionHasItsVersion(t *testing.T) {
	for name, want := range map[string]string{"vllm-0.32.0": "", "litellm-1.106.2": "", "dynamo-1.6.1": "1.6.1", "smg-1.13.0": ""} {
		if got := recordedServer(t, name).version(t.Context(), "dynamo"); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
