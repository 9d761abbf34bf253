package openai

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
)

// withUsage returns a content delta with the given usage object.
func withUsage(text, usage string) string {
	return fmt.Sprintf(`{"choices":[{"delta":{"content":%q}}],"usage":%s}`, text, usage)
}

const zeroUsage = `{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`

func TestUsageIsTakenFromWhereverAVendorPutsIt(t *testing.T) {
	final := `{"prompt_tokens":9,"completion_tokens":4}`
	for name, c := range map[string]struct {
		stream  string
		in, out *int
		tokens  []int
		source  string
	}{
		"in an event of its own":                    {events(textChunk("a"), textChunk("b"), `{"choices":[],"usage":`+final+`}`, done), new(9), new(4), nil, fromUsage},
		"in the last chunk, as SGLang 0.4.3 had it": {events(textChunk("a"), withUsage("b", final), done), new(9), new(4), nil, fromUsage},
		"zeros in every chunk, as of Ollama": {
			events(withUsage("a", zeroUsage), withUsage("b", zeroUsage), `{"choices":[],"usage":`+final+`}`, done), new(9), new(4), nil, fromUsage,
		},
		"zeros and never a figure":   {events(withUsage("a", zeroUsage), withUsage("b", zeroUsage), done), nil, new(2), nil, TokensFromChunks},
		"prompt counted, answer not": {events(withUsage("a", `{"prompt_tokens":9,"completion_tokens":0}`), textChunk("b"), done), new(9), new(2), nil, TokensFromChunks},
		"answer counted, prompt not": {events(textChunk("a"), `{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":4}}`, done), nil, new(4), nil, fromUsage},
		"so far, in every chunk": {
			events(withUsage("a", `{"prompt_tokens":9,"completion_tokens":1}`), withUsage("b", final), done), new(9), new(4), []int{1, 3}, fromUsage,
		},
		"none at all": {events(textChunk("a"), textChunk("b"), done), nil, new(2), nil, TokensFromChunks},
	} {
		t.Run(name, func(t *testing.T) {
			r := ask(t, pieces(c.stream)).Record
			wantStatus(t, r, StatusOK, "")
			if !reflect.DeepEqual(r.TokensIn, c.in) || !reflect.DeepEqual(r.TokensOut, c.out) || r.TokensSource != c.source {
				t.Errorf("in %v, out %v by %s", r.TokensIn, r.TokensOut, r.TokensSource)
			}
			if !slices.Equal(r.ArrivalTokens, c.tokens) {
				t.Errorf("tokens of the chunks %v, want %v", r.ArrivalTokens, c.tokens)
			}
		})
	}
}

func TestCachedTokensAreReadUnderEveryName(t *testing.T) {
	for name, c := range map[string]struct {
		event string
		want  *int
	}{
		"OpenAI":         {`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":4}}}`, new(4)},
		"none of them":   {`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":0}}}`, new(0)},
		"not reported":   {`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1,"prompt_tokens_details":null}}`, nil},
		"DeepSeek":       {`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1,"prompt_cache_hit_tokens":4,"prompt_cache_miss_tokens":5}}`, new(4)},
		"llama.cpp":      {`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1},"timings":{"cache_n":4,"prompt_n":5}}`, new(4)},
		"no count":       {`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":-4}}}`, nil},
		"OpenAI's first": {`{"choices":[],"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":4}},"timings":{"cache_n":3}}`, new(4)},
	} {
		t.Run(name, func(t *testing.T) {
			r := ask(t, pieces(events(textChunk("a"), c.event, done))).Record
			if !reflect.DeepEqual(r.TokensCached, c.want) {
				t.Errorf("%v", r.TokensCached)
			}
		})
	}
}

func TestCachedTokensOfSGLangKeepTheirTier(t *testing.T) {
	r := ask(t, pieces(events(textChunk("a"), `{"choices":[],"sglext":{"cached_tokens_details":{"device":32,"host":16,"unheard_of":1}}}`, done))).Record
	if want := (&TierTokens{Device: new(32), Host: new(16)}); !reflect.DeepEqual(r.TokensCachedByTier, want) {
		t.Errorf("%+v", r.TokensCachedByTier)
	}
}

func TestReasoningAndAcceptedDraftTokensAreReadSeparately(t *testing.T) {
	for name, details := range map[string]string{
		"OpenAI": `"completion_tokens_details":{"reasoning_tokens":3,"accepted_prediction_tokens":2}`,
		"SGLang": `"reasoning_tokens":3,"completion_tokens_details":{"accepted_prediction_tokens":2}`,
	} {
		r := ask(t, pieces(events(deltaChunk(`{"reasoning_content":"hm"}`), textChunk("a"), `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5,`+details+`}}`, done))).Record
		if !reflect.DeepEqual(r.TokensReasoning, new(3)) || !reflect.DeepEqual(r.TokensAccepted, new(2)) || *r.TokensOut != 5 {
			t.Errorf("%s: reasoning %v, accepted %v", name, r.TokensReasoning, r.TokensAccepted)
		}
	}
}

