package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
)

// latencyProbes is how many requests the mean is of.
const latencyProbes = 3

// latencyPrompt is the text of a probe that generates. llama-benchy has the same.
const latencyPrompt = "hello"

// ListLatency returns the mean time in which the server answers with its list of models, one request after the other on
// one connection. The first request opens it.
func (c Calibration) ListLatency(ctx context.Context) (time.Duration, error) {
	api, err := newAPI(c.Target, c.Served.Key)
	if err != nil {
		return 0, err
	}
	defer api.close()
	start := time.Now()
	for range latencyProbes {
		answer := api.fetch(ctx, "/v1/models")
		switch {
		case answer.err != nil:
			return 0, answer.err
		case answer.status != http.StatusOK && c.Served.Unlisted == "": // without a list, the time of that answer
			return 0, fmt.Errorf("GET /v1/models answered %d", answer.status)
		}
	}
	return time.Since(start) / latencyProbes, nil
}

// TokenLatency returns the mean time from sending a request for one token to the first event of its answer.
func (c Calibration) TokenLatency(ctx context.Context) (time.Duration, error) {
	probe, err := newProber(c.Target, c.Served.Key, openai.Params{
		Endpoint: c.Target.Endpoint, Model: c.Served.Model.ID, Vendor: VendorOf(c.Target.Known, c.Served.Engine), TopP: 1, Stream: true, Fields: []openai.Field{}, Omit: c.Served.Omit,
	})
	if err != nil {
		return 0, err
	}
	defer probe.close()
	var sum time.Duration
	for range latencyProbes {
		params := probe.base
		params.Prompt, params.MaxTokens = latencyPrompt, 1
		result, err := probe.send(ctx, params)
		if err != nil {
			return 0, err
		}
		if result.Record.FirstEventNS == nil || result.Record.DispatchNS == nil {
			return 0, errors.New("the answer has no event")
		}
		sum += time.Duration(*result.Record.FirstEventNS - *result.Record.DispatchNS)
	}
	return sum / latencyProbes, nil
}
