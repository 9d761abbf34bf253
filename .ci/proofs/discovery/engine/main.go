// Engine answers as vLLM 0.32.0 did, and prints what it is asked. It is started as vLLM is, by the name vllm:
//
//	vllm serve --host HOST --port PORT --page FILE
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

func main() {
	flags := flag.NewFlagSet("vllm serve", flag.ExitOnError)
	host := flags.String("host", "", "address")
	port := flags.String("port", "8000", "port")
	file := flags.String("page", "", "file with its page of metrics")
	_ = flags.Parse(os.Args[2:])
	page, err := os.ReadFile(*file)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	answers := map[string]struct{ kind, body string }{
		"/v1/models": {"application/json", `{"object":"list","data":[{"id":"tiny","object":"model","owned_by":"vllm"}]}`},
		"/version":   {"application/json", `{"version":"0.32.0"}`},
		"/metrics":   {"text/plain; version=0.0.4; charset=utf-8", string(page)},
	}
	fmt.Fprintln(os.Stderr, http.ListenAndServe(net.JoinHostPort(*host, *port), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
