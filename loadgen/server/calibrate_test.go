package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/traffic"
)

// counting is a server whose tokenizer makes two tokens of long words; its template adds five.
type counting struct {
	tokenizer, usage bool
	wholeUsage       bool // usage only in answers without stream
	long             int  // from how many letters on
	completions      atomic.Int64
}

func (c *counting) tokens(text string) int {
	n := 0
	for _, word := range strings.Fields(text) {
		plain := strings.Trim(word, ".:")
		n += 1 + len(word) - len(plain)
		if len(plain) >= c.long {
			n++
		}
	}
	return n
}

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Prompt   string
		Messages []openai.Message
		Stream   bool
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	switch {
	case r.URL.Path == "/tokenize" && c.tokenizer:
		fmt.Fprintf(w, `{"count": %d, "tokens": []}`, c.tokens(body.Prompt))
	case r.URL.Path == "/v1/chat/completions" && c.wholeUsage && !body.Stream:
		c.completions.Add(1)
		fmt.Fprintf(w, `{"choices":[{"message":{"content":"x"},"finish_reason":"length"}],"usage":{"prompt_tokens":%d,"completion_tokens":1}}`, 5+c.tokens(body.Messages[0].Content))
	case r.URL.Path == "/v1/chat/completions":
		c.completions.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"x"},"finish_reason":"length"}]}`+"\n\n")
		if c.usage {
			fmt.Fprintf(w, `data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":1}}`+"\n\n", 5+c.tokens(body.Messages[0].Content))
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	default:
		http.NotFound(w, r)
	}
}

func scaleFrom(t *testing.T, c http.Handler, sample string) traffic.TokenScale {
	t.Helper()
	return scaleFor(t, c, sample, nil)
}

func scaleFor(t *testing.T, c http.Handler, sample string, template *traffic.Template) traffic.TokenScale {
	t.Helper()
	upstream := httptest.NewServer(c)
	defer upstream.Close()
	client, err := openai.New(openai.Options{
		BaseURL: upstream.URL, Connections: 1, RequestTimeout: time.Minute, FirstTokenTimeout: time.Minute, ChunkTimeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	scale, err := Calibration{
		Target: Target{Known: supported.Engines(), URL: upstream.URL, Endpoint: openai.Chat}, Served: Served{Model: Model{ID: "m"}, Engine: "vllm"},
		Client: client, Stream: true, Sample: sample, Template: template,
	}.Scale(t.Context())
	if err != nil {
		return traffic.Assumption() // as a run does
	}
	return scale
}

func TestLengthsAreCalibratedByWhateverTheServerCounts(t *testing.T) {
	for _, c := range []struct {
		name     string
		server   *counting
		basis    traffic.ScaleBasis
		exact    bool
		template int // -1: unknown
		asked    int64
	}{
		{"tokenizer, words of one token", &counting{tokenizer: true, usage: true, long: 99}, traffic.ByTokenizer, true, 5, 1},
		{"tokenizer, longer words", &counting{tokenizer: true, usage: true, long: 5}, traffic.ByTokenizer, true, 5, 1},
		{"tokenizer, no usage", &counting{tokenizer: true, long: 99}, traffic.ByTokenizer, true, -1, 2},
		{"tokenizer, usage of whole answers", &counting{tokenizer: true, wholeUsage: true, long: 99}, traffic.ByTokenizer, true, 5, 2},
		{"usage, words of one token", &counting{usage: true, long: 99}, traffic.ByUsage, true, 5, 4},
		{"usage, longer words", &counting{usage: true, long: 5}, traffic.ByUsage, false, 5, 4},
		{"usage of whole answers (llama-cpp-python)", &counting{wholeUsage: true, long: 99}, traffic.ByUsage, true, 5, 5},
		{"neither", &counting{long: 99}, traffic.Assumed, false, -1, 2},
	} {
		scale := scaleFrom(t, c.server, "")
		if scale.Basis != c.basis || scale.Exact() != c.exact {
			t.Errorf("%s: %s, exact %v: %+v", c.name, scale.Basis, scale.Exact(), scale)
		}
		if known := scale.TemplateTokens != nil; known != (c.template >= 0) || known && *scale.TemplateTokens != c.template {
			t.Errorf("%s: template %v", c.name, scale.TemplateTokens)
		}
		if got := c.server.completions.Load(); got > c.asked {
			t.Errorf("%s: %d requests were sent before the run, want %d", c.name, got, c.asked)
		}
		if !c.exact {
			continue
		}
		p := traffic.PromptSet{Seed: 1, Lengths: []traffic.Lengths{{Min: 500, Max: 500}}, Scale: scale}.Prompt("measure", 0)
		if got := c.server.tokens(p.Text); got != 500 {
			t.Errorf("%s: a prompt of 500 tokens has %d", c.name, got)
		}
	}
}

// What --template puts around a text is the same for all prompts, as a chat template is.
func TestTheTokensOfAnOwnTemplateAreMeasured(t *testing.T) {
	template, err := traffic.ParseTemplate("you are a patient assistant {{range .Messages}}{{.Role}} {{.Content}} end {{end}}assistant")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		server *counting
		want   int // the template's words, and 5 of the server's own; -1: unknown
	}{
		"usage": {&counting{usage: true, long: 99}, 8 + 5}, "tokenizer": {&counting{tokenizer: true, usage: true, long: 99}, 8 + 5},
		"tokenizer, no usage": {&counting{tokenizer: true, long: 99}, -1},
	} {
		scale := scaleFor(t, c.server, "", template)
		if known := scale.TemplateTokens != nil; known != (c.want >= 0) || known && *scale.TemplateTokens != c.want {
			t.Errorf("%s: %v, want %d", name, scale.TemplateTokens, c.want)
		}
	}
}

// byteCounting is llama.cpp with a vocabulary of single bytes and a few words. A space is three bytes, one
// stands before every text, and of the words only " a", " an", " and", " as" and " at" are reached by
// merging. Its template adds 25 tokens.
type byteCounting struct{ asked atomic.Int64 }

func (c *byteCounting) tokens(text string) int {
	n := len(text) + 2*strings.Count(text, " ")
	for piece, saved := range map[string]int{" a": 3, " an": 1, " and": 1, " as": 1, " at": 1} {
		n -= saved * strings.Count(text, piece)
	}
	return n
}

func (c *byteCounting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Content  string
		Messages []openai.Message
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	switch r.URL.Path {
	case "/tokenize":
		c.asked.Add(1)
		fmt.Fprintf(w, `{"tokens":[%s1]}`, strings.Repeat("1,", c.tokens(" "+body.Content)-1))
	case "/v1/chat/completions":
		fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n",
			25+c.tokens(body.Messages[0].Content))
	default:
		http.NotFound(w, r)
	}
}

