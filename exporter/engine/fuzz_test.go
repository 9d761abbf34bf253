package engine

import (
	"context"
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/llamacpp"
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/exporter/engine/trtllm"
)

// FuzzTranslate gives all dialects any page. Whatever stands there, a reading has bounded models of different
// names, and shares between 0 and 1.
func FuzzTranslate(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.prom")
	if err != nil || len(paths) == 0 {
		f.Fatalf("%v, %v", paths, err)
	}
	for _, path := range paths {
		f.Add(essence(f, sample(f, filepath.Base(path))))
	}
	f.Add("sglang:token_usage{dp_rank=\"0\"} 0.5\nsglang:token_usage{dp_rank=\"1\"} 1e300\nsglang:max_total_num_tokens -1\n")
	f.Add("vllm:kv_cache_usage_perc 0.5\nvllm:cache_config_info{num_gpu_blocks=\"9\",block_size=\"99999999999999999999\"} 1\n")
	f.Add(hybrid)
	f.Add(apiServers(0, 0.65))
	f.Add("request_success_total{engine_type=\"undefined\",model_name=\"undefined\"} 1\nrequest_success_total{engine_type=\"undefined\"} 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		page, err := parsePage(context.Background(), []byte(text), false)
		if err != nil {
			return
		}
		reading, err := supported.Engines().Translate(page)
		if err != nil {
			return
		}
		if len(reading.Models) == 0 || len(reading.Models) > spec.MaxModels || reading.Engine == "" {
			t.Errorf("%d models of %q", len(reading.Models), reading.Engine)
		}
		if reading.Unread < 0 || reading.Unread > reading.Families {
			t.Errorf("%d of %d families are not read", reading.Unread, reading.Families)
		}
		if len(reading.Absent) > spec.MaxReasons || len(reading.UnknownLabels) > spec.MaxUnknownLabels {
			t.Errorf("%d reasons, %d unknown labels", len(reading.Absent), len(reading.UnknownLabels))
		}
		names := map[string]bool{}
		for _, m := range reading.Models {
			if names[m.Name] {
				t.Errorf("model %q stands twice", m.Name)
			}
			names[m.Name] = true
			checkModel(t, m)
		}
	})
}

// essence is a page without what a fuzzer would spend its time on in vain: only the families that are read.
func essence(f *testing.F, text string) string {
	page, err := parsePage(context.Background(), []byte(text), false)
	if err != nil {
		f.Fatal(err)
	}
	all := spec.NewView(page, spec.Labels{})
	for _, e := range supported.Engines() {
		for _, form := range e.Metrics.Forms {
			if len(page.Families(form.Owns)) > 0 {
				form.Read(all)
			}
		}
	}
	var kept strings.Builder
	for line := range strings.Lines(text) {
		name := line[:max(0, strings.IndexAny(line, "{ "))]
		if all.Asked(page.Family(name)) && !strings.HasPrefix(line, "#") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

func checkModel(t *testing.T, m spec.Model) {
	t.Helper()
	if m.UsedRatio != nil && !(*m.UsedRatio >= 0 && *m.UsedRatio <= 1) {
		t.Errorf("used ratio %v", *m.UsedRatio)
	}
	for _, pool := range m.StatePools {
		if !(pool.UsedRatio >= 0 && pool.UsedRatio <= 1) {
			t.Errorf("pool %s is used to %v", pool.Kind, pool.UsedRatio)
		}
	}
	for what, value := range valuesOf(m) {
		// Misses are a difference of two counts that are not read at one moment.
		if value < 0 && !strings.Contains(what, "missed") && !strings.Contains(what, "looked up") {
			t.Errorf("%s is %v", what, value)
		}
		// Sums of numbers near the largest may overflow; then the batch refuses what comes of them.
		if math.IsNaN(value) && !math.IsInf(valuesOf(m)[strings.Replace(what, "missed", "looked up", 1)], 0) {
			t.Errorf("%s is not a number", what)
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, name := range []string{"llamacpp-slots-constructed.json", "trtllm-metrics-constructed.json", "trtllm-metrics-doc.json"} {
		f.Add([]byte(sample(f, name)))
	}
	f.Add([]byte(`[{"n_ctx":1,"is_processing":true,"n_prompt_tokens":-5,"next_token":{"n_decoded":7}}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var m spec.Model
		llamacpp.Engine().Identity.Complete(func(_ string, into any) error { return json.Unmarshal(text, into) }, spec.Facts{}, &m)
		checkModel(t, m)
		if complete, err := trtllm.Engine().Metrics.Draining.Latest(text); err == nil && complete != nil {
			m := spec.Model{}
			complete(&m)
			checkModel(t, m)
		}
	})
}

func TestSeveralSlotsHaveNoCapacity(t *testing.T) {
	slots := []byte(`[{"n_ctx":8},{"n_ctx":8}]`)
	var m spec.Model
	llamacpp.Engine().Identity.Complete(func(_ string, into any) error { return json.Unmarshal(slots, into) }, spec.Facts{}, &m)
	if m.CapacityTokens != nil || m.UsedTokens == nil {
		t.Errorf("%+v", m.Pool)
	}
}
