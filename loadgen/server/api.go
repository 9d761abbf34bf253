package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
)

const (
	// longestAnswer bounds what a server may say about itself.
	longestAnswer = 4 << 20
	// probeTimeout bounds one question; a server that is loading a model may be slow to answer.
	probeTimeout = 10 * time.Second
)

// api asks the server under test about itself, outside of what is measured.
type api struct {
	root    string
	header  http.Header
	secrets []string // what of the header nothing may repeat that is written down
	// credentials are those of them that no answer has once it is here.
	credentials []string
	client      *http.Client
}

// newAPI makes a client of its own: connections of the one that measures shall not be warm before it
// begins.
func newAPI(t Target, key string) (*api, error) {
	// No proxy, like the client that measures: both must meet the same server.
	transport := &http.Transport{DisableCompression: true}
	if t.CAFile != "" {
		trusted, err := trust(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("--ca-file: %w", err)
		}
		transport.TLSClientConfig = trusted
	}
	header := t.RequestHeader()
	if key != "" && header.Get("Authorization") == "" {
		header.Set("Authorization", "Bearer "+key)
	}
	return &api{
		root:        t.URL,
		header:      header,
		secrets:     openai.Secrets(header),
		credentials: openai.Credentials(header),
		client:      &http.Client{Transport: transport, Timeout: probeTimeout, CheckRedirect: refuseRedirect},
	}, nil
}

// trust adds the authorities of a PEM file to the system's.
func trust(path string) (*tls.Config, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", path)
	}
	return &tls.Config{RootCAs: pool}, nil
}

// refuseRedirect hands the redirect itself to the caller: where a key and prompts go was said
// on the command line, and nobody else may change it.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// reply is what the server said to one question; an error has status 0.
type reply struct {
	status int
	header http.Header
	body   []byte
	err    error // never repeats the URL, which the caller names
}

// okBody is the body of an answer with status 200, else nothing.
func (r reply) okBody() []byte {
	if r.status != http.StatusOK {
		return nil
	}
	return r.body
}

// fetch gets a path.
func (a *api) fetch(ctx context.Context, path string) reply {
	return a.send(ctx, http.MethodGet, path, nil)
}

func (a *api) send(ctx context.Context, method, path string, body []byte) reply {
	request, err := http.NewRequestWithContext(ctx, method, a.root+path, bytes.NewReader(body))
	if err != nil {
		return reply{err: err}
	}
	request.Header = a.header.Clone()
	if request.Header == nil {
		request.Header = http.Header{}
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Host = a.header.Get("Host") // net/http ignores the header itself
	response, err := a.client.Do(request)
	if err != nil {
		return reply{err: withoutURL(err)}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, longestAnswer))
	for _, values := range response.Header {
		for i := range values {
			values[i] = openai.Redact(values[i], a.secrets)
		}
	}
	return reply{status: response.StatusCode, header: response.Header, body: openai.RedactAnswer(text, a.credentials), err: err}
}

func withoutURL(err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// close frees the connections.
func (a *api) close() { a.client.CloseIdleConnections() }

// printable is chat's rule for foreign text, at the length of what messages repeat.
func printable(text string) string { return openai.Printable(text, openai.LongestForeign) }
