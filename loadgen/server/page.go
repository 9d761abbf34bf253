package server

import (
	"net/http"

	"github.com/umascope/umascope/exporter/metric"
)

// PlannedPage is where an engine has its page of metrics, before it is there to be asked. What TensorRT-LLM has at the
// path of the others it hands out once.
func (t Target) PlannedPage() string {
	if t.Engine == "trtllm" {
		return t.URL + metric.ForeignTensorRTLLMPagePath
	}
	return t.URL + metricsPath
}

// PageClient reads the page of metrics with the header and the certificates of the target.
func (t Target) PageClient() (*http.Client, error) {
	key, err := t.apiKey()
	if err != nil {
		return nil, err
	}
	api, err := newAPI(t, key)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: admitted{api.client.Transport, api.header}}, nil
}

// admitted sends a header with every request.
type admitted struct {
	http.RoundTripper
	header http.Header
}

func (a admitted) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range a.header {
		r.Header[name] = values
	}
	return a.RoundTripper.RoundTrip(r)
}

// CloseIdleConnections is what http.Client asks its transport for.
func (a admitted) CloseIdleConnections() {
	if t, is := a.RoundTripper.(*http.Transport); is {
		t.CloseIdleConnections()
	}
}
