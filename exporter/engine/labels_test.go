package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/exporter/metric"
)

// wantReason fails unless one of the reasons for absent figures has all these words.
func wantReason(t *testing.T, what string, reading spec.Translation, words ...string) {
	t.Helper()
	if !slices.ContainsFunc(reading.Absent, func(reason string) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(reason, word) })
	}) {
		t.Errorf("%s: no reason with %q in %q", what, words, reading.Absent)
	}
}

// apiServers is a page of vLLM whose API servers each write the gauges of the engine, as in vllm#28792.
func apiServers(usage ...float64) string {
	var page strings.Builder
	page.WriteString(`vllm:num_requests_running{engine="0",model_name="m"} 12
vllm:prompt_tokens_total{engine="0",model_name="m",pid="1"} 600
vllm:prompt_tokens_total{engine="0",model_name="m",pid="2"} 400
vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="10000",num_gpu_blocks_override="None"} 1
`)
	for i, used := range usage {
		fmt.Fprintf(&page, "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\",pid=\"%d\"} %v\n", 4101+i, used)
	}
	return page.String()
}

func TestGaugesThatAPIServersRepeatMakeNoReplica(t *testing.T) {
	want := map[string]float64{"capacity blocks": 10000, "capacity tokens": 160000, "running": 12, "prompt": 1000}
	differ := translate(t, apiServers(0, 0, 0.65, 0))
	wantModel(t, "different", differ.Models[0], "m", want)
	wantReason(t, "different", differ, "vllm:kv_cache_usage_perc", "only pid separates")
	if !slices.Equal(differ.UnknownLabels, []string{"pid"}) {
		t.Errorf("unknown labels %q", differ.UnknownLabels)
	}
	want["used ratio"], want["used tokens"] = 0.65, 104000
	equal := translate(t, apiServers(0.65, 0.65, 0.65))
	wantModel(t, "equal", equal.Models[0], "m", want)
	if len(equal.Absent) > 0 {
		t.Errorf("equal gauges leave out %q", equal.Absent)
	}
}

func TestRanksAddUpWhileTheirAPIServersDoNot(t *testing.T) {
	for _, copied := range []string{"pid", "server", "instance"} {
		var page strings.Builder
		for rank, values := range []struct{ usage, running float64 }{{0.5, 3}, {0.25, 5}} {
			for server := range 3 {
				labels := fmt.Sprintf(`{engine="%d",model_name="m",%s="%d"}`, rank, copied, server)
				fmt.Fprintf(&page, "vllm:kv_cache_usage_perc%s %v\nvllm:num_requests_running%s %v\nvllm:generation_tokens_total%s 100\n", labels, values.usage, labels, values.running, labels)
				fmt.Fprintf(&page, "vllm:cache_config_info{block_size=\"16\",engine=\"%d\",num_gpu_blocks=\"%d\",%s=\"%d\"} 1\n", rank, 100*(1+2*rank), copied, server)
			}
		}
		reading := translate(t, page.String())
		wantModel(t, copied, reading.Models[0], "m", map[string]float64{
			"capacity blocks": 400, "capacity tokens": 6400, "used ratio": (0.5*100 + 0.25*300) / 400, "used tokens": 16 * (50 + 75), "running": 8, "generation": 600,
		})
		if !slices.Equal(reading.UnknownLabels, []string{copied}) || len(reading.Absent) > 0 {
			t.Errorf("%s: unknown %q, absent %q", copied, reading.UnknownLabels, reading.Absent)
		}
	}
}

