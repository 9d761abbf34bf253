package importer

import (
	"errors"
	"fmt"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// guidellm reads the JSON output of GuideLLM (0.8.1; guidellm/schemas), each benchmark in it a run:
//
//	{"metadata":{"guidellm_version":"0.8.1"},"benchmarks":[{"config":{"id_":"75918a84","strategy":{"type_":"concurrent","streams":2},
//	  "backend":{"target":"http://127.0.0.1:8000","model":"m"}},"metrics":{"request_totals":{"successful":6,"errored":0},
//	  "time_to_first_token_ms":{"successful":{"mean":53.6,"median":56.2,"percentiles":{"p95":61.4}}}},"start_time":1795338219.08,"duration":0.887}]}
//
// Figures are those of requests that were successful. request_latency is in seconds, all others of a request in
// milliseconds. Its time per output token is a request's latency over all of its tokens, the first included; its
// inter-token latency is time per output token in this project. A percentile is an observed value, without
// interpolation.
func guidellm() Format {
	return Format{Name: "guidellm", Help: "JSON output of GuideLLM 0.8, each benchmark in it a run", read: readGuideLLM}
}

type guidellmDistribution struct {
	Successful *struct {
		Mean        *float64            `json:"mean"`
		Median      *float64            `json:"median"`
		SD          *float64            `json:"std_dev"`
		Min         *float64            `json:"min"`
		Max         *float64            `json:"max"`
		Sum         *float64            `json:"total_sum"`
		Percentiles map[string]*float64 `json:"percentiles"`
	} `json:"successful"`
}

// mean returns the mean; nil where there is none.
func (d guidellmDistribution) mean() *float64 {
	if d.Successful == nil {
		return nil
	}
	return d.Successful.Mean
}

type guidellmBenchmark struct {
	Config struct {
		ID       string `json:"id_"`
		Strategy struct {
			Type        string   `json:"type_"`
			Streams     *float64 `json:"streams"`
			Rate        *float64 `json:"rate"`
			Concurrency *float64 `json:"max_concurrency"`
		} `json:"strategy"`
		Backend struct {
			Target string `json:"target"`
			Model  string `json:"model"`
			Format string `json:"request_format"`
			Stream *bool  `json:"stream"`
		} `json:"backend"`
	} `json:"config"`
	Metrics struct {
		Totals struct {
			Successful *float64 `json:"successful"`
			Errored    *float64 `json:"errored"`
			Incomplete *float64 `json:"incomplete"`
		} `json:"request_totals"`
		Requests    guidellmDistribution `json:"requests_per_second"`
		Concurrency guidellmDistribution `json:"request_concurrency"`
		Output      guidellmDistribution `json:"output_tokens_per_second"`
		Input       guidellmDistribution `json:"prompt_tokens_per_second"`
		Total       guidellmDistribution `json:"tokens_per_second"`
		Prompts     guidellmDistribution `json:"prompt_token_count"`
		Outputs     guidellmDistribution `json:"output_token_count"`
		Latency     guidellmDistribution `json:"request_latency"`
		TTFT        guidellmDistribution `json:"time_to_first_token_ms"`
		TPOT        guidellmDistribution `json:"time_per_output_token_ms"`
		ITL         guidellmDistribution `json:"inter_token_latency_ms"`
	} `json:"metrics"`
	Start    *float64 `json:"start_time"`
	End      *float64 `json:"end_time"`
	Duration *float64 `json:"duration"`
}

func readGuideLLM(f *file) ([]Result, error) {
	var whole struct {
		Metadata struct {
			Version string `json:"guidellm_version"`
		} `json:"metadata"`
		Benchmarks []guidellmBenchmark `json:"benchmarks"`
	}
	if err := decode(f.text, &whole); err != nil {
		return nil, err
	}
	if whole.Metadata.Version == "" || len(whole.Benchmarks) == 0 {
		return nil, errors.New("it has no metadata.guidellm_version or no benchmarks")
	}
	var all []Result
	for i, b := range whole.Benchmarks {
		r, err := b.result(printable(whole.Metadata.Version, longestLabel))
		if err != nil {
			return nil, fmt.Errorf("benchmarks[%d].%w", i, err)
		}
		all = append(all, r)
	}
	return all, nil
}

func (b guidellmBenchmark) result(version string) (Result, error) {
	c := b.Config
	r := Result{
		Key: keyOf(c.ID, ""), Program: "GuideLLM", Version: version, Model: printable(c.Backend.Model, longestLabel), URL: plainURL(c.Backend.Target),
		Warnings: []string{
			"GuideLLM's time per output token counts the first token and its wait; its inter-token latency is what is called time per output token here",
			"GuideLLM's percentiles are values that occurred, not between two: of few requests they are higher",
		},
	}
	var err error
	if b.Start == nil {
		return r, errors.New("start_time: it is not there")
	}
	if r.StartedAt, err = unixTime("start_time", b.Start); err != nil {
		return r, err
	}
	if r.EndedAt, err = unixTime("end_time", b.End); err != nil {
		return r, err
	}
	if r.Key == "" {
		r.Key = number(*b.Start)
	}
	r.label("model", r.Model)
	r.label("strategy", c.Strategy.Type)
	r.labelNumber("concurrency", c.Strategy.Concurrency)
	r.labelNumber("concurrency", c.Strategy.Streams)
	r.labelNumber("rate", c.Strategy.Rate)
	r.setting("request_format", c.Backend.Format)
	b.figures(&r)
	return r, nil
}

func (b guidellmBenchmark) figures(r *Result) {
	m := b.Metrics
	r.add(spec.Requests, "", m.Totals.Successful, 1)
	r.add(spec.FailedRequests, "", m.Totals.Errored, 1)
	if n := m.Totals.Incomplete; n != nil && *n > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%g requests were cut off at the end of the benchmark, and are in no figure", *n))
	}
	r.add(spec.DurationSeconds, "", b.Duration, 1)
	r.totals([]total{
		{spec.RequestsPerSecond, m.Requests.mean()}, {spec.OutputTokensPerSecond, m.Output.mean()},
		{spec.InputTokensPerSecond, m.Input.mean()}, {spec.TotalTokensPerSecond, m.Total.mean()}, {spec.Concurrency, m.Concurrency.mean()},
	})
	for _, of := range []struct {
		name   spec.Quantity
		d      guidellmDistribution
		factor float64
	}{
		{spec.InputTokensEach, m.Prompts, 1}, {spec.OutputTokensEach, m.Outputs, 1}, {spec.E2ESeconds, m.Latency, 1},
		{spec.TTFTSeconds, m.TTFT, 1e-3}, {spec.TPOTSeconds, m.TPOT, 1e-3}, {spec.ITLSeconds, m.ITL, 1e-3},
	} {
		s := of.d.Successful
		if s == nil {
			continue
		}
		r.add(of.name, "mean", s.Mean, of.factor)
		r.add(of.name, "sd", s.SD, of.factor)
		r.add(of.name, "min", s.Min, of.factor)
		r.add(of.name, "p25", s.Percentiles["p25"], of.factor)
		r.add(of.name, "p50", s.Median, of.factor)
		for _, p := range []string{"p75", "p90", "p95", "p99"} {
			r.add(of.name, p, s.Percentiles[p], of.factor)
		}
		r.add(of.name, "max", s.Max, of.factor)
	}
}
