package sim

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// streamOf is the events of one stream in a chat, decoded.
func streamOf(t *testing.T, c Config, more string) []response {
	t.Helper()
	_, server := serve(t, c)
	_, text := do(t, http.MethodPost, server.URL+"/v1/chat/completions",
		`{"model":"simulated-8b","messages":[{"role":"user","content":"hello"}],"max_tokens":10,"ignore_eos":true,"temperature":0,"stream":true`+more+`}`)
	return events(t, text)
}

func TestReasoningComesFirstInTheVendorsField(t *testing.T) {
	for vendor, field := range map[Vendor]string{VLLM: "reasoning", SGLang: "reasoning_content", TensorRTLLM: "reasoning_content"} {
		c := of(vendor)
		c.Answer.ReasoningTokens = 4
		var kinds, text strings.Builder
		for _, e := range streamOf(t, c, "")[1:] {
			d := e.Choices[0].Delta
			thought := d.Reasoning
			if field == "reasoning_content" {
				thought = d.ReasoningContent
			}
			switch {
			case thought != "" && d.Content == nil:
				kinds.WriteByte('r')
			case d.Content != nil && d.Reasoning+d.ReasoningContent == "":
				kinds.WriteByte('t')
			}
			text.WriteString(thought + valueOr(d.Content, ""))
		}
		if kinds.String() != "rrrrtttttt" || countTokens(text.String()) != 10 {
			t.Errorf("%s: %s, %q", vendor, kinds.String(), text.String())
		}
	}
}

func TestOneEventMayHaveTheEndOfTheReasoningAndTheBeginOfTheText(t *testing.T) {
	c := of(VLLM)
	c.Answer.ReasoningTokens, c.Answer.TokensPerChunk = 4, 3
	second := streamOf(t, c, "")[2].Choices[0].Delta
	if countTokens(second.Reasoning) != 1 || countTokens(valueOr(second.Content, "")) != 2 {
		t.Errorf("%+v", second)
	}
}

const tools = `,"tools":[{"type":"function","function":{"name":"lookup","parameters":{}}}]`

func TestAToolCallComesInFragmentsThatAreJSONTogether(t *testing.T) {
	c := of(VLLM)
	c.Answer.ToolCalls, c.Answer.ReasoningTokens = true, 2
	var arguments strings.Builder
	all := streamOf(t, c, tools)
	for i, e := range all[3:] {
		call := e.Choices[0].Delta.ToolCalls
		if len(call) != 1 || (call[0].ID != "") != (i == 0) || (call[0].Function.Name == "lookup") != (i == 0) {
			t.Fatalf("fragment %d: %+v", i, e.Choices[0].Delta)
		}
		arguments.WriteString(call[0].Function.Arguments)
	}
	var read struct{ Text string }
	if err := json.Unmarshal([]byte(arguments.String()), &read); err != nil || countTokens(read.Text) != 8 {
		t.Errorf("%q: %v", arguments.String(), err)
	}
	if none := streamOf(t, c, tools+`,"tool_choice":"none"`); none[5].Choices[0].Delta.ToolCalls != nil {
		t.Error("a call although the client wants none")
	}
	_, server := serve(t, c)
	_, text := do(t, http.MethodPost, server.URL+"/v1/chat/completions", `{"model":"simulated-8b","messages":[{"role":"user","content":"hello"}],"temperature":0`+tools+`}`)
	var whole response
	if err := json.Unmarshal([]byte(text), &whole); err != nil || *whole.Choices[0].FinishReason != finishToolCalls || len(whole.Choices[0].Message.ToolCalls) != 1 {
		t.Errorf("whole: %s, %v", text, err)
	}
}

func TestSpeculativeDecodingVariesTheTokensOfAnEvent(t *testing.T) {
	c := of(VLLM)
	c.Answer.TokensPerChunk, c.Answer.MostTokensPerChunk = 1, 4
	sizes := func(seed uint64) (sizes []int) {
		c.Seed = seed
		last := 0
		for _, e := range streamOf(t, c, `,"max_completion_tokens":100,"stream_options":{"include_usage":true,"continuous_usage_stats":true}`) {
			if n := e.Usage.CompletionTokens; n > last {
				sizes, last = append(sizes, n-last), n
			}
		}
		if last != 100 {
			t.Errorf("%d tokens in all", last)
		}
		return sizes
	}
	first := sizes(1)
	if slices.Max(first) != 4 || slices.Min(first) != 1 || len(first) < 25 || !slices.Equal(first, sizes(1)) {
		t.Errorf("events of %v tokens", first)
	}
}

func TestUsageStandsWhereTheFormPutsIt(t *testing.T) {
	const wanted = `,"stream_options":{"include_usage":true}`
	counts := func(form UsageForm, options string) (counts []int) {
		c := of(VLLM)
		c.Answer.Usage = form
		for _, e := range streamOf(t, c, options) {
			n := -1
			if e.Usage != nil {
				n = e.Usage.CompletionTokens
			}
			counts = append(counts, n)
		}
		return counts
	}
	none := slices.Repeat([]int{-1}, 11)
	for name, row := range map[string]struct{ got, want []int }{
		"on request":        {counts(UsageOnRequest, wanted), append(slices.Clone(none), 10)},
		"not requested":     {counts(UsageOnRequest, ""), none},
		"in the last event": {counts(UsageInLast, wanted), append(slices.Clone(none[1:]), 10)},
		"zero always":       {counts(UsageZeroAlways, ""), append(make([]int, 11), 10)},
		"never":             {counts(UsageNever, wanted), none},
	} {
		if !slices.Equal(row.got, row.want) {
			t.Errorf("%s: %v, want %v", name, row.got, row.want)
		}
	}
	c := of(TensorRTLLM)
	if all := streamOf(t, c, `,"stream_options":{}`); all[len(all)-1].Usage == nil {
		t.Error("TensorRT-LLM has usage without include_usage, in stream_options")
	}
}

func TestCachedTokensAreToldAsTheVendorDoes(t *testing.T) {
	c := of(SGLang)
	last := func(more string) response {
		all := streamOf(t, c, `,"stream_options":{"include_usage":true}`+more)
		return all[len(all)-1]
	}
	if got := last(""); got.Usage.PromptTokensDetails == nil || got.SGLExt != nil {
		t.Errorf("%+v", got)
	}
	if got := last(`,"return_cached_tokens_details":true`); got.SGLExt == nil {
		t.Errorf("%+v", got)
	}
	c.Answer.CachedTokens = false
	if got := last(""); got.Usage.PromptTokensDetails != nil {
		t.Errorf("told although it is off: %+v", got.Usage)
	}
}
