package sim

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/umascope/umascope/exporter/engine/dynamo"
	"github.com/umascope/umascope/exporter/engine/trtllm"
	"github.com/umascope/umascope/exporter/engine/vllm"
	"github.com/umascope/umascope/exporter/metric"
)

// scrape reads a page as a scraper does.
func scrape(t *testing.T, handler http.Handler, path string) map[string]*dto.MetricFamily {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("%s: status %d: %v", path, w.Code, err)
	}
	return families
}

func pageOf(t *testing.T, e *Engine) map[string]*dto.MetricFamily {
	t.Helper()
	return scrape(t, e.Handler(), "/metrics")
}

// vocabularyNames are all texts in the part of the vocabulary that has the names of others.
func vocabularyNames(t *testing.T) map[string]bool {
	t.Helper()
	paths, err := filepath.Glob("../../exporter/metric/foreign*.go")
	own, err2 := filepath.Glob("../../exporter/engine/*/*.go")
	if paths = append(paths, own...); err != nil || err2 != nil || len(paths) < 10 {
		t.Fatalf("no vocabulary: %v, %v", err, err2)
	}
	names := map[string]bool{}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				name, err := strconv.Unquote(literal.Value)
				names[name] = err == nil
			}
			return true
		})
	}
	return names
}

// tiered has all tiers, so that it has all pages.
func tiered(vendor Vendor) Config {
	c := paced()
	c.Vendor, c.KV.HostBytes, c.KV.DiskBytes = vendor, 8<<30, 32<<30
	return c
}

func TestEveryPageHasTheNamesOfTheVocabularyAndIsMarkedAsSimulated(t *testing.T) {
	known := vocabularyNames(t)
	pages := map[string]map[string]*dto.MetricFamily{
		"vLLM":         scrape(t, start(t, tiered(VLLM)).Handler(), "/metrics"),
		"TensorRT-LLM": scrape(t, start(t, tiered(TensorRTLLM)).Handler(), trtllm.PagePath),
		"Dynamo":       scrape(t, start(t, tiered(Dynamo)).Handler(), "/metrics"),
	}
	for _, version := range []KVBMPage{KVBMv1, KVBMv2, DynamoPrefixed} {
		c := tiered(VLLM)
		c.KV.Page = version
		pages[string(version)] = scrape(t, start(t, c).KVBMHandler(), "/metrics")
	}
	for title, families := range pages {
		if len(families) < 11 {
			t.Errorf("%s: only %d families", title, len(families))
		}
		for name, family := range families {
			if !known[name] && !(title == string(DynamoPrefixed) && known[strings.TrimPrefix(name, "dynamo_")]) {
				t.Errorf("%s: %s is not in the vocabulary", title, name)
			}
			if !strings.Contains(family.GetHelp(), "Simulated") {
				t.Errorf("%s hides what it is: %s", name, family.GetHelp())
			}
			if total := strings.HasSuffix(name, "_total"); total && family.GetType() != dto.MetricType_COUNTER {
				t.Errorf("%s is a %s", name, family.GetType())
			}
		}
	}
	if _, has := pages["v1"][dynamo.KVBMOnboardBlocksD2H]; has {
		t.Error("version 1 of KVBM has a series of version 2")
	}
}

func TestVLLMReportsTheSizeOfItsCacheInBytesIfConfigured(t *testing.T) {
	c := paced()
	for _, reported := range []bool{false, true} {
		c.KV.ReportBytes = reported
		labels := map[string]string{}
		for _, label := range pageOf(t, start(t, c))[vllm.CacheConfigInfo].GetMetric()[0].GetLabel() {
			labels[label.GetName()] = label.GetValue()
		}
		bytes, has := labels[vllm.LabelBytes]
		want := strconv.Itoa(c.KVCacheTokens / c.KV.TokensPerBlock * int(c.KV.BlockBytes()))
		if has != reported || reported && bytes != want {
			t.Errorf("configured %v: %q of %v, want %s", reported, bytes, labels, want)
		}
	}
}

