package server

import (
	"cmp"
	"net/http"
)

// PlannedPage returns the URL of an engine's metrics page, before the engine runs.
func (t Target) PlannedPage() string {
	known, _ := t.Known.Find(t.Engine)
	return t.URL + cmp.Or(known.PagePath(), metricsPath)
}

// PageClient returns a client for the metrics page, with the header and the certificates of the target.
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

// admitted adds a header to every request.
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

// CloseIdleConnections is called by http.Client.
func (a admitted) CloseIdleConnections() {
	if t, is := a.RoundTripper.(*http.Transport); is {
		t.CloseIdleConnections()
	}
}
