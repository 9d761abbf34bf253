package summary

import (
	"reflect"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/summary/testrun"
)

// The pages of vLLM 0.32.0 with --speculative-config '{"method":"ngram","num_speculative_tokens":3,"prompt_lookup_max":3,
// "prompt_lookup_min":1}', before and after 3 requests of 60 tokens. Its log counts the same, over another time.
func TestDraftsAreReadFromTheRealPageOfVLLM(t *testing.T) {
	begin, end := recordedPage(t, "vllm-0.32.0-cpu-speculative-begin.prom"), recordedPage(t, "vllm-0.32.0-cpu-speculative-end.prom")
	want := &DraftCounts{
		DraftTokens: 365, AcceptedTokens: 36, AcceptanceRatio: 36. / 365, Drafts: new(int64(132)), MeanAcceptedLength: new(1 + 36./132),
		AcceptedByPosition: []int64{22, 11, 3},
	}
	w := counters{log: turned(t, [2]string{}, [2]string{begin, end})}
	if got := w.drafts([]string{"a"}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	w = counters{log: turned(t, [2]string{}, [2]string{end, begin})}
	if got := w.drafts([]string{"a"}); got != nil {
		t.Errorf("of an engine that restarted: %+v", got)
	}
	w = counters{log: turned(t, [2]string{}, [2]string{begin, begin})}
	if got := w.drafts([]string{"a"}); got != nil {
		t.Errorf("of an idle engine: %+v", got)
	}
}

func TestDraftsAreReadFromExportersOnceAndAddUp(t *testing.T) {
	live := kvMode(metric.ModeLive)
	page := func(source, drafts, tokens, first, second string) string {
		return line(metric.EngineSpecDraftTokensTotal, tokens, "source", source, "model", "m") +
			line(metric.EngineSpecDraftsTotal, drafts, "source", source, "model", "m") +
			line(metric.EngineSpecAcceptedTokensTotal, first, "source", source, "model", "m", "position", "0") +
			line(metric.EngineSpecAcceptedTokensTotal, second, "source", source, "model", "m", "position", "1")
	}
	two := func(drafts, tokens, first, second string) string {
		return live + page("10.0.0.1:8000/metrics", drafts, tokens, first, second) + page("10.0.0.2:8000/metrics", drafts, tokens, first, second)
	}
	both := [2]string{two("10", "20", "8", "4"), two("110", "220", "68", "24")}
	foreign := [2]string{recordedPage(t, "vllm-0.32.0-cpu-speculative-begin.prom"), recordedPage(t, "vllm-0.32.0-cpu-speculative-end.prom")}
	// Two exporters read the same two pages, and one engine's page was scraped, too.
	log := turnedPages(t, map[string][2]string{"spark-1": both, "spark-2": both}, foreign)
	got := counters{log: log}.drafts([]string{"a"})
	want := &DraftCounts{
		DraftTokens: 400, AcceptedTokens: 160, AcceptanceRatio: 0.4, Drafts: new(int64(200)), MeanAcceptedLength: new(1.8), AcceptedByPosition: []int64{120, 40},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestDraftsOfOtherEngines(t *testing.T) {
	for name, c := range map[string]struct {
		begin, end string
		want       *DraftCounts
	}{
		"llama.cpp": {
			"# TYPE llamacpp:spec_decode_num_drafts_total counter\nllamacpp:spec_decode_num_drafts_total 0\nllamacpp:spec_decode_num_draft_tokens_total 0\nllamacpp:spec_decode_num_accepted_tokens_total 0\n",
			"llamacpp:spec_decode_num_drafts_total 10\nllamacpp:spec_decode_num_draft_tokens_total 40\nllamacpp:spec_decode_num_accepted_tokens_total 30\n" +
				"llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position=\"0\"} 20\nllamacpp:spec_decode_num_accepted_tokens_per_pos_total{position=\"1\"} 10\n",
			&DraftCounts{DraftTokens: 40, AcceptedTokens: 30, AcceptanceRatio: 0.75, Drafts: new(int64(10)), MeanAcceptedLength: new(4.), AcceptedByPosition: []int64{20, 10}},
		},
		"llama.cpp without speculative decoding": {
			recordedPage(t, "llamacpp-0.5.0-reuse-begin.prom"), recordedPage(t, "llamacpp-0.5.0-reuse-end.prom"), nil,
		},
		"TensorRT-LLM, whose counters appear with their first token": {
			"trtllm_prompt_tokens_total{model_name=\"m\"} 5\n",
			"trtllm_prompt_tokens_total{model_name=\"m\"} 9\ntrtllm_spec_decode_num_draft_tokens_total{model_name=\"m\"} 8\n",
			&DraftCounts{DraftTokens: 8},
		},
		"SGLang, which counts no tokens": {
			"sglang:spec_verify_calls_total{model_name=\"m\"} 5\n", "sglang:spec_verify_calls_total{model_name=\"m\"} 9\n", nil,
		},
	} {
		got := counters{log: turned(t, [2]string{}, [2]string{c.begin, c.end})}.drafts([]string{"a"})
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestDraftsOfAnswers(t *testing.T) {
	drafting := func(drafted, accepted int, drafts *int) func(*openai.Record) {
		return func(r *openai.Record) { r.TokensDrafted, r.TokensAccepted, r.Drafts = &drafted, &accepted, drafts }
	}
	records := testrun.Altered(30, 20, drafting(8, 2, new(4))) // 10 of them report nothing
	s := summarize(t, input(t), records...)
	if s.Speculation == nil || s.Speculation.Engine != nil {
		t.Fatalf("%+v", s.Speculation)
	}
	got := s.Speculation.Answers
	if got.DraftTokens != 160 || got.AcceptedTokens != 40 || got.AcceptanceRatio != 0.25 || *got.Drafts != 80 || *got.MeanAcceptedLength != 1.5 {
		t.Errorf("%+v", got)
	}
	if d := got.AcceptanceByRequest; d == nil || d.N != 20 || *d.P50 != 0.25 {
		t.Errorf("by request: %+v", d)
	}
	// llama.cpp does not report the number of drafts.
	s = summarize(t, input(t), testrun.Altered(30, 30, drafting(8, 2, nil))...)
	if got := s.Speculation.Answers; got.Drafts != nil || got.MeanAcceptedLength != nil || got.AcceptanceRatio != 0.25 {
		t.Errorf("without drafts: %+v", got)
	}
	for what, alter := range map[string]func(*openai.Record){
		"nothing drafted": drafting(0, 0, new(0)),
		"nothing counted": func(*openai.Record) {},
		// Of predicted outputs of OpenAI, which the client drafted.
		"accepted alone": func(r *openai.Record) { r.TokensAccepted = new(5) },
	} {
		if s := summarize(t, input(t), testrun.Altered(30, 30, alter)...); s.Speculation != nil {
			t.Errorf("%s: %+v", what, s.Speculation)
		}
	}
}

func TestAPositionOfADraftIsASmallNumber(t *testing.T) {
	begin, end := recordedPage(t, "vllm-0.32.0-cpu-speculative-begin.prom"), recordedPage(t, "vllm-0.32.0-cpu-speculative-end.prom")
	for _, position := range []string{"-1", "last", "9000000"} {
		altered := func(page string) string { return strings.ReplaceAll(page, `position="2"`, `position="`+position+`"`) }
		got := counters{log: turned(t, [2]string{}, [2]string{altered(begin), altered(end)})}.drafts([]string{"a"})
		if got == nil || got.AcceptedTokens != 36 || !reflect.DeepEqual(got.AcceptedByPosition, []int64{22, 11}) {
			t.Errorf("%s: %+v", position, got)
		}
	}
}
