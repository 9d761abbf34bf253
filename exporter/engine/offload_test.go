package engine

import (
	"maps"
	"strings"
	"testing"
)

func TestTheTiersOfVLLMsOwnOffloadingMoveBytes(t *testing.T) {
	for page, want := range map[string]map[string]float64{
		sample(t, "vllm-0.26.0-cuda-tiering-fs.prom"): {"device to host bytes": 18896912384, "host to device bytes": 1809842176},
		// A release without counters of loads and stores.
		`vllm:num_requests_running{engine="0",model_name="m"} 1
vllm:kv_offload_total_bytes_total{engine="0",model_name="m",transfer_type="CPU_to_GPU"} 7
`: {"host to device bytes": 7},
		`vllm:num_requests_running{engine="0",model_name="m"} 1
vllm:kv_offload_tiering_read_bytes_total{engine="0",model_name="m",tier="0:primary"} 100
vllm:kv_offload_tiering_read_bytes_total{engine="0",model_name="m",tier="1:fs"} 20
vllm:kv_offload_tiering_read_bytes_total{engine="0",model_name="m",tier="2:fs"} 3
vllm:kv_offload_tiering_write_bytes_total{engine="0",model_name="m",tier="3:obj"} 4
`: {"disk to host bytes": 23, "host to object bytes": 4},
	} {
		reading := translate(t, page)
		got := map[string]float64{}
		for name, value := range valuesOf(reading.Models[0]) {
			if strings.Contains(name, " to ") {
				got[name] = value
			}
		}
		if !maps.Equal(got, want) || len(reading.UnknownLabels) > 0 {
			t.Errorf("%v, want %v; unknown labels %q", got, want, reading.UnknownLabels)
		}
	}
}

// TestVLLMsSimpleOffloadingMovesBlocks takes names and labels from vllm/v1/simple_kv_offload/metrics.py of 0.33.0; the numbers are
// made up.
func TestVLLMsSimpleOffloadingMovesBlocks(t *testing.T) {
	const (
		running = `vllm:num_requests_running{engine="0",model_name="m"} 1` + "\n"
		config  = `vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="1000",sliding_window="None"} 1` + "\n"
		loaded  = `vllm:simple_kv_offload_load_blocks_total{engine="0",model_name="m"} 30` + "\n"
		held    = `vllm:simple_kv_offload_used_blocks{engine="0",model_name="m"} 5` + "\n"
	)
	info := func(engine, backend, pageCache, blocks string) string {
		return `vllm:simple_kv_offload_info{backend="` + backend + `",capacity_blocks="` + blocks + `",engine="` + engine + `",lazy_offload="false",model_name="m",page_cache="` + pageCache + `"} 1` + "\n"
	}
	second := strings.ReplaceAll(running+config+loaded, `engine="0"`, `engine="1"`)
	for what, test := range map[string]struct {
		page, reason string
		want         map[string]float64
	}{
		"in memory":                 {page: config + loaded + held + info("0", "cpu", "false", "4000"), want: map[string]float64{"host to device tokens": 480, "host capacity tokens": 64000}},
		"in a file":                 {page: config + loaded + info("0", "disk", "false", "4000"), want: map[string]float64{"disk to device tokens": 480, "disk capacity tokens": 64000, "disk direct": 1}},
		"through the page cache":    {page: config + loaded + info("0", "disk", "true", "4000"), want: map[string]float64{"disk to device tokens": 480, "disk capacity tokens": 64000, "disk direct": 0}},
		"nothing loaded yet":        {page: config + info("0", "cpu", "false", "4000"), want: map[string]float64{"host capacity tokens": 64000}},
		"two replicas":              {page: config + loaded + info("0", "cpu", "false", "4000") + second + info("1", "cpu", "false", "2000"), want: map[string]float64{"host to device tokens": 960, "host capacity tokens": 96000}},
		"two replicas, one config":  {page: config + loaded + info("0", "cpu", "false", "4000") + info("1", "cpu", "false", "2000"), want: map[string]float64{}},
		"two kinds of tiers":        {page: config + loaded + info("0", "cpu", "false", "4000") + second + info("1", "disk", "false", "2000"), want: map[string]float64{}, reason: "several values of backend"},
		"blocks of several kinds":   {page: strings.Replace(config, `"None"`, `"4096"`, 1) + loaded + info("0", "disk", "true", "4000"), want: map[string]float64{"disk direct": 0}, reason: "sliding window"},
		"tokens that do not fit":    {page: strings.Replace(config, `sliding`, `kv_cache_size_tokens="8000",sliding`, 1) + loaded + info("0", "cpu", "false", "4000"), want: map[string]float64{}, reason: "8000 tokens for 1000 blocks of 16"},
		"a backend of a later time": {page: config + loaded + info("0", "cxl", "false", "4000"), want: map[string]float64{"other to device tokens": 480, "other capacity tokens": 64000}},
	} {
		reading := translate(t, running+test.page)
		got := valuesOf(reading.Models[0])
		maps.DeleteFunc(got, func(name string, _ float64) bool {
			return !strings.Contains(name, " to ") && !strings.HasSuffix(name, " direct") && (!strings.HasSuffix(name, " capacity tokens"))
		})
		if !maps.Equal(got, test.want) || len(reading.UnknownLabels) > 0 {
			t.Errorf("%s: %v, want %v; unknown labels %q", what, got, test.want, reading.UnknownLabels)
		}
		if test.reason != "" {
			wantReason(t, what, reading, test.reason)
		}
	}
}

// TestTheSizeOfVLLMsHostTierIsALabel takes names from vllm/v1/kv_offload/cpu/common.py and tiering/manager.py of 0.33.0.
func TestTheSizeOfVLLMsHostTierIsALabel(t *testing.T) {
	info := func(engine, size, tier string) string {
		return `vllm:kv_offload_config_info{cpu_blocks_per_chunk="1",cpu_kv_cache_size_bytes="` + size + `",engine="` + engine + `",model_name="m",tier="` + tier + `"} 1` + "\n"
	}
	for page, want := range map[string]float64{
		info("0", "2147483648", "0:primary") + info("0", "", "1:fs"):                               2 << 30,
		info("0", "2147483648", "0:primary") + info("0", "", "1:fs") + info("1", "1", "0:primary"): 2<<30 + 1,
		info("0", "2147483648", "") + info("1", "None", ""):                                        0,
		info("0", "1", "") + info("0", "2", ""):                                                    0,
	} {
		reading := translate(t, `vllm:num_requests_running{engine="0",model_name="m"} 1`+"\n"+page)
		if got := valuesOf(reading.Models[0])["host tier bytes"]; got != want || len(reading.UnknownLabels) > 0 {
			t.Errorf("%s: %v, want %v; %q", page, got, want, reading.UnknownLabels)
		}
	}
}
