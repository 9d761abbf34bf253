package importer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// aiperf reads profile_export_aiperf.json of AIPerf (0.13.0, schema 1.4; aiperf/exporters/metrics_json_exporter.py):
//
//	{"schema_version":"1.4","aiperf_version":"0.13.0","benchmark_id":"e1f2b2846013","request_throughput":{"unit":"requests/sec","avg":3.37},
//	 "time_to_first_token":{"unit":"ms","avg":128.1,"p50":63.4,"std":118.9},"error_summary":[],"start_time":"2026-11-22T09:04:31.522403"}
//
// Every metric includes its unit. Its inter-token latency is a request's (latency - time to first token) over its
// tokens but the first: time per output token in this project. The latency of a request ends with its last content.
// Requests that failed are in no figure.
func aiperf() Format {
	return Format{Name: "aiperf", Help: "profile_export_aiperf.json of AIPerf 0.13", read: readAIPerf}
}

// aiperfRun has the fields of the file apart from its metrics.
type aiperfRun struct {
	SchemaVersion string `json:"schema_version"`
	Version       string `json:"aiperf_version"`
	ID            string `json:"benchmark_id"`
	StartTime     string `json:"start_time"`
	EndTime       string `json:"end_time"`
	Cancelled     bool   `json:"was_cancelled"`
	Config        struct {
		Models struct {
			Items []struct {
				Name string `json:"name"`
			} `json:"items"`
		} `json:"models"`
		Endpoint struct {
			URLs      []string `json:"urls"`
			Type      string   `json:"type"`
			Streaming *bool    `json:"streaming"`
		} `json:"endpoint"`
		Phases []struct {
			Kind        string   `json:"kind"`
			Type        string   `json:"type"`
			Concurrency *float64 `json:"concurrency"`
			Rate        *float64 `json:"rate"`
			RequestRate *float64 `json:"request_rate"`
			Requests    *float64 `json:"requests"`
		} `json:"phases"`
	} `json:"input_config"`
}

// aiperfMetric is a metric; statistics that the file lacks are absent.
type aiperfMetric struct {
	Unit string   `json:"unit"`
	Avg  *float64 `json:"avg"`
	Min  *float64 `json:"min"`
	Max  *float64 `json:"max"`
	SD   *float64 `json:"std"`
	P25  *float64 `json:"p25"`
	P50  *float64 `json:"p50"`
	P75  *float64 `json:"p75"`
	P90  *float64 `json:"p90"`
	P95  *float64 `json:"p95"`
	P99  *float64 `json:"p99"`
}

// aiperfTime is its time format: in the zone of its machine, which the file does not contain.
const aiperfTime = "2006-01-02T15:04:05.999999999"

func readAIPerf(f *file) ([]Result, error) {
	var run aiperfRun
	var members map[string]json.RawMessage
	text := withoutNaN(f.text)
	if err := decodeBoth(text, &run, &members); err != nil {
		return nil, err
	}
	if run.Version == "" || !strings.HasPrefix(run.SchemaVersion, "1.") {
		return nil, fmt.Errorf("aiperf_version is %q and schema_version %q, want one of 1", printable(run.Version, longestLabel), printable(run.SchemaVersion, longestLabel))
	}
	started, err := timeOf(aiperfTime, "start_time", run.StartTime)
	if err != nil {
		return nil, err
	}
	r := Result{
		Key: keyOf(run.ID, run.StartTime), StartedAt: started, Program: "AIPerf", Version: printable(run.Version, longestLabel),
		Warnings: []string{zoneWarning, "AIPerf's inter-token latency is the mean of a request, which is called time per output token here"},
	}
	if r.EndedAt, err = timeOf(aiperfTime, "end_time", run.EndTime); err != nil {
		return nil, err
	}
	r.EndKnown = true
	if run.Cancelled {
		r.Stopped = "AIPerf was cancelled"
	}
	run.describe(&r)
	if err := aiperfMetrics(&r, members); err != nil {
		return nil, err
	}
	return []Result{r}, nil
}

// describe sets labels, settings and target from the file.
func (run aiperfRun) describe(r *Result) {
	c := run.Config
	if len(c.Models.Items) > 0 {
		r.Model = printable(c.Models.Items[0].Name, longestLabel)
		r.label("model", r.Model)
	}
	if len(c.Endpoint.URLs) > 0 {
		r.URL = plainURL(c.Endpoint.URLs[0])
	}
	r.setting("endpoint", c.Endpoint.Type)
	if s := c.Endpoint.Streaming; s != nil {
		r.setting("streaming", strconv.FormatBool(*s))
	}
	for _, phase := range c.Phases {
		if phase.Kind != "profiling" {
			continue
		}
		r.setting("arrival", phase.Type)
		r.labelNumber("concurrency", phase.Concurrency)
		r.labelNumber("rate", phase.Rate)
		r.labelNumber("rate", phase.RequestRate)
		r.settingNumber("requests", phase.Requests)
	}
}

// aiperfMetrics adds the figures.
func aiperfMetrics(r *Result, members map[string]json.RawMessage) error {
	for _, of := range []struct {
		tag  string
		name spec.Quantity
		each bool // it is measured for each request, and has statistics
	}{
		{"request_throughput", spec.RequestsPerSecond, false}, {"output_token_throughput", spec.OutputTokensPerSecond, false},
		{"input_token_throughput", spec.InputTokensPerSecond, false}, {"total_token_throughput", spec.TotalTokensPerSecond, false},
		{"benchmark_duration", spec.DurationSeconds, false}, {"request_count", spec.Requests, false}, {"error_request_count", spec.FailedRequests, false},
		{"effective_concurrency", spec.Concurrency, false}, {"total_isl", spec.InputTokens, false}, {"total_osl", spec.OutputTokens, false},
		{"time_to_first_token", spec.TTFTSeconds, true}, {"inter_token_latency", spec.TPOTSeconds, true}, {"inter_chunk_latency", spec.ITLSeconds, true},
		{"request_latency", spec.E2ESeconds, true}, {"output_token_throughput_per_user", spec.UserTokensPerSecond, true},
		{"input_sequence_length", spec.InputTokensEach, true}, {"output_sequence_length", spec.OutputTokensEach, true},
	} {
		raw, there := members[of.tag]
		if !there {
			continue
		}
		var m aiperfMetric
		if err := decode(raw, &m); err != nil {
			return fmt.Errorf("%s: %w", of.tag, err)
		}
		factor, known := map[string]float64{
			"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "sec": 1, "requests/sec": 1, "tokens/sec": 1, "tokens/sec/user": 1, "requests": 1, "tokens": 1,
		}[m.Unit]
		if !known {
			return fmt.Errorf("%s: its unit %q is not known", of.tag, printable(m.Unit, longestLabel))
		}
		if !of.each {
			r.add(of.name, "", m.Avg, factor)
			continue
		}
		for _, s := range []struct {
			statistic string
			value     *float64
		}{{"mean", m.Avg}, {"sd", m.SD}, {"min", m.Min}, {"p25", m.P25}, {"p50", m.P50}, {"p75", m.P75}, {"p90", m.P90}, {"p95", m.P95}, {"p99", m.P99}, {"max", m.Max}} {
			r.add(of.name, s.statistic, s.value, factor)
		}
	}
	return nil
}