func TestDraftedTokensAreReadUnderEveryName(t *testing.T) {
	for name, c := range map[string]struct {
		event                     string
		drafted, accepted, drafts *int
	}{
		"llama.cpp": {`{"choices":[],"timings":{"cache_n":0,"predicted_n":32,"draft_n":16,"draft_n_accepted":14}}`, new(16), new(14), nil},
		"SGLang": {
			`{"choices":[],"sglext":{"spec_tokens_details":{"spec_accept_rate":0.5,"spec_num_correct_drafts":12,"spec_num_proposed_drafts":24,"spec_verify_ct":8,"spec_correct_drafts_histogram":[1,7]}}}`,
			new(24), new(12), new(8),
		},
		"llama.cpp without a draft":    {`{"choices":[],"timings":{"cache_n":0,"predicted_n":32}}`, nil, nil, nil},
		"SGLang with several answers":  {`{"choices":[],"sglext":{"spec_tokens_details":[{"spec_verify_ct":8}]}}`, nil, nil, nil},
		"numbers that are not a count": {`{"choices":[],"timings":{"draft_n":-1,"draft_n_accepted":1.5}}`, nil, nil, nil},
	} {
		r := ask(t, pieces(events(textChunk("a"), c.event, done))).Record
		if !reflect.DeepEqual(r.TokensDrafted, c.drafted) || !reflect.DeepEqual(r.TokensAccepted, c.accepted) || !reflect.DeepEqual(r.Drafts, c.drafts) {
			t.Errorf("%s: drafted %v, accepted %v, drafts %v", name, r.TokensDrafted, r.TokensAccepted, r.Drafts)
		}
	}
}

func TestSpeculativeChunksAreCountedByTheirLogProbabilities(t *testing.T) {
	chat := func(text, entries string) string {
		return fmt.Sprintf(`{"choices":[{"delta":{"content":%q},"logprobs":{"content":%s}}]}`, text, entries)
	}
	completion := func(text, tokens string) string {
		return fmt.Sprintf(`{"choices":[{"text":%q,"logprobs":{"tokens":%s,"token_logprobs":[-1]}}]}`, text, tokens)
	}
	for name, stream := range map[string]string{
		"chat":        events(chat("a", `[{}]`), chat(" b c d", `[{},{},{}]`), done),
		"completions": events(completion("a", `["a"]`), completion(" b c d", `[" b"," c"," d"]`), done),
	} {
		r := ask(t, pieces(stream)).Record
		if !slices.Equal(r.ArrivalTokens, []int{1, 3}) || *r.TokensOut != 4 || r.TokensSource != fromLogprobs {
			t.Errorf("%s: %v, %d by %s", name, r.ArrivalTokens, *r.TokensOut, r.TokensSource)
		}
	}
	both := `{"choices":[{"delta":{"content":"ab"},"token_ids":[1,2],"logprobs":{"content":[{}]}}]}`
	if r := ask(t, pieces(events(both, done))).Record; !slices.Equal(r.ArrivalTokens, []int{2}) || r.TokensSource != TokensFromIDs {
		t.Errorf("ids and log probabilities: %v by %s", r.ArrivalTokens, r.TokensSource)
	}
}

func TestTokensPerStepAreReadFromTheServer(t *testing.T) {
	for _, c := range []struct {
		event string
		want  float64
	}{
		{`{"choices":[{"delta":{"content":"a"},"avg_decoded_tokens_per_iter":2.5}]}`, 2.5},
		{`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":1,"avg_decoded_tokens_per_iter":2.5}}`, 2.5},
		{`{"choices":[{"delta":{"content":"a"},"avg_decoded_tokens_per_iter":null}]}`, 0},
		{`{"choices":[{"delta":{"content":"a"},"avg_decoded_tokens_per_iter":-1}]}`, 0},
	} {
		if r := ask(t, pieces(events(c.event, done))).Record; r.TokensPerStep != c.want {
			t.Errorf("%s: %v", c.event, r.TokensPerStep)
		}
	}
}

