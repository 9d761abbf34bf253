package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// serve answers as the made-up engine Lantern of the page: a list of models, a version, a page of metrics, and completions. It
// refuses the fields of requests that the walk does not declare.
func serve(address string) error {
	server := http.Server{Addr: address, Handler: http.HandlerFunc(answer), ReadHeaderTimeout: 10 * time.Second}
	return server.ListenAndServe()
}

func answer(w http.ResponseWriter, r *http.Request) {
	fixed := map[string]string{
		"/v1/models": `{"data":[{"id":"small","owned_by":"lantern","max_model_len":4096}]}`,
		"/version":   `{"version":"1.0"}`,
	}
	switch {
	case r.URL.Path == "/metrics":
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprintln(w, `lantern_kv_tokens{model="small"} 4096`)
	case fixed[r.URL.Path] != "":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintln(w, fixed[r.URL.Path])
	case strings.HasPrefix(r.URL.Path, "/v1/") && r.Method == http.MethodPost:
		complete(w, r)
	default:
		http.NotFound(w, r)
	}
}

// complete streams an answer of three tokens, or returns it whole.
func complete(w http.ResponseWriter, r *http.Request) {
	var asked map[string]any
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&asked); err != nil {
		http.Error(w, `{"error":{"message":"no JSON"}}`, http.StatusBadRequest)
		return
	}
	for _, field := range []string{"min_tokens", "cache_salt", "return_token_ids"} {
		if asked[field] != nil {
			http.Error(w, `{"error":{"message":"unknown field `+field+`"}}`, http.StatusBadRequest)
			return
		}
	}
	const usage = `"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}`
	if asked["stream"] != true {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintln(w, `{"id":"1","model":"small","choices":[{"index":0,"message":{"role":"assistant","content":"a b c"},"finish_reason":"length"}],`+usage+`}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range []string{
		`{"id":"1","model":"small","choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}`,
		`{"id":"1","model":"small","choices":[{"index":0,"delta":{"content":" b"}}]}`,
		`{"id":"1","model":"small","choices":[{"index":0,"delta":{"content":" c"},"finish_reason":"length"}]}`,
		`{"id":"1","model":"small","choices":[],` + usage + `}`, "[DONE]",
	} {
		fmt.Fprintf(w, "data: %s\n\n", event)
		if flusher, can := w.(http.Flusher); can {
			flusher.Flush()
		}
		time.Sleep(5 * time.Millisecond)
	}
}
