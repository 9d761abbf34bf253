package importer

import (
	"errors"
	"fmt"
	"math"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// vllmMultiTurn reads what vLLM's benchmarks/multi_turn/benchmark_serving_multi_turn.py (@00d3953) writes with
// --stats-json-output, one request per element:
//
//	[{"ttft_ms":110.5,"tpot_ms":49.5,"latency_ms":853.1,"start_time_ms":1234.5,"input_num_turns":1,"input_num_tokens":34,"output_num_tokens":16,
//	  "output_num_chunks":15,"output_num_first_chunk_tokens":1,"approx_cached_percent":0.0,"conversation_id":"c1","client_id":0}]
//
// It contains only requests that were answered, without those of its warm-up step. Statistics and throughput are
// computed here over all of them, percentiles as type 7, like its own table without --warmup-percentages. Its latency
// ends with the stream, not with the last text; its time to first token is less than the real wait if the first chunk
// has several tokens; tokens are counted by its own tokenizer. Start times are of a clock without a date.
func vllmMultiTurn() Format {
	return Format{Name: "vllm-multi-turn", Help: "JSON of vLLM's benchmark_serving_multi_turn.py (--stats-json-output)", read: readMultiTurn}
}

// turn is a request.
type turn struct {
	TTFT         *float64 `json:"ttft_ms"`
	TPOT         *float64 `json:"tpot_ms"`
	Latency      *float64 `json:"latency_ms"`
	Start        *float64 `json:"start_time_ms"`
	Input        *float64 `json:"input_num_tokens"`
	Output       *float64 `json:"output_num_tokens"`
	Client       *int     `json:"client_id"`
	Conversation string   `json:"conversation_id"`
}

func readMultiTurn(f *file) ([]Result, error) {
	var turns []turn
	if err := decode(f.text, &turns); err != nil {
		return nil, err
	}
	if len(turns) == 0 {
		return nil, errors.New("it has no requests")
	}
	first, last := math.Inf(1), math.Inf(-1)
	clients, conversations := map[int]bool{}, map[string]bool{}
	var ttft, tpot, latency, input, output []float64
	for i, t := range turns {
		if t.TTFT == nil || t.Latency == nil || t.Start == nil || t.Input == nil || t.Output == nil || !(*t.Latency >= 0) {
			return nil, fmt.Errorf("[%d]: it has no ttft_ms, latency_ms, start_time_ms, input_num_tokens or output_num_tokens", i)
		}
		first, last = min(first, *t.Start), max(last, *t.Start+*t.Latency)
		ttft, latency = append(ttft, *t.TTFT), append(latency, *t.Latency)
		input, output = append(input, *t.Input), append(output, *t.Output)
		if t.TPOT != nil && *t.TPOT > 0 { // 0 is an answer in one piece
			tpot = append(tpot, *t.TPOT)
		}
		if t.Client != nil {
			clients[*t.Client] = true
		}
		conversations[t.Conversation] = true
	}
	ended, err := f.changed()
	if err != nil {
		return nil, err
	}
	seconds := (last - first) / 1e3
	r := Result{
		Key: f.name, StartedAt: before(ended, &seconds), EndedAt: ended, Program: "vLLM multi-turn",
		Warnings: []string{
			changedWarning,
			"the file has only requests that were answered: how many failed is not known",
			"its statistics are computed here from its requests; its latency ends with the stream, and its tokens are counted by its own tokenizer",
		},
	}
	r.setting("clients", number(float64(len(clients))))
	r.setting("conversations", number(float64(len(conversations))))
	r.distribution(spec.TTFTSeconds, ttft, 1e-3)
	r.distribution(spec.TPOTSeconds, tpot, 1e-3)
	r.distribution(spec.E2ESeconds, latency, 1e-3)
	r.distribution(spec.InputTokensEach, input, 1)
	r.distribution(spec.OutputTokensEach, output, 1)
	r.rates(len(turns), sum(input), sum(output), seconds)
	return []Result{r}, nil
}

// rates adds the rates of a number of requests over a time in seconds.
func (r *Result) rates(requests int, input, output, seconds float64) {
	n := float64(requests)
	r.add(spec.Requests, "", &n, 1)
	r.add(spec.InputTokens, "", &input, 1)
	r.add(spec.OutputTokens, "", &output, 1)
	if !(seconds > 0) {
		return
	}
	r.add(spec.DurationSeconds, "", &seconds, 1)
	r.add(spec.RequestsPerSecond, "", &n, 1/seconds)
	r.add(spec.InputTokensPerSecond, "", &input, 1/seconds)
	r.add(spec.OutputTokensPerSecond, "", &output, 1/seconds)
}

func sum(values []float64) float64 {
	var total float64
	for _, v := range values {
		total += v
	}
	return total
}
