package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// pass passes requests on to a server, and stamps when those for a stream came and when each event of the answer went
// back. Its stamps have in them what the server's HTTP and the connection to it take.
type pass struct {
	truth  truth
	to     *url.URL
	others *httputil.ReverseProxy
	client *http.Client
}

func newPass(address string) (*pass, error) {
	to, err := url.Parse(address)
	if err != nil || to.Host == "" {
		return nil, fmt.Errorf("%q is no URL of a server", address)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.DisableCompression, transport.Proxy = 64, true, nil
	return &pass{to: to, others: httputil.NewSingleHostReverseProxy(to), client: &http.Client{Transport: transport}}, nil
}

// ServeHTTP implements [http.Handler].
func (p *pass) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	one := &request{ReceivedNS: p.truth.now()}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, longestBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var asked struct {
		Stream        bool `json:"stream"`
		MaxTokens     int  `json:"max_tokens"`
		MaxCompletion int  `json:"max_completion_tokens"`
	}
	_ = json.Unmarshal(body, &asked) // what is no JSON is passed on
	r.Body = io.NopCloser(bytes.NewReader(body))
	if !asked.Stream {
		p.others.ServeHTTP(w, r)
		return
	}
	one.Asked = max(asked.MaxTokens, asked.MaxCompletion)
	p.truth.add(one)
	out, err := http.NewRequestWithContext(r.Context(), r.Method, p.to.JoinPath(r.URL.Path).String(), r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out.Header, out.ContentLength = r.Header.Clone(), int64(len(body))
	answer, err := p.client.Do(out)
	if err != nil {
		one.Status = http.StatusBadGateway
		http.Error(w, err.Error(), one.Status)
		return
	}
	defer answer.Body.Close()
	one.Status = answer.StatusCode
	for _, name := range []string{"Content-Type", "X-Request-Id"} {
		if value := answer.Header.Get(name); value != "" {
			w.Header().Set(name, value)
		}
	}
	w.WriteHeader(one.Status)
	if err := p.events(w, answer.Body, one); err != nil && !errors.Is(err, io.EOF) {
		one.Status = http.StatusBadGateway
	}
}

// events passes on what is there, an event at a time.
func (p *pass) events(w http.ResponseWriter, from io.Reader, one *request) error {
	in, control := bufio.NewReaderSize(from, 1<<16), http.NewResponseController(w)
	for {
		line, err := in.ReadBytes('\n')
		if data, is := bytes.CutPrefix(line, []byte("data:")); is {
			p.stamp(data, one)
		}
		if _, wrong := w.Write(line); wrong != nil {
			return wrong
		}
		// The rest of an event that is here already goes with it.
		if in.Buffered() == 0 || len(bytes.TrimSpace(line)) == 0 {
			_ = control.Flush()
		}
		if err != nil {
			p.complete(one)
			return err
		}
	}
}

// stamp reads an event.
func (p *pass) stamp(data []byte, one *request) {
	at := p.truth.now()
	var event struct {
		Choices []struct {
			Delta struct {
				Content   string `json:"content"`
				Reasoning string `json:"reasoning_content"`
			} `json:"delta"`
			IDs []int `json:"token_ids"`
		} `json:"choices"`
		Usage *struct {
			Prompt  int `json:"prompt_tokens"`
			Output  int `json:"completion_tokens"`
			Details struct {
				Cached int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		} `json:"usage"`
		Timings *timings `json:"timings"`
	}
	if json.Unmarshal(data, &event) != nil {
		return // the end of the stream
	}
	for _, c := range event.Choices {
		silent := c.Delta.Content+c.Delta.Reasoning == ""
		if silent && (len(c.IDs) == 0 || len(one.WrittenNS) == 0) { // the first token that a client can see has text
			continue
		}
		if silent {
			one.Silent = append(one.Silent, len(one.WrittenNS))
		}
		one.WrittenNS, one.Tokens = append(one.WrittenNS, at), append(one.Tokens, float64(len(c.IDs)))
	}
	if u := event.Usage; u != nil {
		one.Prompt, one.Cached, one.output = u.Prompt, u.Details.Cached, u.Output
	}
	if event.Timings != nil {
		one.Timings = event.Timings
	}
}

// complete fills in what the end of an answer has: the tokens of events that do not have them, the same share each, and
// what llama.cpp found in its cache.
func (p *pass) complete(one *request) {
	if t := one.Timings; t != nil {
		one.Prompt, one.Cached = t.PromptN+t.CacheN, t.CacheN
	}
	for _, n := range one.Tokens {
		if n == 0 {
			for i := range one.Tokens {
				one.Tokens[i] = float64(one.output) / float64(len(one.Tokens))
			}
			return
		}
	}
}
