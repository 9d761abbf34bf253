package sim

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/umascope/umascope/exporter/engine/dynamo"
	"github.com/umascope/umascope/exporter/engine/trtllm"
	"github.com/umascope/umascope/exporter/engine/vllm"
	"github.com/umascope/umascope/exporter/metric"
)

func of(vendor Vendor) Config {
	c := instant()
	c.Vendor = vendor
	return c
}

func TestEachVendorHasItsOwnPaths(t *testing.T) {
	for vendor, has := range map[Vendor][]string{
		VLLM:        {"/metrics", "/version"},
		TensorRTLLM: {"/prometheus/metrics", "/version"},
		Dynamo:      {"/metrics"},
		OpenAI:      {},
	} {
		e := start(t, of(vendor))
		for _, path := range []string{"/metrics", "/prometheus/metrics", "/version"} {
			want := http.StatusNotFound
			if slices.Contains(has, path) {
				want = http.StatusOK
			}
			if got := get(e, path); got.status != want {
				t.Errorf("%s %s: status %d, want %d", vendor, path, got.status, want)
			}
		}
		var models modelList
		if err := json.Unmarshal([]byte(get(e, "/v1/models").body.String()), &models); err != nil || len(models.Data) != 1 {
			t.Fatalf("%s: %v", vendor, err)
		}
		model := models.Data[0]
		if !strings.HasSuffix(model.OwnedBy, "-simulated") || (model.MaxModelLen > 0) != (vendor == VLLM) {
			t.Errorf("%s: %+v", vendor, model)
		}
		if got := get(e, "/health"); got.status != http.StatusOK {
			t.Errorf("%s: health has status %d", vendor, got.status)
		}
	}
}

