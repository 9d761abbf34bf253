package grafana

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Limits of requests to Prometheus.
const (
	// answerTimeout is the time limit of one answer, from the first byte sent to the last read.
	answerTimeout = 20 * time.Second
	// answerLimit is the size limit of one answer, in bytes: 11 000 points of some hundred series.
	answerLimit = 32 << 20
	// askedAtOnce is the number of concurrent queries, so that a page full of panels is no burden on a Prometheus that
	// also scrapes.
	askedAtOnce = 4
)

// prometheus queries one Prometheus over its HTTP API.
type prometheus struct {
	name    string // for people
	base    *url.URL
	client  *http.Client
	timeout time.Duration
	slots   chan struct{}
}

// openPrometheus checks the address; it sends no request.
func openPrometheus(config PreviewConfig) (*prometheus, error) {
	address := config.Prometheus
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("%q is no address of a Prometheus: want http://host:port", redacted(address))
	}
	client := &http.Client{
		Timeout: config.Timeout, // of the whole exchange, including the body: a slow body ends too
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("it redirects, which is not followed")
		},
	}
	if config.Dial != nil {
		client.Transport = &http.Transport{DialContext: config.Dial, MaxIdleConnsPerHost: askedAtOnce}
	}
	name := "the Prometheus at " + redacted(base.String())
	if config.Site != nil {
		name = config.Site.Source
	}
	return &prometheus{name: name, base: base, client: client, timeout: config.Timeout, slots: make(chan struct{}, askedAtOnce)}, nil
}

// redacted hides a possible password, also in an address that cannot be parsed.
func redacted(address string) string {
	if scheme, rest, found := strings.Cut(address, "://"); found {
		if at := strings.LastIndex(rest, "@"); at >= 0 {
			return scheme + "://…" + rest[at:]
		}
	}
	return address
}

// String names the Prometheus, without a password.
func (p *prometheus) String() string { return p.name }

// reply is the envelope of every answer.
type reply struct {
	Status, ErrorType, Error string
	Warnings, Infos          []string
	Data                     json.RawMessage
}

// ask sends a query as a form and reads the reply.
func (p *prometheus) ask(ctx context.Context, path string, form url.Values) (reply, error) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return reply{}, p.silent(ctx.Err())
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base.JoinPath(path).String(), strings.NewReader(form.Encode()))
	if err != nil {
		return reply{}, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return p.exchange(request)
}

// get queries endpoints of Prometheus that accept no form: label values.
func (p *prometheus) get(ctx context.Context, path string, form url.Values) (reply, error) {
	address := p.base.JoinPath(path)
	address.RawQuery = form.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return reply{}, err
	}
	return p.exchange(request)
}

func (p *prometheus) exchange(request *http.Request) (reply, error) {
	response, err := p.client.Do(request)
	if err != nil {
		return reply{}, p.silent(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, answerLimit+1))
	if err != nil {
		return reply{}, fmt.Errorf("%s does not answer to the end: %w", p, cause(err))
	}
	if len(body) > answerLimit {
		return reply{}, fmt.Errorf("the answer of %s is longer than %d MiB", p, answerLimit>>20)
	}
	var r reply
	if json.Unmarshal(body, &r) != nil || r.Status == "" {
		return reply{}, p.strange(response)
	}
	if r.Status != "success" {
		return r, fmt.Errorf("%s: %s", r.ErrorType, r.Error)
	}
	return r, nil
}

// silent is the error of a Prometheus that does not answer.
func (p *prometheus) silent(err error) error {
	return fmt.Errorf("%s does not answer: %w", p, cause(err))
}

// strange is the error of an answer that is not one of Prometheus' HTTP API. A failed answer may still be from a
// Prometheus: one that is starting, or one behind a proxy that requires a password.
func (p *prometheus) strange(response *http.Response) error {
	if response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s answers with %s", p, response.Status)
	}
	return fmt.Errorf("%s answers with %s and is no Prometheus", p, response.Status)
}

// cause removes the address from an error: the message has it once, without a password.
func cause(err error) error {
	var slow net.Error
	if errors.As(err, &slow) && slow.Timeout() {
		return errors.New("it takes too long")
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// source runs the queries of variables.
func (p *prometheus) source() Source {
	return Source{LabelValues: p.labelValues, Instant: p.instant}
}

func (p *prometheus) labelValues(ctx context.Context, label, selector string, window Window) ([]string, error) {
	form := url.Values{"start": {unix(window.From)}, "end": {unix(window.To)}}
	if selector != "" {
		form.Set("match[]", selector)
	}
	r, err := p.get(ctx, "api/v1/label/"+url.PathEscape(label)+"/values", form)
	if err != nil {
		return nil, err
	}
	var values []string
	if err := json.Unmarshal(r.Data, &values); err != nil {
		return nil, fmt.Errorf("%s answers with other data than was asked for: %w", p, err)
	}
	return values, nil
}

func (p *prometheus) instant(ctx context.Context, expression string, at time.Time) ([]Sample, error) {
	result, err := p.query(ctx, Query{Expr: expression, Instant: true, To: at})
	var samples []Sample
	for _, s := range result.series {
		for _, p := range s.Points {
			samples = append(samples, Sample{Labels: s.Labels, Value: p.value, Time: p.at})
		}
	}
	return samples, err
}

// query sends a query of a panel.
func (p *prometheus) query(ctx context.Context, q Query) (result, error) {
	form := url.Values{"query": {q.Expr}, "timeout": {strconv.FormatFloat(p.timeout.Seconds(), 'f', -1, 64) + "s"}}
	path := "api/v1/query"
	if q.Instant {
		form.Set("time", unix(q.To))
	} else {
		path = "api/v1/query_range"
		form.Set("start", unix(q.From))
		form.Set("end", unix(q.To))
		form.Set("step", strconv.FormatFloat(q.Step.Seconds(), 'f', -1, 64))
	}
	r, err := p.ask(ctx, path, form)
	if err != nil {
		return result{}, err
	}
	found, err := decode(r.Data)
	found.warnings = append(r.Warnings, r.Infos...)
	return found, err
}

func unix(t time.Time) string {
	return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64)
}
