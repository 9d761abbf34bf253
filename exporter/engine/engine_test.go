package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/engine/supported"
)

func sample(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func translate(t testing.TB, text string) spec.Translation {
	t.Helper()
	page, err := parsePage(context.Background(), []byte(text), false)
	if err != nil {
		t.Fatal(err)
	}
	reading, err := supported.Engines().Translate(page)
	if err != nil {
		t.Fatal(err)
	}
	return reading
}

// told is all that is known of a model, by short names.
func valuesOf(m spec.Model) map[string]float64 {
	values := map[string]float64{}
	for name, value := range map[string]*float64{
		"capacity tokens": m.CapacityTokens, "capacity blocks": m.CapacityBlocks, "capacity bytes": m.CapacityBytes,
		"used tokens": m.UsedTokens, "used ratio": m.UsedRatio, "preemptions": m.Preemptions,
		"prompt": m.PromptTokens, "generation": m.GenerationTokens,
	} {
		if value != nil {
			values[name] = *value
		}
	}
	for name, value := range map[string]*float64{"drafts": m.Drafts, "drafted": m.DraftTokens, "accepted length": m.AcceptedLength} {
		if value != nil {
			values[name] = *value
		}
	}
	for _, at := range m.Accepted {
		values[strings.TrimSpace("accepted "+at.Position)] = at.Value
	}
	for state, count := range m.Requests {
		values[state] = count
	}
	for unit, tiers := range map[string][]spec.TierValue{" bytes": m.TierBytes, " tier bytes": m.TierCapacityBytes, " used tokens": m.TierUsedTokens, " capacity tokens": m.TierCapacityTokens, " direct": m.TierDirectIO} {
		for _, tier := range tiers {
			values[tier.Tier+unit] = tier.Value
		}
	}
	for _, move := range m.Moved {
		if move.Bytes != nil {
			values[move.From+" to "+move.To+" bytes"] = *move.Bytes
		}
		if move.Tokens != nil {
			values[move.From+" to "+move.To+" tokens"] = *move.Tokens
		}
	}
	if m.EvictedTokens != nil {
		values["evicted"] = *m.EvictedTokens
	}
	for kind, bytes := range m.Memory {
		values[kind+" memory"] = bytes
	}
	if r := m.Requested; r != nil {
		values["begun"], values["reported"], values["prompt of begun"], values["cached of reported"] = r.Begun, r.Reported, r.Prompt, r.Cached
		if r.Idle {
			values["idle"] = 1
		}
	}
	for unit, found := range map[string]*spec.Lookups{"tokens": m.PrefixTokens, "blocks": m.PrefixBlocks} {
		if found == nil {
			continue
		}
		values[unit+" looked up"], values[unit+" missed"] = found.Total, found.Missed
		for _, hit := range found.Hits {
			values[unit+" hit "+hit.Tier] = hit.Value
		}
	}
	return values
}

func wantModel(t *testing.T, what string, got spec.Model, name string, want map[string]float64) {
	t.Helper()
	if got.Name != name {
		t.Errorf("%s: model %q, want %q", what, got.Name, name)
	}
	values := valuesOf(got)
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if value, known := values[key]; !known || value != want[key] {
			t.Errorf("%s: %s is %v (told: %v), want %v", what, key, value, known, want[key])
		}
		delete(values, key)
	}
	if len(values) > 0 {
		t.Errorf("%s: nobody told of %v", what, values)
	}
}

