package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// formLimit is the largest size of a request form, in bytes.
const formLimit = 1 << 20

// Handler answers the part of Prometheus' HTTP API that dashboards use: instant queries, range queries and label
// values. Prometheus' own handler would bring OpenTelemetry's collector, an OpenAPI library and some hundred other
// packages into the demo; it also takes the time of the wall clock for a query without a time, which is not a time of
// the simulation. Here the default is the newest time of the store.
func (s *timeline) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		mux.HandleFunc(method+" /api/v1/query", s.answering(s.queryInstant))
		mux.HandleFunc(method+" /api/v1/query_range", s.answering(s.queryRange))
	}
	mux.HandleFunc("GET /api/v1/label/{name}/values", s.answering(s.labelValues))
	return mux
}

// reply is the envelope of every answer.
type reply struct {
	Status    string   `json:"status"`
	Data      any      `json:"data,omitempty"`
	ErrorType string   `json:"errorType,omitempty"`
	Error     string   `json:"error,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
	Infos     []string `json:"infos,omitempty"`
}

// found is the data of an answer to a query.
type found struct {
	Type   parser.ValueType `json:"resultType"`
	Result parser.Value     `json:"result"`
}

// badQuestion is an error of the client.
type badQuestion struct{ error }

// answering makes a handler of a function that answers a request.
func (s *timeline) answering(answer func(ctx context.Context, r *http.Request) (reply, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		out, status := reply{}, http.StatusOK
		done, err := s.use()
		if err == nil {
			r.Body = http.MaxBytesReader(w, r.Body, formLimit)
			if err = r.ParseForm(); err != nil {
				err = badQuestion{err}
			} else {
				out, err = s.within(r, answer)
			}
			done()
		}
		if err != nil {
			out, status = failure(err)
		} else {
			out.Status = "success"
		}
		w.Header().Set("Content-Type", "application/json")
		body, err := json.Marshal(out)
		if err != nil {
			body, status = []byte(`{"status":"error","errorType":"internal","error":"the answer cannot be written"}`), http.StatusInternalServerError
		}
		w.WriteHeader(status)
		_, _ = w.Write(body) // an error means that the client has gone
	}
}

// within answers within the timeout of the request, which the timeout of the store limits.
func (s *timeline) within(r *http.Request, answer func(ctx context.Context, r *http.Request) (reply, error)) (reply, error) {
	limit := queryTimeout
	if text := r.Form.Get("timeout"); text != "" {
		asked, err := readDuration(text)
		if err != nil {
			return reply{}, badQuestion{fmt.Errorf("timeout: %w", err)}
		}
		limit = min(limit, asked)
	}
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	return answer(ctx, r)
}

// failure returns the answer for an error, with the kinds and codes of Prometheus.
func failure(err error) (reply, int) {
	kind, status := "execution", http.StatusUnprocessableEntity
	var bad badQuestion
	var slow promql.ErrQueryTimeout
	var canceled promql.ErrQueryCanceled
	switch {
	case errors.As(err, &bad):
		kind, status = "bad_data", http.StatusBadRequest
	case errors.As(err, &slow), errors.Is(err, context.DeadlineExceeded):
		kind, status = "timeout", http.StatusServiceUnavailable
	case errors.As(err, &canceled), errors.Is(err, context.Canceled):
		kind, status = "canceled", 499 // the code that Prometheus uses for a client that has gone
	case errors.Is(err, errClosed):
		kind, status = "unavailable", http.StatusServiceUnavailable
	}
	return reply{Status: "error", ErrorType: kind, Error: err.Error()}, status
}

func (s *timeline) queryInstant(ctx context.Context, r *http.Request) (reply, error) {
	at, err := readTime(r.Form, "time", s.Newest())
	if err != nil {
		return reply{}, badQuestion{err}
	}
	text := r.Form.Get("query")
	query, err := s.engine.NewInstantQuery(ctx, s.database, nil, text, at)
	if err != nil {
		return reply{}, badQuestion{err}
	}
	defer query.Close()
	return s.result(ctx, query, text)
}

func (s *timeline) queryRange(ctx context.Context, r *http.Request) (reply, error) {
	from, err := readTime(r.Form, "start", time.Time{})
	if err != nil {
		return reply{}, badQuestion{err}
	}
	to, err := readTime(r.Form, "end", time.Time{})
	if err != nil {
		return reply{}, badQuestion{err}
	}
	step, err := readDuration(r.Form.Get("step"))
	if err != nil {
		return reply{}, badQuestion{fmt.Errorf("step: %w", err)}
	}
	text := r.Form.Get("query")
	query, err := s.rangeQuery(ctx, text, from, to, step)
	if err != nil {
		return reply{}, badQuestion{err}
	}
	defer query.Close()
	return s.result(ctx, query, text)
}

// result runs a query. It encodes the result before it closes the query, since closing gives the memory to the next
// one.
func (s *timeline) result(ctx context.Context, query promql.Query, text string) (reply, error) {
	result := query.Exec(ctx)
	if result.Err != nil {
		return reply{}, result.Err
	}
	data, err := json.Marshal(found{Type: result.Value.Type(), Result: listed(result.Value)})
	if err != nil {
		return reply{}, err
	}
	warnings, infos := result.Warnings.AsStrings(text, 10, 10)
	return reply{Data: json.RawMessage(data), Warnings: warnings, Infos: infos}, nil
}

// listed replaces a nil result by an empty list, which JSON would encode as null.
func listed(value parser.Value) parser.Value {
	switch v := value.(type) {
	case promql.Vector:
		if v == nil {
			return promql.Vector{}
		}
	case promql.Matrix:
		if v == nil {
			return promql.Matrix{}
		}
	}
	return value
}

func (s *timeline) labelValues(ctx context.Context, r *http.Request) (reply, error) {
	from, err := readTime(r.Form, "start", time.UnixMilli(math.MinInt64))
	if err != nil {
		return reply{}, badQuestion{err}
	}
	to, err := readTime(r.Form, "end", time.UnixMilli(math.MaxInt64))
	if err != nil {
		return reply{}, badQuestion{err}
	}
	sets := [][]*labels.Matcher{nil}
	if selectors := r.Form["match[]"]; len(selectors) > 0 {
		if sets, err = s.parser.ParseMetricSelectors(selectors); err != nil {
			return reply{}, badQuestion{err}
		}
	}
	querier, err := s.database.Querier(from.UnixMilli(), to.UnixMilli())
	if err != nil {
		return reply{}, err
	}
	defer querier.Close()
	values := []string{}
	for _, matchers := range sets {
		some, _, err := querier.LabelValues(ctx, r.PathValue("name"), nil, matchers...)
		if err != nil {
			return reply{}, err
		}
		for _, value := range some {
			values = append(values, strings.Clone(value)) // a copy: the memory belongs to the querier
		}
	}
	slices.Sort(values)
	return reply{Data: slices.Compact(values)}, nil
}

// readTime reads a time in seconds or in RFC 3339; otherwise is the default.
func readTime(form url.Values, name string, otherwise time.Time) (time.Time, error) {
	text := form.Get(name)
	if text == "" {
		if otherwise.IsZero() && name != "time" {
			return otherwise, fmt.Errorf("%s is missing", name)
		}
		return otherwise, nil
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if math.IsNaN(seconds) || math.Abs(seconds) > float64(math.MaxInt64/int64(time.Second)) {
			return time.Time{}, fmt.Errorf("%s: %q is no time", name, text)
		}
		return time.UnixMilli(int64(math.Round(seconds * 1000))).UTC(), nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s: %q is no time", name, text)
	}
	return at, nil
}

// readDuration reads a number of seconds, or a duration in the form of PromQL.
func readDuration(text string) (time.Duration, error) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if math.IsNaN(seconds) || math.Abs(seconds) > float64(math.MaxInt64/int64(time.Second)) {
			return 0, fmt.Errorf("%q is no duration", text)
		}
		return time.Duration(seconds * float64(time.Second)), nil
	}
	d, err := model.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration", text)
	}
	return time.Duration(d), nil
}
