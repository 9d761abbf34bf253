package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// api is Prometheus' HTTP API.
type api struct{ base string }

// mostAnswer limits the bytes that are read of an answer.
const mostAnswer = 64 << 20

// result is the answer to a query, with Prometheus' warnings and infos.
type result struct {
	Type     string          `json:"resultType"`
	Result   json.RawMessage `json:"result"`
	warnings []string
}

// sample is a series of an answer: one value, or values over time, or a histogram instead of either.
type sample struct {
	Metric     map[string]string   `json:"metric"`
	Value      []json.RawMessage   `json:"value"`
	Values     [][]json.RawMessage `json:"values"`
	Histogram  []json.RawMessage   `json:"histogram"`
	Histograms [][]json.RawMessage `json:"histograms"`
}

// number returns the value of a sample at a moment, false if it has none.
func (s sample) number() (float64, bool) {
	var text string
	if len(s.Value) != 2 || json.Unmarshal(s.Value[1], &text) != nil {
		return 0, false
	}
	value, err := strconv.ParseFloat(text, 64)
	return value, err == nil
}

// get requests a path and reads the member data of the answer.
func (a api) get(ctx context.Context, path string, query url.Values, into any) (warnings []string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+path, strings.NewReader(query.Encode()))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if query == nil {
		request.Method, request.Body = http.MethodGet, nil
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err != nil {
		return nil, err
	}
	var answer struct {
		Status, Error   string
		Data            json.RawMessage
		Warnings, Infos []string
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("%s: %s: %.200s", path, response.Status, body)
	}
	if answer.Status != "success" {
		return nil, errors.New(answer.Error)
	}
	return append(answer.Warnings, answer.Infos...), json.Unmarshal(answer.Data, into)
}

// instant queries the value at a moment, now if it is zero.
func (a api) instant(ctx context.Context, query string, at time.Time) (result, error) {
	values := url.Values{"query": {query}}
	if !at.IsZero() {
		values.Set("time", stamp(at))
	}
	var r result
	warnings, err := a.get(ctx, "/api/v1/query", values, &r)
	r.warnings = warnings
	return r, err
}

// over queries values over time.
func (a api) over(ctx context.Context, query string, from, to time.Time, step time.Duration) (result, error) {
	values := url.Values{"query": {query}, "start": {stamp(from)}, "end": {stamp(to)}, "step": {strconv.FormatFloat(step.Seconds(), 'f', -1, 64)}}
	var r result
	warnings, err := a.get(ctx, "/api/v1/query_range", values, &r)
	r.warnings = warnings
	return r, err
}

func stamp(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }

// series returns those of a vector or a matrix; a scalar is one without labels.
func (r result) series() ([]sample, error) {
	if r.Type == "scalar" {
		var value []json.RawMessage
		err := json.Unmarshal(r.Result, &value)
		return []sample{{Value: value}}, err
	}
	var all []sample
	return all, json.Unmarshal(r.Result, &all)
}

// vector queries the series of now. A warning of Prometheus is an error here.
func (a api) vector(ctx context.Context, query string) ([]sample, error) {
	r, err := a.instant(ctx, query, time.Time{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	if len(r.warnings) > 0 {
		return nil, fmt.Errorf("%s: %s", query, strings.Join(r.warnings, "; "))
	}
	return r.series()
}

// some is vector; no series is an error.
func (a api) some(ctx context.Context, query string) ([]sample, error) {
	all, err := a.vector(ctx, query)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s: has no series", query)
	}
	return all, err
}

// eventually waits until a query has series.
func (a api) eventually(ctx context.Context, most time.Duration, query string) (all []sample, err error) {
	err = until(ctx, most, func(ctx context.Context) error {
		var err error
		all, err = a.some(ctx, query)
		return err
	})
	return all, err
}
