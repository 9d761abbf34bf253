package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// vllm reads the files of `vllm bench serve` (--save-result, and --append-result, which has one run per line; vLLM
// 0.33.0, vllm/benchmarks/serve.py):
//
//	{"date":"20260922-090431","backend":"openai-chat","model_id":"m","num_prompts":8,"request_rate":"inf","max_concurrency":2,"duration":2.3,
//	 "completed":8,"failed":0,"request_throughput":3.4,"output_throughput":50.5,"mean_ttft_ms":128.1,"median_ttft_ms":63.4,"p99_ttft_ms":361.1,…}
//
// The date is that of the end, in the zone of the client. Fields from --metadata are among the others: a text whose
// name is valid for a label becomes a label. Time per output token is (latency - time to first token) over the tokens
// but the first; inter-token latencies are the gaps between chunks with any content. Throughput and latencies are of
// requests that succeeded; the duration is of all.
func vllm() Format {
	return Format{Name: "vllm", Help: "results of vllm bench serve (--save-result, --append-result)", read: readVLLM}
}

// vllmRun has the fields of a run apart from its latencies.
type vllmRun struct {
	Date         string          `json:"date"`
	Backend      string          `json:"backend"`
	Model        string          `json:"model_id"`
	Prompts      *float64        `json:"num_prompts"`
	Rate         json.RawMessage `json:"request_rate"`
	Burstiness   *float64        `json:"burstiness"`
	Concurrency  *float64        `json:"max_concurrency"`
	Duration     *float64        `json:"duration"`
	Completed    *float64        `json:"completed"`
	Failed       *float64        `json:"failed"`
	InputTokens  *float64        `json:"total_input_tokens"`
	OutputTokens *float64        `json:"total_output_tokens"`
	Requests     *float64        `json:"request_throughput"`
	Output       *float64        `json:"output_throughput"`
	Total        *float64        `json:"total_token_throughput"`
}

const vllmTime = "20060102-150405"

// mostRuns bounds the runs of a file.
const mostRuns = 10_000

func readVLLM(f *file) ([]Result, error) {
	runs, err := jsonValues(withoutNaN(f.text))
	if err != nil {
		return nil, err
	}
	var all []Result
	for i, run := range runs {
		r, err := vllmResult(run)
		if err != nil {
			return nil, fmt.Errorf("run %d: %w", i+1, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// jsonValues returns the values in a text: the elements of one list, or values one after the other.
func jsonValues(text []byte) ([]json.RawMessage, error) {
	var values []json.RawMessage
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		if err := decode(text, &values); err != nil {
			return nil, err
		}
	} else {
		for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
			var value json.RawMessage
			err := decoder.Decode(&value)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("run %d: it is no JSON: %w", len(values)+1, err)
			}
			values = append(values, value)
		}
	}
	switch {
	case len(values) == 0:
		return nil, errors.New("it is empty")
	case len(values) > mostRuns:
		return nil, fmt.Errorf("it has more than %d runs", mostRuns)
	}
	return values, nil
}

func vllmResult(text []byte) (Result, error) {
	var run vllmRun
	var members map[string]json.RawMessage
	if err := decodeBoth(text, &run, &members); err != nil {
		return Result{}, err
	}
	if run.Date == "" || members["request_throughput"] == nil {
		return Result{}, errors.New("it has no date or no request_throughput")
	}
	ended, err := timeOf(vllmTime, "date", run.Date)
	if err != nil {
		return Result{}, err
	}
	r := Result{
		Key: run.Date, StartedAt: before(ended, run.Duration), EndedAt: ended, Program: "vllm bench serve", Model: printable(run.Model, longestLabel),
		Warnings: []string{zoneWarning, "the inter-token latency of vllm bench serve is the gap between two chunks, however many tokens they hold"},
	}
	r.label("model", run.Model)
	r.labelNumber("concurrency", run.Concurrency)
	rate := strings.Trim(string(run.Rate), `"`)
	if rate != "inf" && rate != "null" {
		r.label("rate", rate)
	}
	r.setting("backend", run.Backend)
	r.settingNumber("burstiness", run.Burstiness)
	r.settingNumber("num_prompts", run.Prompts)
	vllmMetadata(&r, members)
	r.totals([]total{
		{spec.RequestsPerSecond, run.Requests}, {spec.OutputTokensPerSecond, run.Output}, {spec.TotalTokensPerSecond, run.Total},
		{spec.DurationSeconds, run.Duration}, {spec.Requests, run.Completed}, {spec.FailedRequests, run.failed()},
		{spec.InputTokens, run.InputTokens}, {spec.OutputTokens, run.OutputTokens},
	})
	err = vllmLatencies(&r, members)
	return r, err
}

// failed returns how many requests failed; older versions do not report it.
func (run vllmRun) failed() *float64 {
	if run.Failed != nil || run.Completed == nil || run.Prompts == nil || *run.Completed > *run.Prompts {
		return run.Failed
	}
	failed := *run.Prompts - *run.Completed
	return &failed
}

func vllmLatencies(r *Result, members map[string]json.RawMessage) error {
	for _, of := range []struct {
		key  string
		name spec.Quantity
	}{{"ttft", spec.TTFTSeconds}, {"tpot", spec.TPOTSeconds}, {"itl", spec.ITLSeconds}, {"e2el", spec.E2ESeconds}} {
		for _, s := range []struct{ key, statistic string }{
			{"mean", "mean"}, {"std", "sd"}, {"p25", "p25"}, {"median", "p50"}, {"p75", "p75"}, {"p90", "p90"}, {"p95", "p95"}, {"p99", "p99"},
		} {
			key := s.key + "_" + of.key + "_ms"
			raw, there := members[key]
			if !there {
				continue
			}
			var value *float64
			if err := decode(raw, &value); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			r.add(of.name, s.statistic, value, 1e-3)
		}
	}
	return nil
}

var labelName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,63}$`)

// secretName matches names whose values are never kept, even if the user added them.
var secretName = regexp.MustCompile(`key|secret|password|credential|authorization`)

// vllmMetadata makes labels of the user's fields, and skips all fields that vLLM writes itself.
func vllmMetadata(r *Result, members map[string]json.RawMessage) {
	own := []string{
		"date", "endpoint_type", "backend", "label", "model_id", "tokenizer_id", "request_rate", "ramp_up_strategy",
		"host", "port", "dataset_name", "dataset_path", "tokenizer", "endpoint", "base_url",
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var value string
		if labelName.MatchString(name) && !secretName.MatchString(name) && !slices.Contains(own, name) && json.Unmarshal(members[name], &value) == nil {
			r.label(name, value)
		}
	}
}