// TestPagesOfAllEnginesWorkedOutByHand is the mapping: each value stands in the sample or is worked out
// from it as it says.
func TestPagesOfAllEnginesWorkedOutByHand(t *testing.T) {
	const small, tiny = "Qwen/Qwen3-0.6B", "Tiny-Llama-8B"
	for _, test := range []struct {
		file, engine, model string
		want                map[string]float64
	}{
		{"vllm-doc.prom", "vllm", small, map[string]float64{
			"capacity blocks": 5943, "capacity tokens": 5943 * 16, "used ratio": 0, "used tokens": 0, "preemptions": 0, "running": 0, "waiting": 0,
			"prompt": 66, "generation": 600, "tokens looked up": 66, "tokens hit device": 0, "tokens hit external": 0, "tokens missed": 66,
		}},
		{"trtllm-constructed.prom", "trtllm", small, map[string]float64{
			"device to host bytes": 0, "host to device bytes": 0,
			"capacity blocks": 101256, "capacity tokens": 101256 * 32, "used ratio": 0.3128, "used tokens": 31673 * 32, "running": 4, "waiting": 2,
			"blocks looked up": 24011 + 33158, "blocks hit any": 24011, "blocks missed": 33158, "device memory": 76665782272,
		}},
		{"sglang-doc.prom", "sglang", small, map[string]float64{
			"capacity tokens": 92962, "used ratio": 0, "used tokens": 0, "running": 0, "waiting": 0, "prompt": 33, "generation": 300,
		}},
		{"llamacpp-constructed.prom", "llamacpp", "", map[string]float64{"running": 2, "waiting": 1, "prompt": 18432, "generation": 4096}},
		{"lmcache-constructed.prom", "lmcache", "Qwen/Qwen3-8B", map[string]float64{
			"tokens looked up": 655360, "tokens hit external": 417792, "tokens missed": 655360 - 417792,
			"host bytes": 8 << 30, "disk bytes": 32 << 30, "external bytes": 0,
		}},
		{"dynamo-frontend-doc.prom", "dynamo", small, map[string]float64{
			"running": 0, "waiting": 0, "prompt": 33, "generation": 300, // of how many workers is not on the page
		}},
		{"vllm-0.32.0-cpu.prom", "vllm", "tiny-llama", map[string]float64{
			"capacity blocks": 4096, "capacity tokens": 4096 * 128, "capacity bytes": 1 << 30, "used ratio": 0, "used tokens": 0, "preemptions": 0,
			"running": 0, "waiting": 0, "prompt": 80421, "generation": 2131, "tokens looked up": 80421, "tokens missed": 45733,
			"tokens hit device": 34688, "tokens hit host": 0, "tokens hit disk": 0, "tokens hit external": 0,
		}},
		{"vllm-0.32.0-cpu-speculative.prom", "vllm", "tiny-llama", map[string]float64{
			"running": 0, "generation": 900, "drafts": 370, "drafted": 1039, "accepted 0": 96, "accepted 1": 67, "accepted 2": 46,
		}},
		{"dynamo-1.6.1-frontend.prom", "dynamo", tiny, map[string]float64{
			"capacity blocks": 400, "capacity tokens": 6400, "running": 0, "waiting": 0, "prompt": 8800, "generation": 64,
			"begun": 4, "reported": 4, "prompt of begun": 8800, "cached of reported": 3 * 2192, "idle": 1,
		}},
		{"dynamo-1.6.1-frontend-two-workers.prom", "dynamo", tiny, map[string]float64{
			"running": 0, "waiting": 0, "prompt": 8800, "generation": 64,
			"begun": 4, "reported": 4, "prompt of begun": 8800, "cached of reported": 3 * 2192, "idle": 1,
		}},
		{"dynamo-1.6.1-frontend-two-workers-request-in-flight.prom", "dynamo", tiny, map[string]float64{
			"running": 1, "waiting": 0, "prompt": 8800 + 2201, "generation": 155,
			"begun": 5, "reported": 4, "prompt of begun": 8800 + 2201, "cached of reported": 3 * 2192,
		}},
		{"dynamo-1.6.1-frontend-round-robin.prom", "dynamo", tiny, map[string]float64{
			"running": 0, "waiting": 0, "prompt": 8800, "generation": 64,
			"begun": 4, "reported": 4, "prompt of begun": 8800, "cached of reported": 3 * 2192, "idle": 1,
		}},
		{"dynamo-1.6.1-frontend-sglang.prom", "dynamo", tiny, map[string]float64{
			"capacity blocks": 400, "capacity tokens": 6400, "running": 0, "waiting": 0, "prompt": 8800, "generation": 64,
		}},
		{"dynamo-0.7.1-frontend.prom", "dynamo", tiny, map[string]float64{"running": 0, "waiting": 0, "prompt": 11200, "generation": 2574}},
		{"dynamo-1.6.1-worker-mocker-vllm.prom", "vllm", tiny, map[string]float64{
			"used ratio": 0.36, "preemptions": 0, "running": 1, "waiting": 0,
		}},
		{"dynamo-1.6.1-worker-mocker-sglang.prom", "sglang", tiny, map[string]float64{"running": 0, "waiting": 0}},
		{"dynamo-1.6.1-worker-mocker-before-requests.prom", "dynamo", "", map[string]float64{"inflight": 0}},
		{"dynamo-1.6.1-worker-sample.prom", "dynamo", tiny, map[string]float64{"capacity blocks": 1000, "used ratio": 0, "inflight": 0}},
		{"llamacpp-b0.25.3-cuda.prom", "llamacpp", "", map[string]float64{
			"running": 0, "waiting": 0, "prompt": 1618 + 2544, "generation": 186,
			"tokens looked up": 1618 + 2544, "tokens hit any": 2544, "tokens missed": 1618, "drafts": 0, "drafted": 0,
		}},
		{"sglang-0.5.23-constructed.prom", "sglang", "m", map[string]float64{
			"capacity tokens": 991936, "capacity blocks": 15499, "capacity bytes": 136.25 * (1 << 30), "used ratio": 0.25, "used tokens": 247984,
			"running": 3, "waiting": 1, "preemptions": 0, "prompt": 100000, "generation": 9000, "tokens looked up": 100000, "tokens missed": 34000,
			"tokens hit device": 40000, "tokens hit host": 20000, "tokens hit external": 6000,
			"host used tokens": 302000, "host capacity tokens": 1983872,
			"weights memory": 15.25 * (1 << 30), "graphs memory": (0.125 + 0.375) * (1 << 30), "drafts": 3300, "accepted length": 2.75,
			// Each rank counts its own bytes, and the same tokens.
			"device to host bytes": 2 << 32, "device to host tokens": 65536, "host to device bytes": 2 << 30, "host to device tokens": 16384,
			"host to disk tokens": 32768, "disk to host tokens": 6400, "evicted": 70000,
		}},
		{"trtllm-050f80de-constructed.prom", "trtllm", "m", map[string]float64{
			"capacity blocks": 1000, "capacity tokens": 32000, "used ratio": 0.25, "used tokens": 8000, "running": 4, "waiting": 2,
			"prompt": 50000, "generation": 8000, "tokens looked up": 50000, "tokens missed": 20000,
			"tokens hit device": 21000, "tokens hit host": 8000, "tokens hit disk": 3000, "device memory": 16 << 30, "pinned memory": 2 << 30,
			"drafted": 6000, "accepted": 4500, "accepted length": 2.5,
		}},
		{"dynamo-worker-doc.prom", "dynamo", small, map[string]float64{
			"capacity blocks": 5943, "used ratio": 0, "inflight": 0,
		}},
	} {
		reading := translate(t, sample(t, test.file))
		if reading.Engine != test.engine || len(reading.Models) != 1 {
			t.Errorf("%s is %s with %d models", test.file, reading.Engine, len(reading.Models))
			continue
		}
		wantModel(t, test.file, reading.Models[0], test.model, test.want)
	}
}

