package server

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/openai"
)

// Limits of the engine settings that are kept.
const (
	mostSettings   = 64
	longestSetting = 200 // bytes of a value
)

// sglangSettings are the members of SGLang's answer (its server arguments, python/sglang/srt/server_args.py) that
// decide what a run measures. It is a list of those that may be kept, since the answer also contains API keys.
func sglangSettings() []string {
	return []string{
		"attention_backend", "chunked_prefill_size", "context_length", "cuda_graph_max_bs", "decode_attention_backend", "disable_cuda_graph",
		"disable_overlap_schedule", "disable_radix_cache", "disaggregation_mode", "dp_size", "dtype", "enable_hierarchical_cache",
		"enable_mixed_chunk", "enable_torch_compile", "ep_size", "hicache_io_backend", "hicache_ratio", "hicache_size",
		"hicache_storage_backend", "hicache_write_policy", "kv_cache_dtype", "load_format", "max_prefill_tokens", "max_running_requests",
		"max_total_num_tokens", "max_total_tokens", "mem_fraction_static", "page_size", "pp_size", "prefill_attention_backend",
		"quantization", "sampling_backend", "schedule_conservativeness", "schedule_policy", "speculative_algorithm",
		"speculative_eagle_topk", "speculative_num_draft_tokens", "speculative_num_steps", "stream_interval", "tp_size",
	}
}

// llamaSettings are the members of llama.cpp's GET /props that are kept (tools/server/README.md).
func llamaSettings() []string { return []string{"build_info", "total_slots"} }

// configured reads the engine's settings, under the engine's own names: vLLM's from the labels of its info series,
// SGLang's from its server arguments, llama.cpp's from its properties. TensorRT-LLM and Dynamo do not expose their
// settings over HTTP. It returns nil if there are none.
func (a *api) configured(ctx context.Context, engine string) map[string]string {
	var reported map[string]string
	switch engine {
	case "vllm":
		reported = infoLabels(a.fetch(ctx, metricsPath).okBody(), metric.ForeignVLLMCacheConfigInfo)
	case "sglang":
		for _, path := range []string{"/server_info", "/get_server_info"} { // the newer name first
			if reported = members(a.fetch(ctx, path).okBody(), sglangSettings()); reported != nil {
				break
			}
		}
	case openai.EngineLlamaCPP, openai.EngineOpenAI: // a user may choose openai for llama.cpp, whose fields are plain
		reported = members(a.fetch(ctx, metric.ForeignLlamaCPPPropertiesPath).okBody(), llamaSettings())
	}
	for name, value := range reported {
		reported[name] = a.secrets.Text(value)
	}
	return reported
}

// infoLabels reads the labels of the series with that name from a page of metrics, which describe a configuration,
// such as
//
//	vllm:cache_config_info{block_size="16",enable_prefix_caching="True",engine="0",num_gpu_blocks="573"} 1.0
//
// For several engines behind one page it lists the values that differ.
func infoLabels(page []byte, name string) map[string]string {
	var reported map[string]string
	for _, series := range labelled(page, name) {
		for _, label := range series.GetLabel() {
			reported = keep(reported, label.GetName(), label.GetValue())
		}
	}
	return reported
}

// labelled returns the series of a page that have that name and labels, without their type.
func labelled(page []byte, name string) []*dto.Metric {
	var found []*dto.Metric
	parser := expfmt.NewTextParser(model.UTF8Validation)
	for line := range bytes.Lines(page) {
		if !bytes.HasPrefix(line, []byte(name+"{")) {
			continue
		}
		families, err := parser.TextToMetricFamilies(bytes.NewReader(append(bytes.TrimRight(line, "\r\n"), '\n')))
		if err == nil {
			found = append(found, families[name].GetMetric()...)
		}
	}
	return found
}

// members reads members of a JSON object by name, without those that are null, such as
//
//	{"tp_size":1,"page_size":16,"quantization":null,"api_key":"…"}
func members(body []byte, names []string) map[string]string {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return nil
	}
	var reported map[string]string
	for _, name := range names {
		value := string(object[name])
		if text := new(string); json.Unmarshal(object[name], text) == nil {
			value = *text // null leaves it empty
		}
		if value != "" {
			reported = keep(reported, name, value)
		}
	}
	return reported
}

// keep adds a value to the values of a setting.
func keep(reported map[string]string, name, value string) map[string]string {
	if reported == nil {
		reported = map[string]string{}
	}
	name, value = openai.Printable(name, longestSetting), openai.Printable(value, longestSetting)
	before, known := reported[name]
	switch {
	case name == "" || !known && len(reported) >= mostSettings:
	case !known:
		reported[name] = value
	case !slices.Contains(strings.Split(before, ", "), value):
		reported[name] = openai.Printable(before+", "+value, longestSetting)
	}
	return reported
}