// TestNoEngineHasReplicasByForeignLabels repeats every recorded page under another pid: gauges stay, counters double.
func TestNoEngineHasReplicasByForeignLabels(t *testing.T) {
	counts := map[string]bool{"preemptions": true, "prompt": true, "generation": true, "drafts": true, "drafted": true, "begun": true, "reported": true}
	for _, file := range []string{
		"vllm-0.32.0-cpu.prom", "vllm-0.32.0-cpu-speculative.prom", "sglang-0.5.23-constructed.prom", "trtllm-050f80de-constructed.prom",
		"llamacpp-b0.25.3-cuda.prom", "dynamo-1.6.1-frontend.prom", "dynamo-1.6.1-worker-sample.prom", "dynamo-worker-doc.prom", "lmcache-constructed.prom",
		"lmcache-0.5.6-server.prom",
	} {
		var twice strings.Builder
		for line := range strings.Lines(sample(t, file)) {
			if strings.HasPrefix(line, "#") {
				twice.WriteString(line)
				continue
			}
			for _, pid := range []string{"1", "2"} {
				name, rest, labelled := strings.Cut(line, "{")
				if !labelled {
					name, rest, _ = strings.Cut(line, " ")
					rest = "} " + rest
				}
				twice.WriteString(name + "{pid=\"" + pid + "\"," + rest)
			}
		}
		once, repeated := translate(t, sample(t, file)), translate(t, twice.String())
		before, after := valuesOf(once.Models[0]), valuesOf(repeated.Models[0])
		for name, value := range before {
			want := value
			if counts[name] || strings.Contains(name, "looked up") || strings.Contains(name, "hit") || strings.Contains(name, "missed") || strings.Contains(name, " of ") ||
				strings.Contains(name, " to ") || name == "evicted" ||
				strings.HasPrefix(name, "accepted") && name != "accepted length" {
				want = 2 * value
			}
			if after[name] != want {
				t.Errorf("%s: %s is %v, was %v", file, name, after[name], value)
			}
		}
		if len(after) != len(before) || !slices.Equal(repeated.UnknownLabels, []string{"pid"}) {
			t.Errorf("%s: %d figures of %d, unknown labels %q", file, len(after), len(before), repeated.UnknownLabels)
		}
	}
}

func TestLabelsOfRecordedPagesAreKnown(t *testing.T) {
	for _, file := range []string{
		"vllm-0.32.0-cpu.prom", "vllm-0.32.0-cpu-speculative.prom", "vllm-doc.prom", "sglang-doc.prom", "sglang-0.5.23-constructed.prom", "trtllm-constructed.prom",
		"trtllm-050f80de-constructed.prom", "llamacpp-constructed.prom", "dynamo-1.6.1-frontend.prom", "dynamo-1.6.1-worker-mocker-vllm.prom",
		"dynamo-1.6.1-worker-sample.prom", "dynamo-frontend-doc.prom", "dynamo-worker-doc.prom", "lmcache-constructed.prom",
		"lmcache-0.5.6-server.prom",
	} {
		if got := translate(t, sample(t, file)); len(got.UnknownLabels) > 0 || len(got.Absent) > 0 {
			t.Errorf("%s: unknown labels %q, absent %q", file, got.UnknownLabels, got.Absent)
		}
	}
}

func TestAPageOfVLLMWithoutEngineLabelIsOneReplica(t *testing.T) {
	wantModel(t, "no label", translate(t, `vllm:num_requests_running{model_name="m"} 0
vllm:gpu_cache_usage_perc{model_name="m"} 0.25
vllm:cache_config_info{block_size="16",num_gpu_blocks="1000",gpu_memory_utilization="0.9"} 1
`).Models[0], "m", map[string]float64{"running": 0, "used ratio": 0.25, "used tokens": 4000, "capacity blocks": 1000, "capacity tokens": 16000})
}

func TestConfigurationsOfOneEngineMustAgree(t *testing.T) {
	const usage = "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.5\n"
	reading := translate(t, usage+`vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="1000",pid="1"} 1
vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="None",pid="2"} 1
`)
	wantModel(t, "two sizes", reading.Models[0], "m", map[string]float64{"used ratio": 0.5})
	wantReason(t, "two sizes", reading, "num_gpu_blocks", "several values")
	reading = translate(t, usage+`vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="1000",num_gpu_blocks_override="64"} 1`+"\n")
	wantModel(t, "override", reading.Models[0], "m", map[string]float64{"used ratio": 0.5})
	wantReason(t, "override", reading, "1000", "64")
	wantReason(t, "override", reading, "num_gpu_blocks_override", "do not fit each other")
}

