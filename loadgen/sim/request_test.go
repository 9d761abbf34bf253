package sim

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestARequestIsReadWhole(t *testing.T) {
	c := Default()
	got, p := c.decode(chatCompletions, []byte(`{"model":"simulated-8b","messages":[{"role":"system","content":"be brief"},
		{"role":"user","content":[{"type":"text","text":"hello "},{"type":"text","text":"world"}]},{"role":"assistant","content":null}],
		"max_tokens":5,"max_completion_tokens":7,"min_tokens":3,"ignore_eos":true,"stop":"x","temperature":0.5,"top_p":0.9,"seed":-4,
		"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true},"vendor_field":{"a":[1]}}`))
	if p != nil {
		t.Fatal(p.Message)
	}
	text := "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nbe brief<|eot_id|>" +
		"<|start_header_id|>user<|end_header_id|>\n\nhello world<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<|eot_id|>" +
		"<|start_header_id|>assistant<|end_header_id|>\n\n"
	want := request{
		// 5 around it all, 5 around each message, contents of 2, 2 and 0 tokens.
		prompt: text, promptTokens: 5 + 3*5 + 4, maxTokens: 7, minTokens: 3, ignoreEOS: true, stop: []string{"x"},
		temperature: 0.5, topP: 0.9, seed: -4, stream: true, usage: true, usageAlways: true,
	}
	if len(got.text.keys) != 24/c.KV.TokensPerBlock {
		t.Errorf("%d keys of blocks for %d tokens", len(got.text.keys), got.promptTokens)
	}
	got.text = nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read\n%+v, want\n%+v", got, want)
	}
}

func TestPromptsOfCompletionsHaveSeveralForms(t *testing.T) {
	for text, tokens := range map[string]int{
		`"hello world"`: 2, `["hello world"]`: 2, `[1,2,3]`: 3, `[[1,2,3]]`: 3, `[7]`: 1,
	} {
		r, p := Default().decode(completions, []byte(`{"model":"simulated-8b","prompt":`+text+`}`))
		if p != nil {
			t.Errorf("%s: %s", text, p.Message)
		} else if r.promptTokens != tokens {
			t.Errorf("%s: %d tokens, want %d", text, r.promptTokens, tokens)
		}
	}
}

func TestOutputCapDefaultsAsTheInterfaceDocuments(t *testing.T) {
	c := Default()
	r, p := c.decode(completions, []byte(`{"model":"simulated-8b","prompt":"hello"}`))
	if p != nil || r.maxTokens != 16 || r.temperature != 1 || r.topP != 1 {
		t.Errorf("completions: %+v, %v", r, p)
	}
	r, p = c.decode(chatCompletions, []byte(`{"model":"simulated-8b","messages":[{"role":"user","content":"hello"}]}`))
	if p != nil || r.maxTokens != c.MaxModelTokens-r.promptTokens {
		t.Errorf("chat: %+v, %v", r, p)
	}
}