// What the vocabulary defines of vLLM's with kind and labels is served just so.
func TestThePageOfVLLMIsAsDefined(t *testing.T) {
	families := pageOf(t, start(t, paced()))
	for _, definer := range metric.Foreign() {
		def := definer.Def()
		if !strings.HasPrefix(def.Name, "vllm:") {
			continue
		}
		family := families[def.Name]
		if got := strings.ToLower(family.GetType().String()); family == nil || got != string(def.Kind) {
			t.Errorf("%s is a %s, defined as %s", def.Name, got, def.Kind)
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				// The number of the replica is on all of vLLM's pages; ours never ask for it.
				if name := label.GetName(); name != vllm.LabelEngine && !def.HasLabel(metric.Label(name)) {
					t.Errorf("%s has the label %s", def.Name, name)
				}
			}
		}
	}
}

// expected is what the page must show of one family.
type expected struct {
	definer metric.Definer
	value   float64
}

// value is that of the only counter or gauge of a family, or of the one with the reason given.
func value(t *testing.T, families map[string]*dto.MetricFamily, definer metric.Definer, reason finishReason) float64 {
	t.Helper()
	name := definer.Def().Name
	for _, m := range families[name].GetMetric() {
		isReason := func(label *dto.LabelPair) bool { return label.GetValue() == string(reason) }
		if reason == "" || slices.ContainsFunc(m.GetLabel(), isReason) {
			return m.GetCounter().GetValue() + m.GetGauge().GetValue() // the one that it is not is 0
		}
	}
	t.Fatalf("no %s %s on the page", name, reason)
	return 0
}

func TestThePageCountsServedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, stop := startFor(t, paced())
		var all sync.WaitGroup
		post(t.Context(), e, path, tenTokens("4"))
		post(t.Context(), e, path, strings.Replace(tenTokens("100"), `"ignore_eos":true`, `"stop":"`+vocabulary[0]+`","min_tokens":0`, 1))
		ctx, leave := context.WithCancel(t.Context())
		all.Go(func() { post(ctx, e, path, tenTokens("100")) })
		time.Sleep(33 * time.Millisecond) // two tokens
		families := pageOf(t, e)
		for _, row := range []expected{
			{metric.VLLMNumRequestsRunning, 1},
			{metric.VLLMNumRequestsWaiting, 0},
			{metric.VLLMKVCacheUsagePerc, 16. / float64(e.config.KVCacheTokens)},
			{metric.VLLMPromptTokensTotal, 30},
		} {
			if got := value(t, families, row.definer, ""); got != row.value {
				t.Errorf("%s is %v, want %v", row.definer.Def().Name, got, row.value)
			}
		}
		leave()
		all.Go(func() { post(t.Context(), e, path, tenTokens("100")) })
		time.Sleep(time.Millisecond)
		stop()
		all.Wait()
		families = pageOf(t, e)
		for _, reason := range finishReasons() {
			if got := value(t, families, metric.VLLMRequestSuccessTotal, reason); got != 1 {
				t.Errorf("%v requests ended with %s, want 1", got, reason)
			}
		}
	})
}

func TestTheHistogramsHoldTheTimesThatTheClientSaw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := paced()
		c.MaxBatch = 1
		e := start(t, c)
		var all sync.WaitGroup
		all.Go(func() { post(t.Context(), e, path, tenTokens("3")) }) // tokens after 21, 32, 43 ms
		time.Sleep(time.Millisecond)
		all.Go(func() { post(t.Context(), e, path, tenTokens("2")) }) // 42 of queue, then 63 and 74
		all.Wait()
		families := pageOf(t, e)
		for _, row := range []expected{
			{metric.VLLMRequestQueueTimeSeconds, 0.042},
			{metric.VLLMTimeToFirstTokenSeconds, 0.021 + 0.063},
			{metric.VLLMRequestTimePerOutputTokenSeconds, 0.011 + 0.011},
			{metric.VLLME2ERequestLatencySeconds, 0.043 + 0.074},
		} {
			h := families[row.definer.Def().Name].GetMetric()[0].GetHistogram()
			if got := h.GetSampleSum(); h.GetSampleCount() != 2 || math.Abs(got-row.value) > 1e-9 {
				t.Errorf("%s: %d samples, sum %v, want 2 and %v", row.definer.Def().Name, h.GetSampleCount(), got, row.value)
			}
		}
		if got := value(t, families, metric.VLLMGenerationTokensTotal, ""); got != 5 {
			t.Errorf("%v tokens generated, want 5", got)
		}
	})
}