func TestTokensOfHybridModelsAreNotWorkedOutFromBlocks(t *testing.T) {
	const usage = "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 1\nvllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.5\n"
	config := func(labels string) string {
		return usage + `vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="1000",` + labels + "} 1\n"
	}
	for labels, reason := range map[string]string{
		`mamba_block_size="528",mamba_page_size_padded="None"`:     "Mamba layers",
		`mamba_block_size="None",mamba_page_size_padded="1114112"`: "Mamba layers",
		`sliding_window="128"`:                                       "sliding window",
		`is_attention_free="True"`:                                   "no attention",
		`_block_size_resolved="False"`:                               "before the engine chose it",
		`effective_attention_block_size="528"`:                       "16 and 528",
		`mamba_block_size="528",kv_cache_size_tokens="None"`:         "Mamba layers",
		`mamba_block_size="528",effective_attention_block_size="16"`: "Mamba layers",
	} {
		reading := translate(t, config(labels))
		wantModel(t, labels, reading.Models[0], "m", map[string]float64{"running": 1, "used ratio": 0.5, "capacity blocks": 1000})
		wantReason(t, labels, reading, "tokens of the KV cache", reason)
	}
	for _, labels := range []string{
		`mamba_block_size="None",mamba_page_size_padded="None",sliding_window="None",is_attention_free="False",_block_size_resolved="True",effective_attention_block_size="16"`,
		`mamba_block_size="528",kv_cache_size_tokens="16000"`, // the engine's own figure
	} {
		reading := translate(t, config(labels))
		wantModel(t, labels, reading.Models[0], "m", map[string]float64{
			"running": 1, "used ratio": 0.5, "used tokens": 8000, "capacity blocks": 1000, "capacity tokens": 16000,
		})
		if len(reading.Absent) > 0 {
			t.Errorf("%s leaves out %q", labels, reading.Absent)
		}
	}
}

// hybrid is a page of SGLang with a model whose pool of states is full, as in sglang#5979.
const hybrid = `sglang:num_running_reqs{model_name="m",tp_rank="0"} 48
sglang:token_usage{model_name="m",tp_rank="0"} 0.97
sglang:full_token_usage{model_name="m",tp_rank="0"} 0.12
sglang:swa_token_usage{model_name="m",tp_rank="0"} 0
sglang:mamba_usage{model_name="m",tp_rank="0"} 0.97
sglang:num_used_tokens{model_name="m",tp_rank="0"} 388000
sglang:kv_used_tokens{model_name="m",tp_rank="0"} 48000
sglang:max_total_num_tokens{model_name="m",tp_rank="0"} 400000
`

func without(page string, names ...string) string {
	var kept strings.Builder
	for line := range strings.Lines(page) {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(line, name+"{") }) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

