package server

import (
	"maps"
	"strings"
	"testing"
)

func TestEnginesTellHowTheyAreConfigured(t *testing.T) {
	const key = "sk-0123456789"
	for name, c := range map[string]struct {
		engine string
		pages  map[string]string
		want   map[string]string
	}{
		"vLLM": {"vllm", map[string]string{"/metrics": "# HELP vllm:cache_config_info Information\n# TYPE vllm:cache_config_info gauge\n" +
			`vllm:cache_config_info{block_size="16",cache_dtype="auto",num_gpu_blocks="573",engine="0"} 1.0` + "\n" +
			`vllm:cache_config_info{block_size="16",cache_dtype="auto",num_gpu_blocks="571",engine="1"} 1.0` + "\n" +
			`vllm:cache_config_info_other{block_size="32"} 1.0` + "\n"},
			map[string]string{"block_size": "16", "cache_dtype": "auto", "num_gpu_blocks": "573, 571", "engine": "0, 1"}},
		"SGLang": {"sglang", map[string]string{"/get_server_info": `{"tp_size":2,"mem_fraction_static":0.8,"disable_radix_cache":false,"quantization":null,"kv_cache_dtype":"fp8\/e5m2","api_key":"` + key + `","internal_states":[{}]}`},
			map[string]string{"tp_size": "2", "mem_fraction_static": "0.8", "disable_radix_cache": "false", "kv_cache_dtype": "fp8/e5m2"}},
		"SGLang by its newer name": {"sglang", map[string]string{"/server_info": `{"tp_size":2}`, "/get_server_info": `{"tp_size":3}`}, map[string]string{"tp_size": "2"}},
		"llama.cpp":                {"openai", map[string]string{"/props": `{"total_slots":4,"build_info":"b6500","model_path":"/x"}`}, map[string]string{"total_slots": "4", "build_info": "b6500"}},
		"a key that is repeated":   {"openai", map[string]string{"/props": `{"build_info":"` + key + `"}`}, map[string]string{"build_info": "[redacted]"}},
		"an engine without a word": {"trtllm", map[string]string{"/metrics": `vllm:cache_config_info{block_size="16"} 1`}, nil},
		"garbage":                  {"vllm", map[string]string{"/metrics": "vllm:cache_config_info{{{\n"}, nil},
		"nothing":                  {"sglang", nil, nil},
	} {
		api := pathServerOf(t, key, c.pages)
		if got := api.configured(t.Context(), c.engine); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func FuzzSettingsAreFewAndPrintable(f *testing.F) {
	f.Add([]byte(`vllm:cache_config_info{block_size="16",engine="0"} 1.0`))
	f.Add([]byte("vllm:cache_config_info{a=\"\\n\x1b[31m\"} 1\nvllm:cache_config_info{a=\"b\"} 1\r\n"))
	f.Add([]byte(`{"total_slots":4,"build_info":"\u001b[2J"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, reported := range []map[string]string{infoLabels(text, "vllm:cache_config_info"), members(text, []string{"build_info", "total_slots"})} {
			if len(reported) > mostSettings {
				t.Errorf("%d settings", len(reported))
			}
			for name, value := range reported {
				if name == "" || len(name) > longestSetting || len(value) > longestSetting || strings.ContainsAny(name+value, "\x1b\n\r\u009b") {
					t.Errorf("%q: %q", name, value)
				}
			}
		}
	})
}
