package loadgen

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/metric"
)

const (
	// longestAnswer bounds what a server may say about itself.
	longestAnswer = 4 << 20
	// probeTimeout bounds one question; a server that is loading a model may be slow to answer.
	probeTimeout = 10 * time.Second
	// readyInterval is the time between two looks at a server that is starting.
	readyInterval = time.Second
	// listedModels is how many model names an error repeats.
	listedModels = 20
)

// server asks the server under test about itself, outside of what is measured.
type server struct {
	root   string
	header http.Header
	client *http.Client
}

// model is a model as the server lists it.
type model struct {
	ID      string `json:"id"`
	OwnedBy string `json:"owned_by"`
	// MaxTokens is the longest prompt with its output; 0 where the server does not say. vLLM and
	// SGLang do.
	MaxTokens int `json:"max_model_len"`
	// Root is where vLLM and SGLang have loaded the model from: a folder, or a name at a hub.
	Root string `json:"root"`
}

// simulatedSuffix ends the name of an owner that is simulated, as umascope's own simulated engine is.
const simulatedSuffix = "-simulated"

// simulated says whether the model's owner calls it so.
func (m model) simulated() bool { return strings.HasSuffix(m.OwnedBy, simulatedSuffix) }

func newServer(t target, key string) (*server, error) {
	// No proxy, like the client that measures: both must meet the same server.
	transport := &http.Transport{DisableCompression: true}
	if t.caFile != "" {
		trusted, err := trust(t.caFile)
		if err != nil {
			return nil, usage(fmt.Errorf("--ca-file: %w", err))
		}
		transport.TLSClientConfig = trusted
	}
	header := t.requestHeader()
	if key != "" && header.Get("Authorization") == "" {
		header.Set("Authorization", "Bearer "+key)
	}
	return &server{
		root:   t.url,
		header: header,
		client: &http.Client{Transport: transport, Timeout: probeTimeout, CheckRedirect: refuseRedirect},
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

func (t target) requestHeader() http.Header {
	header := http.Header{}
	for _, h := range t.headers {
		header.Add(h.name, h.value)
	}
	return header
}

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
func (s *server) fetch(ctx context.Context, path string) reply {
	return s.send(ctx, http.MethodGet, path, nil)
}

func (s *server) send(ctx context.Context, method, path string, body []byte) reply {
	request, err := http.NewRequestWithContext(ctx, method, s.root+path, bytes.NewReader(body))
	if err != nil {
		return reply{err: err}
	}
	request.Header = s.header.Clone()
	if request.Header == nil {
		request.Header = http.Header{}
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Host = s.header.Get("Host") // net/http ignores the header itself
	response, err := s.client.Do(request)
	if err != nil {
		return reply{err: withoutURL(err)}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, longestAnswer))
	return reply{status: response.StatusCode, header: response.Header, body: text, err: err}
}

func withoutURL(err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// models lists the models. A server that answers with another status than 200 is a failure.
func (s *server) models(ctx context.Context) ([]model, error) {
	answer := s.fetch(ctx, "/v1/models")
	if answer.err != nil {
		return nil, answer.err
	}
	if answer.status != http.StatusOK {
		return nil, fmt.Errorf("GET /v1/models answered %d", answer.status)
	}
	var listed struct {
		Data []model `json:"data"`
	}
	if err := json.Unmarshal(answer.body, &listed); err != nil {
		return nil, fmt.Errorf("GET /v1/models: no model list: %w", err)
	}
	return slices.DeleteFunc(listed.Data, func(m model) bool { return m.ID == "" }), nil
}

// ready returns the models once the server has listed some, consecutive times in a row, within
// the time to wait. Engines open their port minutes before they can answer, and a router lists a
// model before its last worker has it.
func (s *server) ready(ctx context.Context, t target, log *slog.Logger) ([]model, error) {
	if t.waitReady == 0 {
		return s.models(ctx)
	}
	waiting, cancel := context.WithTimeout(ctx, t.waitReady)
	defer cancel()
	log.Info("waiting for the server to list a model", "url", t.url, "at_most", t.waitReady)
	var latest error
	for inRow := 0; ; {
		models, err := s.models(waiting)
		if err == nil && len(models) > 0 {
			if inRow++; inRow >= t.readyConsecutive {
				return models, nil
			}
		} else {
			inRow = 0
			if waiting.Err() == nil {
				latest = err
			}
		}
		select {
		case <-waiting.Done():
			return nil, notReady(ctx, t.waitReady, latest)
		case <-time.After(readyInterval):
		}
	}
}

func notReady(ctx context.Context, waited time.Duration, latest error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if latest == nil {
		latest = errors.New("no model is listed, or not often enough in a row")
	}
	return fmt.Errorf("not ready within %s: %w", waited, latest)
}

// choose picks the model asked for, or the only one.
func choose(models []model, wanted string) (model, error) {
	if wanted != "" {
		for _, m := range models {
			if m.ID == wanted {
				return m, nil
			}
		}
		return model{}, usage(fmt.Errorf("--model: %q is not served; served are: %s", wanted, namesOf(models)))
	}
	switch len(models) {
	case 0:
		return model{}, usage(errors.New("--url: the server lists no model; --wait-ready waits for one"))
	case 1:
		return models[0], nil
	default:
		return model{}, usage(fmt.Errorf("--model: choose one of: %s", namesOf(models)))
	}
}

func namesOf(models []model) string {
	if len(models) == 0 {
		return "none"
	}
	var names []string
	for _, m := range models[:min(len(models), listedModels)] {
		names = append(names, m.ID)
	}
	if more := len(models) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// version asks for the engine's version where it has a route for that, as vLLM, TensorRT-LLM and
// Ollama have; "" otherwise.
func (s *server) version(ctx context.Context) string {
	for _, path := range []string{metric.ForeignVersionPath, "/api/version"} {
		var answer struct {
			Version string `json:"version"`
		}
		if json.Unmarshal(s.fetch(ctx, path).okBody(), &answer) == nil && answer.Version != "" {
			return printable(answer.Version)
		}
	}
	return ""
}