func TestAStatePoolIsAFigureOfItsOwn(t *testing.T) {
	want := map[string]float64{"running": 48, "used ratio": 0.12, "used tokens": 48000, "capacity tokens": 400000}
	reading := translate(t, hybrid)
	wantModel(t, "hybrid", reading.Models[0], "m", want)
	if pools := reading.Models[0].StatePools; !slices.Contains(pools, spec.StatePool{Kind: metric.PoolMamba, UsedRatio: 0.97}) {
		t.Errorf("state pools %v", pools)
	}
	wantModel(t, "worked out from tokens", translate(t, without(hybrid, "sglang:full_token_usage")).Models[0], "m", want)
	reading = translate(t, without(hybrid, "sglang:full_token_usage", "sglang:max_total_num_tokens"))
	wantModel(t, "not known", reading.Models[0], "m", map[string]float64{"running": 48, "used tokens": 48000})
	wantReason(t, "not known", reading, "sglang:token_usage", "fullest pool")
	// The tokens in use of an older release are those of the fullest pool too.
	reading = translate(t, without(hybrid, "sglang:full_token_usage", "sglang:kv_used_tokens"))
	wantModel(t, "tokens of the fullest pool", reading.Models[0], "m", map[string]float64{"running": 48, "capacity tokens": 400000})
	wantReason(t, "tokens of the fullest pool", reading, "sglang:num_used_tokens", "fullest pool")
	// Without a hybrid model the fullest pool is the KV cache.
	plain := strings.ReplaceAll(without(hybrid, "sglang:full_token_usage", "sglang:num_used_tokens"), "mamba_usage{model_name=\"m\",tp_rank=\"0\"} 0.97", "mamba_usage{model_name=\"m\",tp_rank=\"0\"} 0")
	wantModel(t, "plain", translate(t, plain).Models[0], "m", map[string]float64{"running": 48, "used ratio": 0.97, "used tokens": 48000, "capacity tokens": 400000})
}

func TestAPoolThatWasNeverUsedIsAbsentAndOneThatIsEmptyAgainIsNot(t *testing.T) {
	idle := strings.ReplaceAll(strings.ReplaceAll(hybrid, "0.97", "0"), "0.12", "0")
	s := &server{answers: map[string]string{"/metrics": idle}}
	var reading Reading
	for _, step := range []struct {
		page string
		want []spec.StatePool
	}{{idle, nil}, {hybrid, []spec.StatePool{{Kind: metric.PoolMamba, UsedRatio: 0.97}}}, {idle, []spec.StatePool{{Kind: metric.PoolMamba, UsedRatio: 0}}}} {
		s.answers["/metrics"] = step.page
		var err error
		if reading, err = s.read(t, "/metrics", false, reading); err != nil || !slices.Equal(reading.Models[0].StatePools, step.want) {
			t.Errorf("%v, %v; want %v", reading.Models[0].StatePools, err, step.want)
		}
	}
}

func TestSizesThatDoNotFitEachOtherGiveNoBlocks(t *testing.T) {
	reading := translate(t, `sglang:token_usage{model_name="m"} 0.5
sglang:max_total_num_tokens{model_name="m"} 1000
sglang:page_size{model_name="m"} 64
`)
	wantModel(t, "SGLang", reading.Models[0], "m", map[string]float64{"used ratio": 0.5, "capacity tokens": 1000})
	wantReason(t, "SGLang", reading, "1000", "64")
	reading = translate(t, `trtllm_num_requests_running{model_name="m"} 1
trtllm_kv_cache_max_blocks{model_name="m"} 100
trtllm_kv_cache_used_blocks{model_name="m"} 300
trtllm_kv_cache_tokens_per_block{model_name="m"} 32
`)
	wantModel(t, "TensorRT-LLM", reading.Models[0], "m", map[string]float64{"running": 1})
	wantReason(t, "TensorRT-LLM", reading, "300", "100", "do not fit each other")
}

func TestFiguresBelowZeroAreAbsent(t *testing.T) {
	for page, words := range map[string]string{
		"vllm:num_requests_running{model_name=\"m\"} -1\n":                                                    "vllm:num_requests_running",
		"sglang:num_running_reqs{model_name=\"m\"} -1\n":                                                      "sglang:num_running_reqs",
		"sglang:token_usage{model_name=\"m\"} 0\nsglang:max_total_num_tokens{model_name=\"m\"} -1\n":          "sglang:max_total_num_tokens",
		"trtllm_num_requests_running{model_name=\"m\"} -1\n":                                                  "trtllm_num_requests_running",
		"trtllm_num_requests_running{model_name=\"m\"} 1\ntrtllm_gpu_memory_usage_bytes{model_name=\"m\"} -1": "trtllm_gpu_memory_usage_bytes",
		"llamacpp:requests_processing -1\n":                                                                   "llamacpp:requests_processing",
		"llamacpp:kv_cache_tokens -1\n":                                                                       "llamacpp:kv_cache_tokens",
		"dynamo_component_inflight_requests{dynamo_endpoint=\"generate\",model=\"m\"} -1\n":                   "dynamo_component_inflight_requests",
		"lmcache:local_cache_usage{model_name=\"m\",worker_id=\"0\"} -1\n":                                    "lmcache:local_cache_usage",
		"vllm:prompt_tokens_total{model_name=\"m\"} -5\n":                                                     "vllm:prompt_tokens_total",
	} {
		reading := translate(t, strings.TrimSuffix(page, "\n")+"\n")
		for name, value := range valuesOf(reading.Models[0]) {
			if value < 0 {
				t.Errorf("%q: %s is %v", page, name, value)
			}
		}
		wantReason(t, page, reading, words, "below zero")
	}
}

