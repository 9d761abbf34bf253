package openai

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
)

// vendorOf is what requests to an engine have of their own; nothing for an unknown one.
func vendorOf(engine string) Vendor {
	e, _ := supported.Engines().Find(engine)
	if e.Request == nil {
		return Vendor{}
	}
	fields := func(names []string) (all []Field) {
		for _, name := range names {
			all = append(all, Field(name))
		}
		return all
	}
	return Vendor{Field(e.Request.ChatCap), fields(e.Request.Both), fields(e.Request.Chat), fields(e.Request.Newer)}
}

func bodyFields(t *testing.T, p Params) map[string]any {
	t.Helper()
	body, err := Body(p)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return fields
}

// forced asks for everything that a vendor may or may not accept.
func forced(engine string, endpoint Endpoint) Params {
	return Params{
		Vendor: vendorOf(engine), Endpoint: endpoint, Model: "m", Prompt: "p", Stream: true,
		MaxTokens: 64, MinTokens: 64, IgnoreEOS: true, TopP: 1,
	}
}

// Each engine gets the fields that its own server declares, and no other.
func TestBodyHoldsOnlyFieldsThatTheVendorAccepts(t *testing.T) {
	usage := map[string]any{"include_usage": true}
	continuous := map[string]any{"include_usage": true, "continuous_usage_stats": true}
	const cap = "max_completion_tokens"
	for _, c := range []struct {
		engine  string
		chatCap string
		forces  bool
		options map[string]any
	}{
		{"", "max_tokens", false, usage},
		{"openai", "max_tokens", false, usage}, // Ollama 0.6.8 ignores max_completion_tokens and never stops
		{"vllm", cap, true, continuous},
		{"trtllm", cap, true, continuous},
		{"sglang", "max_tokens", true, continuous},
		{"dynamo", cap, true, usage},
	} {
		for _, endpoint := range []Endpoint{Chat, Completions} {
			t.Run(c.engine+" "+string(endpoint), func(t *testing.T) {
				want := map[string]any{"model": "m", "stream": true, "stream_options": c.options, "temperature": 0.0, "top_p": 1.0}
				if endpoint == Chat {
					want["messages"] = []any{map[string]any{"role": "user", "content": "p"}}
					want[c.chatCap] = 64.0
				} else {
					want["prompt"] = "p"
					want["max_tokens"] = 64.0
				}
				if c.forces {
					want["min_tokens"], want["ignore_eos"] = 64.0, true
				}
				if got := bodyFields(t, forced(c.engine, endpoint)); !reflect.DeepEqual(got, want) {
					t.Errorf("got  %v\nwant %v", got, want)
				}
			})
		}
	}
}

func TestTokenIDsAreAskedOfServersThatTakeTheField(t *testing.T) {
	for engine, want := range map[string]any{"": nil, "vllm": true, "trtllm": nil, "sglang": true, "dynamo": nil, "llamacpp": nil} {
		p := forced(engine, Chat)
		p.TokenIDs = true
		if got := bodyFields(t, p)["return_token_ids"]; got != want {
			t.Errorf("%q is asked %v, want %v", engine, got, want)
		}
		p.Stream = false
		if got := bodyFields(t, p)["return_token_ids"]; got != nil {
			t.Errorf("%q is asked %v without a stream", engine, got)
		}
		p.Stream, p.Fields = true, []Field{}
		if got := bodyFields(t, p)["return_token_ids"]; got != nil {
			t.Errorf("%q is asked %v though it refused the field", engine, got)
		}
	}
}

func TestBodyWithoutStreamHasNoStreamOptions(t *testing.T) {
	fields := bodyFields(t, Params{Vendor: vendorOf("trtllm"), Endpoint: Chat, Model: "m", Prompt: "p"})
	if _, ok := fields["stream_options"]; ok || fields["stream"] != false {
		t.Errorf("TensorRT-LLM refuses stream_options without stream: %v", fields)
	}
}

func TestBodyPassesMessagesThenPromptAndSampling(t *testing.T) {
	seed := int64(-7)
	p := Params{
		Endpoint: Chat, Model: "m", Prompt: "now", Messages: []Message{{"system", "be brief"}, {"user", "then"}},
		Temperature: 0.5, Stop: []string{"\n"}, Seed: &seed, Extra: map[string]any{"cache_salt": "s", "temperature": 0.25},
	}
	want := map[string]any{
		"model": "m", "stream": false, "temperature": 0.25, "stop": []any{"\n"}, "seed": -7.0, "cache_salt": "s",
		"messages": []any{
			map[string]any{"role": "system", "content": "be brief"},
			map[string]any{"role": "user", "content": "then"},
			map[string]any{"role": "user", "content": "now"},
		},
	}
	if got := bodyFields(t, p); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if len(p.Messages) != 2 {
		t.Error("the caller's messages were changed")
	}
}

func TestBodyIsDeterministicAndLeavesHTMLAlone(t *testing.T) {
	p := forced("vllm", Completions)
	p.Prompt = "<a> & <b>"
	p.Extra = map[string]any{"z": 1, "y": 2, "x": 3}
	first, err := Body(p)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(first), p.Prompt) {
		t.Errorf("prompt was escaped: %s", first)
	}
	for range 20 {
		if again, _ := Body(p); string(again) != string(first) {
			t.Fatalf("got %s, then %s", first, again)
		}
	}
}

func TestBodyErrorsNameTheParameter(t *testing.T) {
	for want, change := range map[string]func(*Params){
		`endpoint "embeddings"`: func(p *Params) { p.Endpoint = "embeddings" },
		"no model":              func(p *Params) { p.Model = "" },
		"messages":              func(p *Params) { p.Endpoint, p.Messages = Completions, []Message{{"user", "x"}} },
		"token ids go to":       func(p *Params) { p.Prompt, p.PromptIDs = "", []uint32{1} },
		"without a text":        func(p *Params) { p.Endpoint, p.PromptIDs = Completions, []uint32{1} },
		"negative":              func(p *Params) { p.MaxTokens = -1 },
		"at most 64":            func(p *Params) { p.MinTokens = 65 },
		"prompt is not valid":   func(p *Params) { p.Prompt = "\xff" },
		"message 0":             func(p *Params) { p.Messages = []Message{{"user", "\xff"}} },
		`"stream"`:              func(p *Params) { p.Extra = map[string]any{"stream": false} },
		`"n"`:                   func(p *Params) { p.Extra = map[string]any{"n": 4} },
		`"echo"`:                func(p *Params) { p.Extra = map[string]any{"echo": true} },
		"request body":          func(p *Params) { p.Extra = map[string]any{"f": func() {}} },
	} {
		t.Run(want, func(t *testing.T) {
			p := forced("vllm", Chat)
			change(&p)
			if body, err := Body(p); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("body %s, error %v, want an error with %q", body, err, want)
			}
		})
	}
}

func TestBodyPassesTokenIDsAsTheyAre(t *testing.T) {
	p := forced("vllm", Completions)
	p.Prompt, p.PromptIDs = "", []uint32{1000, 30999, 7}
	if got := bodyFields(t, p)["prompt"]; !reflect.DeepEqual(got, []any{1000.0, 30999.0, 7.0}) {
		t.Errorf("prompt %v", got)
	}
}
