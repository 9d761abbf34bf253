package sim

import (
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/umascope/umascope/exporter/metric"
)

// page reads /metrics as a scraper does.
func page(t *testing.T, e *Engine) map[string]*dto.MetricFamily {
	t.Helper()
	w := httptest.NewRecorder()
	e.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("status %d: %v", w.Code, err)
	}
	return families
}

func TestThePageHasTheForeignNamesAndSaysThatItIsSimulated(t *testing.T) {
	known := map[string]metric.Def{}
	for _, definer := range metric.Foreign() {
		known[definer.Def().Name] = definer.Def()
	}
	families := page(t, start(t, paced()))
	for name, family := range families {
		def, ok := known[name]
		if !ok {
			t.Errorf("%s is not in metric.Foreign", name)
			continue
		}
		if got := strings.ToLower(family.GetType().String()); got != string(def.Kind) {
			t.Errorf("%s is a %s, defined as %s", name, got, def.Kind)
		}
		if !strings.Contains(family.GetHelp(), "Simulated") {
			t.Errorf("%s hides what it is: %s", name, family.GetHelp())
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if !def.HasLabel(metric.Label(label.GetName())) {
					t.Errorf("%s has the label %s", name, label.GetName())
				}
			}
		}
	}
	for name := range known {
		if _, served := families[name]; strings.HasPrefix(name, "vllm:") && !served {
			t.Errorf("%s is not served", name)
		}
	}
}

func TestThePagePassesTheLinter(t *testing.T) {
	problems, err := testutil.GatherAndLint(start(t, paced()).meter.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		// vLLM's names, not ours: the prefix ends with a colon.
		if !strings.Contains(p.Text, "':'") {
			t.Errorf("%s: %s", p.Metric, p.Text)
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

func TestThePageCountsWhatWasServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, stop := startFor(t, paced())
		var all sync.WaitGroup
		post(t.Context(), e, path, tenTokens("4"))
		post(t.Context(), e, path, strings.Replace(tenTokens("100"), `"ignore_eos":true`, `"stop":"`+vocabulary[0]+`","min_tokens":0`, 1))
		ctx, leave := context.WithCancel(t.Context())
		all.Go(func() { post(ctx, e, path, tenTokens("100")) })
		time.Sleep(33 * time.Millisecond) // two tokens
		families := page(t, e)
		for _, row := range []expected{
			{metric.VLLMNumRequestsRunning, 1},
			{metric.VLLMNumRequestsWaiting, 0},
			{metric.VLLMKVCacheUsagePerc, 12. / float64(e.config.KVCacheTokens)},
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
		families = page(t, e)
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
		families := page(t, e)
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
