package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/loadgen/openai"
)

const (
	// longestAnswer is the most of an answer that is read, in bytes.
	longestAnswer = 4 << 20
	// probeTimeout is the longest that one request may take, if the load's requests may take as long. A server that is loading a model may answer slowly.
	probeTimeout = 10 * time.Second
)

// api sends requests about the server itself, outside of the measurement.
type api struct {
	root    string
	known   spec.Engines // that the server may be
	header  http.Header
	secrets *openai.Redactor // of values in the header that must not appear in any record
	// credentials removes the secrets that no recorded answer may contain.
	credentials *openai.Redactor
	client      *http.Client
	// limit is the longest time of one request.
	limit time.Duration
	// detection is the longest time in which detect may ask for all its pages.
	detection time.Duration
}

// newAPI makes a client of its own, so that the connections of the measuring client are not warm before it begins.
func newAPI(t Target, key string) (*api, error) {
	// No proxy, as in the measuring client: both must reach the same server.
	transport := &http.Transport{DialContext: t.Dial, DisableCompression: true}
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
	limit := within(probeTimeout, t.RequestTimeout)
	return &api{
		limit:       limit,
		detection:   within(detectTimeout, t.RequestTimeout),
		root:        t.URL,
		known:       t.Known,
		header:      header,
		secrets:     openai.NewRedactor(openai.Secrets(header)),
		credentials: openai.NewRedactor(openai.Credentials(header)),
		client:      &http.Client{Transport: transport, Timeout: limit, CheckRedirect: refuseRedirect},
	}, nil
}

// within returns the same API, whose requests take at most as long as the limit.
func (a *api) within(limit time.Duration) *api {
	limited := *a
	limited.limit = limit
	limited.client = &http.Client{Transport: a.client.Transport, Timeout: limit, CheckRedirect: refuseRedirect}
	return &limited
}

// IsOpenAI reports whether an OpenAI-compatible API is at a URL: it lists models, or wants a key. It sends none.
func IsOpenAI(ctx context.Context, url string) bool {
	api, err := newAPI(Target{URL: url}, "")
	if err != nil {
		return false
	}
	defer api.close()
	answer := api.fetch(ctx, "/v1/models")
	return answer.status == http.StatusOK || answer.status == http.StatusUnauthorized
}

// trust adds the certificate authorities of a PEM file to the system's.
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

// refuseRedirect returns the redirect itself to the caller. The user chose where a key and prompts are sent, and a
// server must not change that.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// reply is the answer to one request. An error has status 0.
type reply struct {
	status int
	header http.Header
	body   []byte
	err    error // never contains the URL, which the caller adds
}

// okBody returns the body of an answer with status 200, else nil.
func (r reply) okBody() []byte {
	if r.status != http.StatusOK {
		return nil
	}
	return r.body
}

// fetch requests a path.
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
	request.Host = a.header.Get("Host") // net/http ignores a Host field in the header
	response, err := a.client.Do(request)
	if err != nil {
		return reply{err: a.plain(err)}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, longestAnswer))
	if err != nil {
		err = a.plain(err)
	}
	for _, values := range response.Header {
		for i := range values {
			values[i] = a.secrets.Text(values[i])
		}
	}
	return reply{status: response.StatusCode, header: response.Header, body: a.credentials.Answer(text), err: err}
}

// silentError is the error of a request that was not answered, or not to the end, within the limit.
type silentError struct{ limit time.Duration }

func (e silentError) Error() string { return fmt.Sprintf("no answer within %s", e.limit) }

// plain returns the error of a request without its URL, and that of the client's own deadline in plain words.
func (a *api) plain(err error) error {
	// The client's deadline is no context's: its error has no cause that could be compared.
	if late := (net.Error)(nil); errors.As(err, &late) && late.Timeout() && strings.Contains(err.Error(), "Client.Timeout") {
		return silentError{a.limit}
	}
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// close closes the connections.
func (a *api) close() { a.client.CloseIdleConnections() }

// printable makes foreign text printable as openai.Printable does, up to the length that messages repeat.
func printable(text string) string { return openai.Printable(text, openai.LongestForeign) }
