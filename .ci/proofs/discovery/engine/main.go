// Engine answers as vLLM 0.32.0 did, and prints what it is asked.
//
//	engine ADDRESS PAGE
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	page, err := os.ReadFile(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	answers := map[string]struct{ kind, body string }{
		"/v1/models": {"application/json", `{"object":"list","data":[{"id":"tiny","object":"model","owned_by":"vllm"}]}`},
		"/version":   {"application/json", `{"version":"0.32.0"}`},
		"/metrics":   {"text/plain; version=0.0.4; charset=utf-8", string(page)},
	}
	fmt.Fprintln(os.Stderr, http.ListenAndServe(os.Args[1], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL)
		answer, known := answers[r.URL.Path]
		if !known {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", answer.kind)
		_, _ = io.WriteString(w, answer.body)
	})))
	os.Exit(1)
}