func TestErrorReportsKeepTheirCode(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"OpenAI":       {`{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}`, "context_length_exceeded"},
		"vLLM":         {`{"error":{"message":"too long","type":"BadRequestError","param":null,"code":400}}`, "BadRequestError"},
		"TensorRT-LLM": {`{"object":"error","message":"too long","type":"BadRequestError","code":400}`, "BadRequestError"},
		"llama.cpp":    {`{"error":{"code":400,"message":"too long","type":"exceed_context_size_error","n_ctx":64}}`, "exceed_context_size_error"},
		"a text":       {`{"error":"too long"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := errorCode([]byte(c.body)); got != c.want {
				t.Errorf("code %q", got)
			}
			if r := ask(t, pieces(events(c.body))); r.ErrorCode != c.want || r.Record.Status != StatusInBand {
				t.Errorf("in a stream: %s, code %q", r.Record.Status, r.ErrorCode)
			}
		})
	}
}

func TestFieldsFoundAtAServerReplaceThoseOfItsVendor(t *testing.T) {
	p := forced("trtllm", Chat)
	p.Fields = []Field{}
	fields := bodyFields(t, p)
	for _, name := range []string{"min_tokens", "ignore_eos"} {
		if fields[name] != nil {
			t.Errorf("%s was refused and sent", name)
		}
	}
	if options := fields["stream_options"].(map[string]any); options["continuous_usage_stats"] != nil || options["include_usage"] != true {
		t.Errorf("%v", options)
	}
	p = forced("openai", Chat)
	p.Fields = []Field{FieldIgnoreEOS, FieldMinTokens, FieldContinuousUsage, FieldCachedDetails, FieldDraftDetails}
	fields = bodyFields(t, p)
	if fields["ignore_eos"] != true || fields["min_tokens"] != 64.0 || fields["return_cached_tokens_details"] != true || fields["return_spec_tokens_details"] != true {
		t.Errorf("%v", fields)
	}
}

func TestEveryEngineHasItsFields(t *testing.T) {
	for _, e := range supported.Engines() {
		engine, vendor := e.Name, vendorOf(e.Name)
		chat, completions, newer := vendor.Fields(Chat), vendor.Fields(Completions), vendor.Newer
		for _, field := range completions {
			if !slices.Contains(chat, field) {
				t.Errorf("%s: %s on completions only", engine, field)
			}
		}
		for _, field := range newer {
			if slices.Contains(chat, field) {
				t.Errorf("%s: %s is known and newer", engine, field)
			}
		}
	}
	chat, completions := vendorOf("trtllm").Fields(Chat), vendorOf("trtllm").Fields(Completions)
	if !slices.Contains(chat, FieldCacheSalt) || slices.Contains(completions, FieldCacheSalt) {
		t.Error("TensorRT-LLM accepts cache_salt on chat only")
	}
	if known := (Vendor{}).Fields(Chat); len(known) > 0 {
		t.Errorf("any server: %v", known)
	}
}

// FuzzErrorCode: whatever a server calls its error, a record can hold it.
func FuzzErrorCode(f *testing.F) {
	for _, text := range []string{`{"error":{"code":"a","type":"b"}}`, `{"code":"a\u001b[2J"}`, `{"error":"x","type":"b"}`, `{"error":{"error":{"code":"deep"}}}`, `{`, ``} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		code := errorCode(body)
		if len(code) > maxNameLength || code != Printable(code, maxNameLength) {
			t.Errorf("%q gave %q", body, code)
		}
		if code != "" && !json.Valid(body) {
			t.Errorf("%q is no JSON and gave %q", body, code)
		}
	})
}

func TestEveryReasonOfAnEngineForAnAnswerItGaveUpIsKnown(t *testing.T) {
	seen := 0
	for _, e := range supported.Engines() {
		for _, reason := range e.Wording.GivenUp {
			if seen++; !givenUp(reason) {
				t.Errorf("%s: %s", e.Name, reason)
			}
		}
	}
	if seen < 5 || givenUp("stop") || givenUp("length") {
		t.Errorf("%d reasons", seen)
	}
}

func TestEveryRequestFieldOfAnEngineIsOneOfThisPackage(t *testing.T) {
	known := []Field{FieldIgnoreEOS, FieldMinTokens, FieldContinuousUsage, FieldCachedDetails, FieldDraftDetails, FieldTokenIDs, FieldCacheSalt}
	for _, e := range supported.Engines() {
		v := vendorOf(e.Name)
		for _, field := range slices.Concat(v.Both, v.Chat, v.Newer) {
			if !slices.Contains(known, field) {
				t.Errorf("%s: %s is sent by nothing here", e.Name, field)
			}
		}
		if v.ChatCap != "" && v.ChatCap != FieldMaxCompletionTokens {
			t.Errorf("%s: the cap %s", e.Name, v.ChatCap)
		}
	}
}