func TestSeriesOfTensorRTLLMWithoutPrefixIdentifyIt(t *testing.T) {
	reading := translate(t, `# TYPE e2e_request_latency_seconds histogram
e2e_request_latency_seconds_sum{engine_type="undefined",model_name="undefined"} 3.5
e2e_request_latency_seconds_bucket{engine_type="undefined",le="+Inf",model_name="undefined"} 3
e2e_request_latency_seconds_count{engine_type="undefined",model_name="undefined"} 3
# TYPE request_success_total counter
request_success_total{engine_type="undefined",finished_reason="length",model_name="undefined"} 3
`)
	if reading.Engine != "trtllm" || reading.Families != 2 {
		t.Errorf("%s of %d families", reading.Engine, reading.Families)
	}
	wantModel(t, "no prefix", reading.Models[0], "", map[string]float64{})
	wantReason(t, "no prefix", reading, "no prefix", "--engine.iteration-stats")
	for _, other := range []string{"request_success_total 3\n", "e2e_request_latency_seconds_sum 1\ne2e_request_latency_seconds_count 1\n"} {
		page, err := parsePage(t.Context(), []byte(other), false)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := supported.Engines().Translate(page); err == nil {
			t.Errorf("%q is %s", other, got.Engine)
		}
	}
}

func TestWhatIsAskedBesideAPageKeepsItsPrefix(t *testing.T) {
	const props, slots = `{"model_alias":"right","build_info":"b2"}`, `[{"id":0,"n_ctx":4096,"is_processing":false}]`
	s := &server{answers: map[string]string{
		"/props": `{"model_alias":"wrong","build_info":"b1"}`, "/slots": `[{"id":0,"n_ctx":2048,"is_processing":false}]`, "/version": `{"version":"wrong"}`,
		"/metrics": `[{"numActiveRequests":9}]`,
	}}
	for path, page := range map[string]string{
		"/02/metrics": sample(t, "llamacpp-constructed.prom"), "/up/a/metrics/": sample(t, "llamacpp-constructed.prom"), "/own/page": sample(t, "llamacpp-constructed.prom"), "/prometheus/metrics": sample(t, "llamacpp-constructed.prom"),
		"/vllm/metrics": sample(t, "vllm-doc.prom"), "/trt/prometheus/metrics": sample(t, "trtllm-constructed.prom"), "/old/metrics": `[{"numActiveRequests":1}]`,
	} {
		s.answers[path] = page
	}
	for _, path := range []string{"/02", "/up/a", "/prometheus"} {
		reading, err := s.read(t, path+"/metrics", false, Reading{})
		if path == "/up/a" {
			reading, err = s.read(t, path+"/metrics/", false, Reading{})
		}
		if err != nil || reading.Version != "" || reading.Models[0].Name != "" || reading.Models[0].CapacityTokens != nil || !slices.Contains(s.asked, path+"/props") {
			t.Errorf("%s: %+v, %v, asked %v", path, reading, err, s.asked)
		}
		s.answers[path+"/props"], s.answers[path+"/slots"] = props, slots
		reading, err = s.read(t, path+"/metrics", false, Reading{})
		if path == "/up/a" {
			reading, err = s.read(t, path+"/metrics/", false, Reading{})
		}
		if err != nil || reading.Version != "b2" || reading.Models[0].Name != "right" || *reading.Models[0].CapacityTokens != 4096 {
			t.Errorf("%s: %+v, %v, asked %v", path, reading, err, s.asked)
		}
	}
	reading, err := s.read(t, "/own/page", false, Reading{})
	if err != nil || reading.Version != "" || reading.Models[0].Name != "" || !slices.Equal(s.asked, []string{"/own/page"}) {
		t.Errorf("a path of its own: %+v, %v, asked %v", reading, err, s.asked)
	}
	wantReason(t, "a path of its own", reading.Translation, "does not end in /metrics")
	if reading, err = s.read(t, "/vllm/metrics", false, Reading{}); err != nil || reading.Version != "" || s.asked[1] != "/vllm/version" {
		t.Errorf("vLLM: %q, %v, asked %v", reading.Version, err, s.asked)
	}
	if _, err = s.read(t, "/trt/prometheus/metrics", true, Reading{}); err != nil || !slices.Equal(s.asked, []string{"/trt/prometheus/metrics", "/trt/version", "/trt/metrics"}) {
		t.Errorf("TensorRT-LLM: %v, asked %v", err, s.asked)
	}
	reading, err = s.read(t, "/old/metrics", true, Reading{})
	if err != nil || reading.Models[0].Requests[metric.RequestsRunning] != 1 || !slices.Contains(s.asked, "/old/prometheus/metrics") {
		t.Errorf("TensorRT-LLM without a page: %+v, %v, asked %v", reading.Models, err, s.asked)
	}
}

