package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Where the stack publishes its services.
const (
	prometheusURL   = "http://127.0.0.1:9090"
	alertmanagerURL = "http://127.0.0.1:9093"
	resultsURL      = "http://127.0.0.1:10422"
	grafanaURL      = "http://127.0.0.1:3000"
)

// mostAnswer limits the bytes that are read of an answer.
const mostAnswer = 64 << 20

// ask sends a request and decodes its answer into a value if there is one.
func ask(ctx context.Context, method, address string, body, into any) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, address, content)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %.300s", address, response.Status, text)
	}
	if into == nil {
		return text, nil
	}
	return text, json.Unmarshal(text, into)
}

// series is one of an answer of Prometheus, with its value.
type series struct {
	Metric map[string]string
	Value  []json.RawMessage
}

func (s series) number() float64 {
	var text string
	if len(s.Value) != 2 || json.Unmarshal(s.Value[1], &text) != nil {
		return 0
	}
	value, _ := strconv.ParseFloat(text, 64) // Prometheus' own
	return value
}

// query queries Prometheus at this moment. A warning of Prometheus is an error.
func query(ctx context.Context, expression string) ([]series, error) {
	var answer struct {
		Error    string
		Warnings []string
		Data     struct{ Result []series }
	}
	if _, err := ask(ctx, http.MethodGet, prometheusURL+"/api/v1/query?query="+url.QueryEscape(expression), nil, &answer); err != nil {
		return nil, err
	}
	if answer.Error != "" || len(answer.Warnings) > 0 {
		return nil, fmt.Errorf("%s: %s %q", expression, answer.Error, answer.Warnings)
	}
	return answer.Data.Result, nil
}

// some is query; no series is an error.
func some(ctx context.Context, expression string) ([]series, error) {
	all, err := query(ctx, expression)
	if err == nil && len(all) == 0 {
		err = errors.New("no series of " + expression)
	}
	return all, err
}

// number is the value of a query that has one.
func number(ctx context.Context, expression string) (float64, error) {
	all, err := some(ctx, expression)
	if err != nil {
		return 0, err
	}
	return all[0].number(), nil
}

// target is a target in Prometheus' API.
type target struct {
	Labels    map[string]string
	ScrapeURL string `json:"scrapeUrl"`
	Health    string
	LastError string `json:"lastError"`
}

// targets lists them.
func targets(ctx context.Context) ([]target, error) {
	var answer struct {
		Data struct{ ActiveTargets []target }
	}
	_, err := ask(ctx, http.MethodGet, prometheusURL+"/api/v1/targets?state=active", nil, &answer)
	return answer.Data.ActiveTargets, err
}