func TestTensorRTLLMRefusesUnknownFields(t *testing.T) {
	strict, lax := start(t, of(TensorRTLLM)), start(t, of(VLLM))
	for name, row := range map[string]struct {
		path, fields string
		unknown      []string
	}{
		"its own":               {path, `,"ignore_eos":true,"min_tokens":2,"detokenize":true,"stream":true,"stream_options":{"continuous_usage_stats":true}`, nil},
		"vLLM's":                {path, `,"return_token_ids":true,"request_id":"a"`, []string{"('body', 'request_id')", "('body', 'return_token_ids')"}},
		"of the other endpoint": {path, `,"max_completion_tokens":5`, []string{"('body', 'max_completion_tokens')"}},
		"a salt, chat only":     {path, `,"cache_salt":"a"`, []string{"('body', 'cache_salt')"}},
		"in stream_options":     {path, `,"stream":true,"stream_options":{"include_obfuscation":false}`, []string{"('body', 'stream_options', 'include_obfuscation')"}},
		"a hostile name":        {path, `,"\u001b[31m'<script>":1`, []string{`\\x1b[31m\'<script>`}},
	} {
		body := `{"model":"simulated-8b","prompt":"a","max_tokens":2` + row.fields + `}`
		got := post(t.Context(), strict, row.path, body)
		if (got.status == http.StatusBadRequest) != (row.unknown != nil) {
			t.Errorf("%s: status %d: %s", name, got.status, got.body.String())
		}
		if row.unknown == nil {
			continue
		}
		var refused struct {
			Error string `json:"error"` // a text, not an object
		}
		if err := json.Unmarshal([]byte(got.body.String()), &refused); err != nil || !strings.Contains(refused.Error, "'msg': 'Extra inputs are not permitted'") {
			t.Errorf("%s: %s, %v", name, got.body.String(), err)
		}
		for _, where := range row.unknown {
			if !strings.Contains(refused.Error, strings.ReplaceAll(where, `\\`, `\`)) {
				t.Errorf("%s: %s is not named in %s", name, where, refused.Error)
			}
		}
		if got := post(t.Context(), lax, row.path, body); got.status != http.StatusOK {
			t.Errorf("%s: vLLM refuses it: %s", name, got.body.String())
		}
	}
}

// vLLM's refusal is recorded from vLLM 0.32.0, which was sent cache_salt "run/baseline_1".
func TestSaltsAreRefusedAsVLLMDoes(t *testing.T) {
	recorded, err := os.ReadFile("../openai/testdata/recorded/vllm-0.32.0-cache-salt.json")
	if err != nil {
		t.Fatal(err)
	}
	want := refusalIn(t, string(recorded))
	vllm, dynamo := start(t, of(VLLM)), start(t, of(Dynamo))
	for salt, refused := range map[string]bool{
		"run/baseline_1": true, "a@b": true, `a\\b`: true, `a\u0000b`: true, strings.Repeat("a", 129): true,
		strings.Repeat("a", 128): false, "a.b_c-d:e f": false, strings.Repeat("ü", 128): false,
	} {
		body := `{"model":"simulated-8b","prompt":"a","max_tokens":2,"cache_salt":"` + salt + `"}`
		got := post(t.Context(), vllm, path, body)
		if (got.status == http.StatusBadRequest) != refused || refused && refusalIn(t, got.body.String()) != want {
			t.Errorf("%.20q: status %d: %s", salt, got.status, got.body.String())
		}
		if got := post(t.Context(), dynamo, path, body); got.status != http.StatusOK {
			t.Errorf("%.20q: Dynamo refuses it: %s", salt, got.body.String())
		}
	}
	if got := post(t.Context(), vllm, path, `{"model":"simulated-8b","prompt":"a","cache_salt":""}`); got.status != http.StatusBadRequest {
		t.Errorf("an empty salt: status %d", got.status)
	}
}

// refusal is what two refusals have in common: sim has codes of its own.
type refusal struct{ Message, Param string }

func refusalIn(t *testing.T, body string) refusal {
	t.Helper()
	var answer struct{ Error refusal }
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return answer.Error
}

func TestErrorsHaveTheVendorsForm(t *testing.T) {
	bad := `{"model":"simulated-8b","prompt":"a","temperature":3}`
	for vendor, want := range map[Vendor]string{
		VLLM:        `{"error":{"message":"temperature is 3`,
		TensorRTLLM: `{"object":"error","message":"temperature is 3`,
	} {
		if got := post(t.Context(), start(t, of(vendor)), path, bad); got.status != 400 || !strings.HasPrefix(got.body.String(), want) {
			t.Errorf("%s: %d, %s", vendor, got.status, got.body.String())
		}
	}
}

func TestSomeVendorsDoNotLookAtTheNameOfTheModel(t *testing.T) {
	for vendor, want := range map[Vendor]int{VLLM: 404, Dynamo: 404, TensorRTLLM: 200} {
		got := post(t.Context(), start(t, of(vendor)), path, `{"model":"another","prompt":"a"}`)
		if got.status != want || want == 200 && !strings.Contains(got.body.String(), `"model":"simulated-8b"`) {
			t.Errorf("%s: status %d: %s", vendor, got.status, got.body.String())
		}
	}
}

func TestPagesOfAllVendorsCountTheSameThings(t *testing.T) {
	for vendor, names := range map[Vendor][]string{
		VLLM:        {metric.VLLMPromptTokensTotal.Def().Name, metric.VLLMGenerationTokensTotal.Def().Name, vllm.PrefixHits},
		TensorRTLLM: {trtllm.PromptTokens, trtllm.GenerationTokens, trtllm.CachedTokens},
		Dynamo:      {dynamo.InputTokens, dynamo.OutputTokens, dynamo.CachedTokens},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := tiny()
			c.Vendor = vendor
			e := start(t, c)
			for range 3 {
				body := `{"model":"simulated-8b","prompt":"` + promptOf("A", 161) + `","max_tokens":12,"ignore_eos":true}`
				post(t.Context(), e, path, body)
			}
			where := "/metrics"
			if vendor == TensorRTLLM {
				where = trtllm.PagePath
			}
			families := scrape(t, e.Handler(), where)
			if prompt, generated := plainValue(families[names[0]]), plainValue(families[names[1]]); prompt != 3*161 || generated != 3*12 {
				t.Errorf("%s: %v prompt tokens, %v generated", vendor, prompt, generated)
			}
			if plainValue(families[names[2]]) != 2*160 {
				t.Errorf("%s: %v cached tokens", vendor, plainValue(families[names[2]]))
			}
			if vendor == TensorRTLLM && (plainValue(families[trtllm.ReusedBlocks]) != 20 || plainValue(families[trtllm.MissedBlocks]) != 10) {
				t.Errorf("blocks: %v", families[trtllm.ReusedBlocks])
			}
		})
	}
}

func TestANewVLLMCountsItsHitsByTier(t *testing.T) {
	for _, counts := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := of(VLLM)
			c.KV.CountTiers = counts
			e := start(t, c)
			for range 3 {
				post(t.Context(), e, path, `{"model":"simulated-8b","prompt":"`+promptOf("A", 161)+`","max_tokens":12,"ignore_eos":true}`)
			}
			family := scrape(t, e.Handler(), "/metrics")[vllm.CachedBySource]
			if (family != nil) != counts {
				t.Fatalf("%v: %v", counts, family)
			}
			for _, m := range family.GetMetric() {
				for _, label := range m.GetLabel() {
					if label.GetName() == vllm.LabelTokenSource && (m.GetCounter().GetValue() == 2*160) != (label.GetValue() == metric.TierDevice) {
						t.Errorf("%v", m)
					}
				}
			}
		})
	}
}

func TestTheTokenizerCountsAsTheEngineDoes(t *testing.T) {
	e := start(t, of(VLLM))
	for ask, prompt := range map[string]string{
		`{"prompt":"hello wonderful world"}`:                  `"prompt":"hello wonderful world"`,
		`{"messages":[{"role":"user","content":"hi there"}]}`: `"messages":[{"role":"user","content":"hi there"}]`,
	} {
		var counted tokenized
		if err := json.Unmarshal([]byte(post(t.Context(), e, "/tokenize", ask).body.String()), &counted); err != nil {
			t.Fatal(err)
		}
		to := path
		if strings.Contains(ask, "messages") {
			to = "/v1/chat/completions"
		}
		var answered response
		if err := json.Unmarshal([]byte(post(t.Context(), e, to, `{"model":"simulated-8b",`+prompt+`}`).body.String()), &answered); err != nil {
			t.Fatal(err)
		}
		if counted.Count != answered.Usage.PromptTokens || len(counted.Tokens) != counted.Count || counted.MaxModelLen != e.config.MaxModelTokens {
			t.Errorf("%s: %d tokens, the request has %d", ask, counted.Count, answered.Usage.PromptTokens)
		}
	}
}