func TestAnEscapedPrefixStaysEscaped(t *testing.T) {
	for raw, want := range map[string]string{
		"http://h/a%2Fb/metrics?model=q": "http://h:80/a%2Fb/props?model=q",
		"http://h/a%20b/metrics":         "http://h:80/a%20b/props",
		"http://h":                       "http://h:80/props",
	} {
		e, err := ParseEndpoint(raw)
		if err != nil {
			t.Fatal(err)
		}
		if other, err := e.With("/props"); err != nil || other.URL.String() != want {
			t.Errorf("%s: %v, %v", raw, other, err)
		}
	}
}

func TestNumbersBelowZeroInJSONAreAbsent(t *testing.T) {
	s := &server{answers: map[string]string{"/metrics": sample(t, "llamacpp-constructed.prom"), "/slots": `[{"id":0,"n_ctx":-1,"is_processing":true,"n_prompt_tokens":-5,"next_token":[{"n_decoded":-1}]}]`}}
	reading, err := s.read(t, "/metrics", false, Reading{})
	if m := reading.Models[0]; err != nil || m.CapacityTokens != nil || m.UsedTokens != nil || m.UsedRatio != nil {
		t.Errorf("%+v, %v", m.Pool, err)
	}
	trtllm := &server{answers: map[string]string{"/metrics": `[{"numActiveRequests":-1,"numQueuedRequests":2,"kvCacheStats":{"maxNumBlocks":-1,"usedNumBlocks":3,"tokensPerBlock":32}}]`}}
	reading, err = trtllm.read(t, "/metrics", true, Reading{})
	if m := reading.Models[0]; err != nil || m.CapacityBlocks != nil || m.CapacityTokens != nil || len(m.Requests) != 1 {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestReplicasOfOnePageAreBounded(t *testing.T) {
	var page strings.Builder
	for i := range spec.MaxReplicas + 1 {
		fmt.Fprintf(&page, "vllm:kv_cache_usage_perc{engine=\"%d\",model_name=\"m\"} 0.5\n", i)
	}
	reading := translate(t, page.String())
	wantModel(t, "too many", reading.Models[0], "m", map[string]float64{})
	wantReason(t, "too many", reading, "more than 256 replicas")
}