// The counts of the probes are those that llama.cpp (commit 0c1e570) gave.
func TestLengthsAreExactWhereBytesAreTokens(t *testing.T) {
	server, probes := &byteCounting{}, traffic.NewProbes()
	for text, want := range map[string]int{probes.One: 1, probes.Short: 76, probes.Instructed: 163, probes.Whole: 1971} {
		if got := server.tokens(" " + text); got != want {
			t.Fatalf("%.20q has %d tokens here, %d at llama.cpp", text, got, want)
		}
	}
	scale := scaleFrom(t, server, "")
	if scale.Basis != traffic.ByTokenizer || !scale.Exact() || scale.TemplateTokens == nil || *scale.TemplateTokens != 25 {
		t.Fatalf("%+v", scale)
	}
	for _, tokens := range []int{40, 500, 4000} {
		p := traffic.PromptSet{Seed: 1, Lengths: []traffic.Lengths{{Min: tokens, Max: tokens}}, Scale: scale}.Prompt("measure", 0)
		if got := server.tokens(p.Text); got != tokens {
			t.Errorf("a prompt of %d tokens has %d", tokens, got)
		}
	}
}

func TestTextsOfAFileAreCountedByASampleOfThem(t *testing.T) {
	scale := scaleFrom(t, &counting{tokenizer: true, usage: true, long: 99}, strings.Repeat("abcdefghi ", 300))
	if scale.TokensPerByte < 0.099 || scale.TokensPerByte > 0.102 { // nine letters and a space
		t.Errorf("%.3f tokens a byte", scale.TokensPerByte)
	}
}

func FuzzTokensOf(f *testing.F) {
	for _, seed := range []string{`{"count": 2, "tokens": [1, 2]}`, `{"tokens": [1]}`, `{"tokens": [{"id": 1}]}`, `{"count": -1}`, "[]", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		if n, err := tokensOf("/tokenize", []byte(answer)); err == nil && n < 1 {
			t.Fatalf("%q: %d tokens", answer, n)
		}
	})
}
