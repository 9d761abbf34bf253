package server

import (
	"encoding/json"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
)

func TestContextIsAskedOfServersThatDoNotListIt(t *testing.T) {
	const ollama = `{"models":[{"name":"other","context_length":1},{"name":"llama3:latest","size_vram":0,"context_length":4096}]}`
	for name, c := range map[string]struct {
		texts map[string]string
		want  int
	}{
		"llama.cpp's slot":       {map[string]string{"/props": `{"default_generation_settings":{"params":{"n_predict":-1},"n_ctx":2048},"total_slots":2}`}, 2048},
		"Ollama's loaded model":  {map[string]string{"/api/ps": ollama}, 4096},
		"Ollama before 0.10":     {map[string]string{"/api/ps": `{"models":[{"name":"llama3:latest"}]}`}, 0},
		"Ollama, not loaded":     {map[string]string{"/api/ps": `{"models":[]}`}, 0},
		"another server's props": {map[string]string{"/props": `{"default_generation_settings":null}`}, 0},
		"no such figure":         {map[string]string{"/props": `{"default_generation_settings":{"n_ctx":-1}}`}, 0},
		"a page, no JSON":        {map[string]string{"/props": "<html>", "/api/ps": "<html>"}, 0},
		"none of both":           {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pathServer(t, c.texts).contextOf(t.Context(), Model{ID: "llama3:latest"}, "openai"); got != c.want {
				t.Errorf("%d tokens, want %d", got, c.want)
			}
		})
	}
}

// llama.cpp lists the context of a slot, and beside it the one that the model was trained with, which a
// server with less memory does not have.
func TestModelListTellsTheContextByFourNames(t *testing.T) {
	for text, want := range map[string]int{
		`{"id":"m","owned_by":"nvidia","context_window":4096}`:                          4096,
		`{"id":"m","owned_by":"nvidia","context_window":0}`:                             0,
		`{"id":"m","owned_by":"openai","max_input_tokens":4096,"max_output_tokens":16}`: 4096,
		`{"id":"m","owned_by":"openai","max_input_tokens":4096.0}`:                      4096,
		`{"id":"m","owned_by":"openai","max_input_tokens":null,"max_model_len":"8k"}`:   0,
		`{"id":"m","max_model_len":-1,"context_window":1e300,"max_input_tokens":0.5}`:   0,
		`{"id":"m","owned_by":"vllm","max_model_len":8192}`:                             8192,
		`{"id":"m","owned_by":"llamacpp","meta":{"n_ctx":4096,"n_ctx_train":131072}}`:   4096,
		`{"id":"m","owned_by":"llamacpp","meta":{"n_ctx_train":131072}}`:                0,
		`{"id":"m","owned_by":"llamacpp","meta":null}`:                                  0,
		`{"id":"m","owned_by":"me","max_model_len":8192,"meta":{"n_ctx":1}}`:            8192,
		`{"id":"m","owned_by":"llamacpp","meta":"a text"}`:                              0,
		`{"id":"m","owned_by":"llamacpp","max_model_len":8192,"meta":{"n_ctx":"4096"}}`: 8192,
	} {
		api := pathServer(t, map[string]string{"/v1/models": `{"data":[` + text + `]}`})
		models, err := api.models(t.Context())
		if err != nil || len(models) != 1 || models[0].MaxTokens != want || models[0].ID != "m" {
			t.Errorf("%s: %+v, %v", text, models, err)
		}
	}
}

// Dynamo 0.7.1 lists no context, and its page has this line.
func TestContextIsOnThePageOfDynamo(t *testing.T) {
	const page = "dynamo_frontend_model_context_length{model=\"Tiny-Llama-8B\"} 32768\n" +
		"dynamo_frontend_model_context_length{model=\"another\"} 0\ndynamo_frontend_model_context_length_total{model=\"third\"} 5\n"
	api := pathServer(t, map[string]string{"/metrics": page})
	for id, want := range map[string]int{"Tiny-Llama-8B": 32768, "tiny-llama-8b": 32768, "another": 0, "third": 0} {
		if got := api.contextOf(t.Context(), Model{ID: id}, "dynamo"); got != want {
			t.Errorf("%s: %d", id, got)
		}
	}
	if got := api.contextOf(t.Context(), Model{ID: "another"}, "trtllm"); got != 0 {
		t.Errorf("another engine: %d", got)
	}
}

// sglang-router lists one model, "unknown", and passes any name on.
func TestAListThatNamesNoModelHasTheOneAskedFor(t *testing.T) {
	listed := []Model{{ID: "unknown", OwnedBy: "local"}}
	for _, wanted := range []string{"", "unknown", "tiny-llama"} {
		want := wanted
		if want == "" {
			want = "unknown"
		}
		if got, err := choose(listed, wanted); err != nil || got.ID != want {
			t.Errorf("%q: %+v, %v", wanted, got, err)
		}
	}
	if _, err := choose(append(listed, Model{ID: "m"}), "tiny-llama"); err == nil {
		t.Error("a list that names a model has another one too")
	}
}

// FuzzContext: a figure that comes out of a body stands in it, and none is below 0.
func FuzzContext(f *testing.F) {
	for _, seed := range []string{
		`{"default_generation_settings":{"n_ctx":4096}}`, `{"models":[{"name":"m","context_length":4096}]}`,
		`{"id":"m","meta":{"n_ctx":4096}}`, `{"id":"m","context_window":4096}`, `{"id":"m","max_input_tokens":1e99}`, `{"default_generation_settings":{"n_ctx":-1}}`, `{"models":[{"name":"m","context_length":1e3}]}`, `[`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var listed listedModel
		_ = json.Unmarshal(body, &listed) // what is no model has no context
		read := []int{listed.context()}
		for _, e := range supported.Engines() {
			if e.Context != nil {
				read = append(read, int(wholeTokens(e.Context.Read(body, "m"))))
			}
		}
		for _, tokens := range read {
			if tokens < 0 || tokens > 0 && !json.Valid(body) {
				t.Errorf("%d tokens from %q", tokens, body)
			}
		}
		line := append([]byte(`context{model="m"} `), body...)
		if tokens := modelGauge(line, "context", "m"); tokens < 0 {
			t.Errorf("%d tokens from %q", tokens, line)
		}
	})
}