func TestBadRequestsAreRefusedWithTheFieldAtFault(t *testing.T) {
	c := Default()
	c.MaxModelTokens = 100
	long := strings.Repeat("a ", 99) // 100 tokens: 99 letters and the space at the end
	for name, row := range map[string]struct {
		to     endpoint
		body   string
		status int
		param  string
		code   string
	}{
		"empty":                   {completions, ``, 400, "", ""},
		"not JSON":                {completions, `{"model":`, 400, "", ""},
		"not an object":           {completions, `null`, 400, "", ""},
		"two objects":             {completions, `{"model":"simulated-8b","prompt":"a"}{}`, 400, "", ""},
		"wrong type":              {completions, `{"model":7}`, 400, "model", ""},
		"fraction":                {completions, `{"model":"simulated-8b","prompt":"a","max_tokens":1.5}`, 400, "max_tokens", ""},
		"wrong type deep inside":  {chatCompletions, `{"model":"simulated-8b","messages":[{"role":7}]}`, 400, "messages.role", ""},
		"number as stop":          {completions, `{"model":"simulated-8b","prompt":"a","stop":[7]}`, 400, "", ""},
		"no model":                {completions, `{"prompt":"a"}`, 400, "model", ""},
		"unknown model":           {completions, `{"model":"gpt","prompt":"a"}`, 404, "model", "model_not_found"},
		"no prompt":               {completions, `{"model":"simulated-8b"}`, 400, "prompt", ""},
		"empty prompt":            {completions, `{"model":"simulated-8b","prompt":""}`, 400, "prompt", ""},
		"null prompt":             {completions, `{"model":"simulated-8b","prompt":null}`, 400, "prompt", ""},
		"empty list of ids":       {completions, `{"model":"simulated-8b","prompt":[[]]}`, 400, "prompt", ""},
		"two prompts":             {completions, `{"model":"simulated-8b","prompt":["a","b"]}`, 400, "", ""},
		"negative id":             {completions, `{"model":"simulated-8b","prompt":[-1]}`, 400, "", ""},
		"no messages":             {chatCompletions, `{"model":"simulated-8b","messages":[]}`, 400, "messages", ""},
		"unknown role":            {chatCompletions, `{"model":"simulated-8b","messages":[{"role":"boss","content":"a"}]}`, 400, "messages", ""},
		"image part":              {chatCompletions, `{"model":"simulated-8b","messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, 400, "", ""},
		"number as content":       {chatCompletions, `{"model":"simulated-8b","messages":[{"role":"user","content":7}]}`, 400, "", ""},
		"no output":               {completions, `{"model":"simulated-8b","prompt":"a","max_tokens":0}`, 400, "max_tokens", ""},
		"no output in a chat":     {chatCompletions, `{"model":"simulated-8b","messages":[{"role":"user","content":"a"}],"max_completion_tokens":-1}`, 400, "max_completion_tokens", ""},
		"negative minimum":        {completions, `{"model":"simulated-8b","prompt":"a","min_tokens":-1}`, 400, "min_tokens", ""},
		"minimum above cap":       {completions, `{"model":"simulated-8b","prompt":"a","min_tokens":17}`, 400, "min_tokens", ""},
		"prompt too long":         {completions, `{"model":"simulated-8b","prompt":"` + long + `"}`, 400, "", "context_length_exceeded"},
		"prompt and cap too long": {completions, `{"model":"simulated-8b","prompt":"a","max_tokens":100}`, 400, "", "context_length_exceeded"},
		"temperature":             {completions, `{"model":"simulated-8b","prompt":"a","temperature":2.1}`, 400, "temperature", ""},
		"top_p":                   {completions, `{"model":"simulated-8b","prompt":"a","top_p":0}`, 400, "top_p", ""},
		"empty stop":              {completions, `{"model":"simulated-8b","prompt":"a","stop":[""]}`, 400, "stop", ""},
		"too many stops":          {completions, `{"model":"simulated-8b","prompt":"a","stop":[` + strings.Repeat(`"a",`, 16) + `"a"]}`, 400, "stop", ""},
		"options, no stream":      {completions, `{"model":"simulated-8b","prompt":"a","stream_options":{}}`, 400, "stream_options", ""},
		"n":                       {completions, `{"model":"simulated-8b","prompt":"a","n":2}`, 400, "n", ""},
		"best_of":                 {completions, `{"model":"simulated-8b","prompt":"a","best_of":2}`, 400, "best_of", ""},
		"echo":                    {completions, `{"model":"simulated-8b","prompt":"a","echo":true}`, 400, "echo", ""},
		"suffix":                  {completions, `{"model":"simulated-8b","prompt":"a","suffix":"b"}`, 400, "suffix", ""},
		"logprobs":                {completions, `{"model":"simulated-8b","prompt":"a","logprobs":0}`, 400, "logprobs", ""},
		"response_format":         {completions, `{"model":"simulated-8b","prompt":"a","response_format":{"type":"json_object"}}`, 400, "response_format", ""},
	} {
		_, p := c.decode(row.to, []byte(row.body))
		if p == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		if p.status != row.status || deref(p.Param) != row.param || deref(p.Code) != row.code || p.Message == "" || p.Type == "" {
			t.Errorf("%s: status %d, param %q, code %q: %s", name, p.status, deref(p.Param), deref(p.Code), p.Message)
		}
	}
}

func deref(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

func TestHarmlessFormsOfUnsupportedFieldsAreAccepted(t *testing.T) {
	body := `{"model":"simulated-8b","prompt":"a","n":1,"best_of":1,"echo":false,"suffix":"","logprobs":null,"response_format":{"type":"text"},"stop":null,"seed":null,"stream_options":null}`
	if _, p := Default().decode(completions, []byte(body)); p != nil {
		t.Error(p.Message)
	}
}

// FuzzDecodeRequest: an accepted request is within its bounds and can be answered within them; a refusal is a client
// error with bounded, valid text.
func FuzzDecodeRequest(f *testing.F) {
	for _, seed := range []string{
		`{"model":"m","prompt":"hello world","max_tokens":5,"stop":["a","."],"stream":true,"stream_options":{"include_usage":true}}`,
		`{"model":"m","prompt":[1,2,3],"min_tokens":2,"ignore_eos":true}`,
		`{"model":"m","messages":[{"role":"user","content":"hi"}],"max_completion_tokens":9,"temperature":1.5,"seed":3}`,
		`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`,
		`{"model":"` + strings.Repeat("\x1b[31m", 100) + `"}`,
		`{"model":"m","prompt":"a","\u001b'":[1],"stream":true,"stream_options":{"x\u2028":null}}`,
		`{"model":"m","messages":[{"role":"user","content":"a"}],"tools":[{"function":{"name":"f"}}],"tool_choice":"auto","cache_salt":"s"}`,
		`{"model":"m","prompt":[[`, `[]`, `{"model":null}`, `{"model":"m","messages":[{}]}`,
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, chat bool) {
		to := completions
		if chat {
			to = chatCompletions
		}
		for _, vendor := range Vendors() {
			c := small()
			c.Model, c.Vendor = "m", vendor
			checkDecoded(t, c, to, text)
		}
	})
}

func checkDecoded(t *testing.T, c Config, to endpoint, text string) {
	t.Helper()
	r, p := c.decode(to, []byte(text))
	if p != nil {
		checkProblem(t, p)
		return
	}
	if r.promptTokens < 1 || r.maxTokens < 1 || r.promptTokens+r.maxTokens > c.MaxModelTokens || r.minTokens < 0 || r.minTokens > r.maxTokens {
		t.Fatalf("accepted out of bounds: %+v", r)
	}
	if slices.Contains(r.stop, "") || r.temperature < 0 || r.temperature > 2 || r.topP <= 0 || r.topP > 1 {
		t.Fatalf("accepted out of bounds: %+v", r)
	}
	if r.text.tokens != r.promptTokens || len(r.text.keys) != r.promptTokens/c.KV.TokensPerBlock {
		t.Fatalf("%d tokens, of them %d read, %d keys", r.promptTokens, r.text.tokens, len(r.text.keys))
	}
	checkAnswer(t, r, write(c, r))
}

func checkProblem(t *testing.T, p *problem) {
	t.Helper()
	if p.status != http.StatusBadRequest && p.status != http.StatusNotFound {
		t.Fatalf("status %d for a fault of the client", p.status)
	}
	if text, err := json.Marshal(p); err != nil || len(p.Message) == 0 || len(text) > 4096 || !utf8.ValidString(p.Message) || strings.Contains(p.Message, "\x1b") {
		t.Fatalf("bad error object %q: %v", text, err)
	}
}

func checkAnswer(t *testing.T, r request, a answer) {
	t.Helper()
	n := a.tokens()
	if n < 1 || n > r.maxTokens || n < r.minTokens || a.reason != finishStop && (a.reason != finishLength || n != r.maxTokens) {
		t.Fatalf("%d tokens (%s) for %+v", n, a.reason, r)
	}
	if a.between(0, n) != a.text || !slices.IsSorted(a.ends) {
		t.Fatalf("tokens end at %v in %q", a.ends, a.text)
	}
	if r.ignoreEOS && len(r.stop) == 0 && n != r.maxTokens {
		t.Fatalf("ignore_eos: %d tokens, %d asked for", n, r.maxTokens)
	}
}