// TestFamiliesThatAreNotReadAreCounted takes a page of an unknown version: what is known of it is read.
func TestFamiliesThatAreNotReadAreCounted(t *testing.T) {
	const known = "vllm:num_requests_running{model_name=\"m\"} 2\nvllm:num_requests_waiting{model_name=\"m\"} 1\n"
	const unknown = "vllm:moon_total{model_name=\"m\"} 9\nvllm:moon_seconds_sum 1\nvllm:moon_seconds_count 2\nprocess_cpu_seconds_total 5\n"
	reading := translate(t, known+unknown)
	wantModel(t, "known", reading.Models[0], "m", map[string]float64{"running": 2, "waiting": 1})
	if reading.Families != 4 || reading.Unread != 2 {
		t.Errorf("%d families, %d unread; want 4, 2", reading.Families, reading.Unread)
	}
	recorded := translate(t, sample(t, "vllm-0.32.0-cpu.prom"))
	if reading := recorded; reading.Families != 39 || reading.Unread != 29 {
		t.Errorf("vLLM 0.32.0: %d families, %d unread", reading.Families, reading.Unread)
	}
}

func TestEnginesAreRecognisedByTheirSeriesNotByTheirAddress(t *testing.T) {
	for text, want := range map[string]string{
		sample(t, "dynamo-worker-doc.prom") + sample(t, "vllm-doc.prom"):           "vllm",
		sample(t, "dynamo-worker-doc.prom") + sample(t, "sglang-doc.prom"):         "sglang",
		sample(t, "dynamo-worker-doc.prom") + sample(t, "trtllm-constructed.prom"): "trtllm",
		sample(t, "lmcache-constructed.prom") + sample(t, "vllm-doc.prom"):         "vllm",
		sample(t, "lmcache-0.5.6-server.prom"):                                     "lmcache",
		"vllm:num_requests_running 1\n":                                            "vllm",
	} {
		if got := translate(t, text).Engine; got != want {
			t.Errorf("%.60q is %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"", "up 1\n", "process_cpu_seconds_total 5\n", "kvbm_matched_tokens 7\n"} {
		page, err := parsePage(context.Background(), []byte(text), false)
		if err != nil {
			t.Fatal(err)
		}
		if reading, err := supported.Engines().Translate(page); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %+v, %v", text, reading, err)
		}
	}
}

func TestReplicasOfVLLMAddUpAndTheirRatiosCountBySize(t *testing.T) {
	reading := translate(t, `vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.5
vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.25
vllm:cache_config_info{engine="0",block_size="16",num_gpu_blocks="100",kv_cache_memory_bytes="1000",kv_cache_size_tokens="1200"} 1
vllm:cache_config_info{engine="1",block_size="16",num_gpu_blocks="300",kv_cache_memory_bytes="3000",kv_cache_size_tokens="3600"} 1
vllm:num_requests_running{engine="0",model_name="m"} 2
vllm:num_requests_running{engine="1",model_name="m"} 3
vllm:num_preemptions_total{engine="0",model_name="m"} 1
vllm:num_preemptions_total{engine="1",model_name="m"} 4
`)
	wantModel(t, "two replicas", reading.Models[0], "m", map[string]float64{
		"capacity blocks": 400, "capacity tokens": 4800, "capacity bytes": 4000, "used tokens": 600 + 900,
		"used ratio": (0.5*1200 + 0.25*3600) / 4800, "running": 5, "preemptions": 5,
	})
	// One replica that does not say how large it is leaves all of them unknown, and counts like the others.
	reading = translate(t, `vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.5
vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.25
vllm:cache_config_info{engine="0",block_size="16",num_gpu_blocks="100"} 1
vllm:cache_config_info{engine="1",block_size="16",num_gpu_blocks="None"} 1
`)
	wantModel(t, "one unknown", reading.Models[0], "m", map[string]float64{"used ratio": 0.375})
}

func TestOldAndNewNamesOfVLLM(t *testing.T) {
	old := translate(t, `vllm:gpu_cache_usage_perc{model_name="m"} 0.5
vllm:gpu_prefix_cache_queries_total{model_name="m"} 100
vllm:gpu_prefix_cache_hits_total{model_name="m"} 40
vllm:cache_config_info{block_size="16",num_gpu_blocks="10"} 1
`)
	wantModel(t, "old", old.Models[0], "m", map[string]float64{
		"used ratio": 0.5, "used tokens": 80, "capacity blocks": 10, "capacity tokens": 160,
		"tokens looked up": 100, "tokens hit device": 40, "tokens missed": 60,
	})
	recent := translate(t, `vllm:prefix_cache_queries_total{engine="0",model_name="m"} 999
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 888
vllm:prompt_tokens_by_source_total{engine="0",model_name="m",source="local_compute"} 50
vllm:prompt_tokens_by_source_total{engine="0",model_name="m",source="local_cache_hit"} 30
vllm:prompt_tokens_by_source_total{engine="0",model_name="m",source="external_kv_transfer"} 20
vllm:num_requests_waiting{engine="0",model_name="m"} 1
vllm:num_requests_running{engine="0",model_name="m"} 1
`)
	wantModel(t, "new", recent.Models[0], "m", map[string]float64{
		"tokens looked up": 100, "tokens hit device": 30, "tokens hit external": 20, "tokens missed": 50, "waiting": 1, "running": 1,
	})
}

func TestTiersOfVLLM(t *testing.T) {
	const page = `vllm:num_requests_running{model_name="m"} 0
vllm:prefix_cache_queries_total{model_name="m"} 1000
vllm:prompt_tokens_cached_by_source_total{model_name="m",source="device"} 100
vllm:prompt_tokens_cached_by_source_total{model_name="m",source="host"} 50
vllm:prompt_tokens_cached_by_source_total{model_name="m",source="disk"} 30
vllm:prompt_tokens_cached_by_source_total{model_name="m",source="p2p"} 5
vllm:prompt_tokens_cached_by_source_total{model_name="m",source="external_unspecified"} 4
vllm:prompt_tokens_cached_by_source_total{model_name="m",source="moon"} 1
`
	want := map[string]float64{
		"running": 0, "tokens looked up": 1000, "tokens missed": 810,
		"tokens hit device": 100, "tokens hit host": 50, "tokens hit disk": 30, "tokens hit external": 9, "tokens hit other": 1,
	}
	wantModel(t, "by queries", translate(t, page).Models[0], "m", want)
	// Computed tokens are counted a little later than hits.
	want["tokens missed"], want["tokens looked up"] = 800, 990
	wantModel(t, "by source", translate(t, page+`vllm:prompt_tokens_by_source_total{model_name="m",source="local_compute"} 800
vllm:prompt_tokens_by_source_total{model_name="m",source="local_cache_hit"} 90
vllm:prompt_tokens_by_source_total{model_name="m",source="external_kv_transfer"} 90
`).Models[0], "m", want)
}

func TestAcceptedTokensOfVLLMByPosition(t *testing.T) {
	const page = `vllm:num_requests_running{engine="0",model_name="m"} 0
vllm:spec_decode_num_drafts_total{engine="0",model_name="m"} 10
vllm:spec_decode_num_drafts_total{engine="1",model_name="m"} 20
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="m"} 20
vllm:spec_decode_num_draft_tokens_total{engine="1",model_name="m"} 40
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} 11
vllm:spec_decode_num_accepted_tokens_total{engine="1",model_name="m"} 22
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="0"} 8
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="1"} 3
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="1",model_name="m",position="0"} 16
`
	const last = `vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="1",model_name="m",position="1"} 6` + "\n"
	want := map[string]float64{"running": 0, "drafts": 30, "drafted": 60, "accepted 0": 24, "accepted 1": 9}
	wantModel(t, "two replicas", translate(t, page+last).Models[0], "m", want)
	for what, line := range map[string]string{
		"a position that is a word":  strings.Replace(last, `position="1"`, `position="last"`, 1),
		"a position beyond a draft":  strings.Replace(last, `position="1"`, `position="999999"`, 1),
		"a position in another form": strings.Replace(last, `position="1"`, `position="01"`, 1),
	} {
		wantModel(t, what, translate(t, page+line).Models[0], "m", map[string]float64{"running": 0, "drafts": 30, "drafted": 60, "accepted": 33})
	}
}

// The source of llama.cpp, tools/server/server-task.cpp: counts of positions appear with the first draft.
func TestAcceptedTokensOfLlamaCPPByPosition(t *testing.T) {
	const page = `llamacpp:requests_processing 0
llamacpp:spec_decode_num_draft_tokens_total 40
llamacpp:spec_decode_num_accepted_tokens_total 15
llamacpp:spec_decode_num_drafts_total 10
`
	want := map[string]float64{"running": 0, "drafts": 10, "drafted": 40, "accepted": 15}
	wantModel(t, "an older build", translate(t, page).Models[0], "", want)
	delete(want, "accepted")
	want["accepted 0"], want["accepted 1"] = 9, 6
	wantModel(t, "by position", translate(t, page+`llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="0"} 9
llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="1"} 6
`).Models[0], "", want)
}

func TestSpeculationWithoutATokenAccepted(t *testing.T) {
	// TensorRT-LLM's counters appear with their first token, here those of requests that ended.
	wantModel(t, "TensorRT-LLM", translate(t, `trtllm_num_requests_running{model_name="m"} 1
trtllm_spec_decode_acceptance_length{model_name="m"} 0
trtllm_spec_decode_drafted_tokens_total{model_name="m",token_position="0"} 5
trtllm_spec_decode_drafted_tokens_total{model_name="m",token_position="1"} 4
`).Models[0], "m", map[string]float64{"running": 1, "drafted": 9, "accepted": 0})
	wantModel(t, "TensorRT-LLM, by request", translate(t, `trtllm_num_requests_running{model_name="m"} 1
trtllm_spec_decode_drafted_tokens_total{model_name="m",token_position="0"} 5
trtllm_spec_decode_accepted_tokens_total{model_name="m",token_position="0"} 3
`).Models[0], "m", map[string]float64{"running": 1, "drafted": 5, "accepted": 3})
	// SGLang writes 0 where nothing is speculated.
	const sglang = `sglang:num_running_reqs{model_name="m",tp_rank="0"} 1
sglang:spec_accept_length{model_name="m",tp_rank="0"} `
	wantModel(t, "SGLang without", translate(t, sglang+"0\n").Models[0], "m", map[string]float64{"running": 1})
	wantModel(t, "SGLang, two replicas", translate(t, `sglang:num_running_reqs{model_name="m",dp_rank="0"} 1
sglang:spec_accept_length{model_name="m",dp_rank="0"} 2
sglang:spec_accept_length{model_name="m",dp_rank="1"} 3
`).Models[0], "m", map[string]float64{"running": 1})
}

func TestBytesOfVLLMAreNotKnownWhenItsBlocksAreOverridden(t *testing.T) {
	wantModel(t, "override", translate(t, sample(t, "vllm-0.32.0-cpu-blocks-overridden.prom")).Models[0], "tiny-llama", map[string]float64{
		"running": 0, "used ratio": 0, "used tokens": 0, "capacity blocks": 64, "capacity tokens": 64 * 128,
	})
}

func TestAConfigurationWithoutNumberIsThatOfTheOnlyReplica(t *testing.T) {
	const config = "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"10\"} 1\n"
	one := "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.5\n"
	wantModel(t, "one", translate(t, one+config).Models[0], "m", map[string]float64{
		"used ratio": 0.5, "used tokens": 80, "capacity blocks": 10, "capacity tokens": 160,
	})
	two := one + "vllm:kv_cache_usage_perc{engine=\"1\",model_name=\"m\"} 0.5\n"
	wantModel(t, "two", translate(t, two+config).Models[0], "m", map[string]float64{"used ratio": 0.5})
}

func TestLookupsOfBothTiersOfVLLMArePartsOfOneWhole(t *testing.T) {
	m := translate(t, `vllm:num_requests_running{model_name="m"} 0
vllm:prefix_cache_queries_total{model_name="m"} 100
vllm:prefix_cache_hits_total{model_name="m"} 40
vllm:external_prefix_cache_queries_total{model_name="m"} 60
vllm:external_prefix_cache_hits_total{model_name="m"} 25
`).Models[0]
	wantModel(t, "tiers", m, "m", map[string]float64{
		"running": 0, "tokens looked up": 100, "tokens hit device": 40, "tokens hit external": 25, "tokens missed": 35,
	})
}

func TestRanksOfSGLangCountOnceAndReplicasAddUp(t *testing.T) {
	var page strings.Builder
	for replica, values := range []struct{ running, used, usage, capacity float64 }{{3, 100, 0.1, 1000}, {5, 1200, 0.4, 3000}} {
		for rank := range 2 {
			labels := fmt.Sprintf(`{model_name="m",tp_rank="%d",pp_rank="0",moe_ep_rank="0",dp_rank="%d"}`, rank, replica)
			fmt.Fprintf(&page, "sglang:num_running_reqs%s %v\nsglang:num_used_tokens%s %v\nsglang:token_usage%s %v\nsglang:max_total_num_tokens%s %v\n",
				labels, values.running, labels, values.used, labels, values.usage, labels, values.capacity)
			fmt.Fprintf(&page, "sglang:kv_cache_memory_usage_gb%s 2\nsglang:num_retracted_reqs%s 0\n", labels, labels)
		}
	}
	page.WriteString(`sglang:page_size{model_name="m"} 50
sglang:prompt_tokens_total{model_name="m"} 1000
sglang:generation_tokens_total{model_name="m"} 7
sglang:cached_tokens_total{model_name="m",cache_source="device"} 300
sglang:cached_tokens_total{model_name="m",cache_source="host"} 200
sglang:cached_tokens_total{model_name="m",cache_source="storage"} 100
sglang:cached_tokens_total{model_name="m",cache_source="moon"} 50
sglang:cached_tokens_total{model_name="m",cache_source="mars"} 50
`)
	wantModel(t, "replicas", translate(t, page.String()).Models[0], "m", map[string]float64{
		"running": 8, "used tokens": 1300, "used ratio": (0.1*1000 + 0.4*3000) / 4000, "capacity tokens": 4000, "capacity blocks": 80, "capacity bytes": 4 << 30,
		"preemptions": 0, "prompt": 1000, "generation": 7, "tokens looked up": 1000, "tokens missed": 300,
		"tokens hit device": 300, "tokens hit host": 200, "tokens hit external": 100, "tokens hit other": 100,
	})
}

func TestPrioritiesOfSGLangCountOnceAndAPoolWithoutSizeIsUnknown(t *testing.T) {
	m := translate(t, `sglang:num_running_reqs{model_name="m"} 5
sglang:num_running_reqs{model_name="m",priority="0"} 2
sglang:num_running_reqs{model_name="m",priority="9"} 3
sglang:kv_cache_memory_usage_gb{model_name="m"} 0
sglang:token_usage{model_name="m"} 0.25
sglang:max_total_num_tokens{model_name="m"} 64
sglang:cache_config_info{page_size="16",num_pages="4"} 1
sglang:num_retracted_requests_total{model_name="m"} 48
sglang:num_retracted_reqs{model_name="m"} 1
sglang:prompt_tokens_total{model_name="m"} 10
sglang:cached_tokens_total{model_name="m"} 4
`).Models[0]
	wantModel(t, "priorities", m, "m", map[string]float64{
		"running": 5, "used ratio": 0.25, "capacity tokens": 64, "capacity blocks": 4, "preemptions": 48,
		"prompt": 10, "tokens looked up": 10, "tokens hit any": 4, "tokens missed": 6,
	})
}

func TestDynamoFoldsTheCaseOfModels(t *testing.T) {
	const one = `dynamo_frontend_inflight_requests{model="org/big"} 5
dynamo_frontend_queued_requests{model="org/big"} 2
dynamo_frontend_input_sequence_tokens_sum{model="org/big"} 100
dynamo_frontend_input_sequence_tokens_count{model="org/big"} 7
dynamo_frontend_cached_tokens_sum{model="org/big"} 60
dynamo_frontend_cached_tokens_count{model="org/big"} 2
dynamo_frontend_output_sequence_tokens_sum{model="org/big"} 40
dynamo_frontend_model_total_kv_blocks{model="Org/Big"} 10
dynamo_frontend_model_kv_cache_block_size{model="Org/Big"} 16
dynamo_component_router_worker_registered{router_worker_id="1",dp_rank="0"} 1
dynamo_component_router_worker_registered{router_worker_id="2",dp_rank="0"} 0
`
	wantModel(t, "one model under two names", translate(t, one).Models[0], "Org/Big", map[string]float64{
		"running": 3, "waiting": 2, "prompt": 100, "generation": 40, "capacity blocks": 10, "capacity tokens": 160,
		"begun": 7, "reported": 2, "prompt of begun": 100, "cached of reported": 60,
	})
	models := translate(t, one+`dynamo_frontend_inflight_requests{model="small"} 1
dynamo_frontend_queued_requests{model="small"} 3
dynamo_frontend_model_total_kv_blocks{model="Idle"} 0
`).Models
	if len(models) != 3 {
		t.Fatalf("%+v", models)
	}
	wantModel(t, "no worker tells", models[0], "Idle", map[string]float64{})
	wantModel(t, "one worker, of which of two models is not told", models[1], "Org/Big", map[string]float64{
		"running": 3, "waiting": 2, "prompt": 100, "generation": 40,
		"begun": 7, "reported": 2, "prompt of begun": 100, "cached of reported": 60,
	})
	wantModel(t, "counted apart", models[2], "small", map[string]float64{"running": 0, "waiting": 3})
}

func TestAnEngineBehindADynamoWorkerHasItsBlocks(t *testing.T) {
	const blocks = `dynamo_component_total_blocks{dp_rank="0",dynamo_component="backend",model="M"} 300
dynamo_component_total_blocks{dp_rank="1",dynamo_component="backend",model="M"} 100
dynamo_component_gpu_cache_usage_percent{dp_rank="0",dynamo_component="backend",model="M"} 0.5
dynamo_component_gpu_cache_usage_percent{dp_rank="1",dynamo_component="backend",model="M"} 0.1
dynamo_component_inflight_requests{dynamo_endpoint="generate"} 2
dynamo_component_inflight_requests{dynamo_endpoint="worker_kv_query_source_1"} 1
`
	wantModel(t, "worker", translate(t, blocks).Models[0], "M", map[string]float64{
		"capacity blocks": 400, "used ratio": (300*0.5 + 100*0.1) / 400, "inflight": 2,
	})
	vllm := translate(t, blocks+"vllm:num_requests_running{model_name=\"M\"} 1\n")
	wantModel(t, "vLLM", vllm.Models[0], "M", map[string]float64{"capacity blocks": 400, "used ratio": 0.4, "running": 1})
}

func TestZeroBlocksOfADynamoWorkerAreNotReported(t *testing.T) {
	const none = `dynamo_component_kvstats_total_blocks{dynamo_component="backend"} 0
dynamo_component_kvstats_active_blocks{dynamo_component="backend"} 0
dynamo_component_kvstats_gpu_cache_usage_percent{dynamo_component="backend"} 0
dynamo_component_inflight_requests{dynamo_endpoint="generate",model="M"} 2
dynamo_component_inflight_requests{dynamo_endpoint="clear_kv_blocks",model="M"} 1
`
	wantModel(t, "0 of 0", translate(t, none).Models[0], "M", map[string]float64{"inflight": 2})
	some := strings.Replace(none, `total_blocks{dynamo_component="backend"} 0`, `total_blocks{dynamo_component="backend"} 8`, 1)
	wantModel(t, "0 of 8", translate(t, some).Models[0], "M", map[string]float64{"inflight": 2, "capacity blocks": 8, "used ratio": 0})
}

func TestWorkersOfLMCacheLookUpTheSameTokens(t *testing.T) {
	m := translate(t, `lmcache:num_requested_tokens_total{model_name="m",worker_id="0"} 0
lmcache:num_requested_tokens_total{model_name="m",worker_id="1"} 0
lmcache:num_hit_tokens_total{model_name="m",worker_id="0"} 0
lmcache:num_hit_tokens_total{model_name="m",worker_id="1"} 0
lmcache:retrieve_hit_rate{model_name="m",worker_id="0"} 1
lmcache:local_cache_usage{model_name="m",worker_id="0"} 100
lmcache:local_cache_usage{model_name="m",worker_id="1"} 50
`).Models[0]
	// The hit rate of 1 is what LMCache says when nobody asked.
	wantModel(t, "nobody asked", m, "m", map[string]float64{"tokens looked up": 0, "tokens hit external": 0, "tokens missed": 0, "host bytes": 150})
}

func TestTokensOfTensorRTLLMInReleasesThatCountThem(t *testing.T) {
	m := translate(t, `trtllm_prompt_tokens_total{model_name="m"} 1000
trtllm_prompt_cached_tokens_total{model_name="m"} 640
trtllm_generation_tokens_total{model_name="m"} 77
trtllm_num_paused_requests{model_name="m"} 2
trtllm_kv_cache_max_blocks{model_name="m"} 4
trtllm_kv_cache_used_blocks{model_name="m"} 1
`).Models[0]
	wantModel(t, "tokens", m, "m", map[string]float64{
		"prompt": 1000, "generation": 77, "paused": 2, "capacity blocks": 4, "used ratio": 0.25,
		"tokens looked up": 1000, "tokens hit any": 640, "tokens missed": 360,
	})
}

func TestARatioBeyondOneIsNone(t *testing.T) {
	m := translate(t, "trtllm_kv_cache_utilization{model_name=\"m\"} 37.5\nllamacpp:kv_cache_usage_ratio 0.5\n").Models[0]
	wantModel(t, "percent", m, "m", map[string]float64{})
	m = translate(t, "llamacpp:kv_cache_usage_ratio 0.5\nllamacpp:kv_cache_tokens 70\n").Models[0]
	wantModel(t, "old llama.cpp", m, "", map[string]float64{"used ratio": 0.5, "used tokens": 70})
}

func TestModelsOfOneSourceAreBounded(t *testing.T) {
	var page strings.Builder
	for i := range spec.MaxModels + 1 {
		fmt.Fprintf(&page, "vllm:num_requests_running{model_name=\"m%d\"} 1\n", i)
	}
	parsed, err := parsePage(context.Background(), []byte(page.String()), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := supported.Engines().Translate(parsed); err == nil || !strings.Contains(err.Error(), "at most 64") {
		t.Errorf("%v", err)
	}
}

// TestEveryForeignNameIsInASampleOrATest finds names that nobody has ever seen on a page.
func TestEveryForeignNameIsInASampleOrATest(t *testing.T) {
	var seen strings.Builder
	paths, err := filepath.Glob("testdata/*.prom")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%v, %v", paths, err)
	}
	tests, err := filepath.Glob("*_test.go")
	tests = append(tests, "../collector/kvbm_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(paths, tests...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		seen.Write(text)
	}
	sources, err := filepath.Glob("*/names.go")
	if err != nil {
		t.Fatal(err)
	}
	var names strings.Builder
	for _, path := range sources {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		names.Write(text)
	}
	checked := 0
	for line := range strings.Lines(names.String()) {
		_, rest, _ := strings.Cut(line, ` = "`)
		name, _, isConstant := strings.Cut(rest, `"`)
		if !isConstant || strings.HasPrefix(name, "/") {
			continue
		}
		checked++
		if !strings.Contains(seen.String(), name) {
			t.Errorf("%s is on no page", name)
		}
	}
	if checked < 50 {
		t.Errorf("only %d names were found", checked)
	}
}

// TestTheShareThatVLLMWasToldToTake is in a label of its page.
func TestTheShareThatVLLMWasToldToTake(t *testing.T) {
	page := sample(t, "vllm-doc.prom")
	for told, want := range map[string]float64{"0.9": 0.9, "0.25": 0.25, "None": -1, "90": -1, "NaN": -1} {
		models := translate(t, strings.Replace(page, `gpu_memory_utilization="0.9"`, `gpu_memory_utilization="`+told+`"`, 1)).Models
		got := -1.0
		if share := models[0].MemoryShare; share != nil {
			got = *share
		}
		if got != want {
			t.Errorf("%s: %v, want %v", told, got, want)
		}
	}
}
