package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
)

// chatServer counts a token for each word of a text, and three that its template adds to a message. The first word of a
// message and the template are one token.
type chatServer struct {
	route string // vLLM's or llama.cpp's, or that of an engine that leaves the template out
}

func templated(messages []openai.Message) (text string, tokens int) {
	for _, m := range messages {
		text += "<" + m.Role + "> " + m.Content + " "
		tokens += 3 + len(strings.Fields(m.Content)) - 1
	}
	return text, tokens
}

func (s chatServer) serve(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Prompt       *string          `json:"prompt"`
			Content      *string          `json:"content"`
			Messages     []openai.Message `json:"messages"`
			AddSpecial   bool             `json:"add_special"`
			ParseSpecial bool             `json:"parse_special"`
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		text, tokens := templated(asked.Messages)
		switch {
		case r.URL.Path == "/v1/chat/completions":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n", tokens)
		case r.URL.Path == "/tokenize" && asked.Messages != nil && s.route == "vllm":
			fmt.Fprintf(w, `{"count":%d}`, tokens)
		case r.URL.Path == "/tokenize" && asked.Messages != nil && s.route == "no template":
			fmt.Fprintf(w, `{"count":%d}`, len(strings.Fields(text)))
		case r.URL.Path == "/apply-template" && s.route == "llama.cpp":
			_ = json.NewEncoder(w).Encode(map[string]string{"prompt": text})
		case r.URL.Path == "/tokenize" && asked.Content != nil && asked.ParseSpecial && asked.AddSpecial:
			n := strings.Count(*asked.Content, "<")
			fmt.Fprintf(w, `{"tokens":[%s]}`, strings.Trim(strings.Repeat("7,", len(strings.Fields(*asked.Content))-n+2*n), ","))
		case r.URL.Path == "/tokenize" && asked.Prompt != nil:
			fmt.Fprintf(w, `{"count":%d}`, len(strings.Fields(*asked.Prompt)))
		default:
			http.NotFound(w, r)
		}
	}
}

func TestAWholeChatIsCountedByTheRouteThatAgreesWithTheServersRequests(t *testing.T) {
	messages := []openai.Message{{Role: "system", Content: "one two three"}, {Role: "user", Content: "four five"}}
	for route, counts := range map[string]bool{"vllm": true, "llama.cpp": true, "no template": false, "none": false} {
		c := calibrationOf(t, chatServer{route}.serve(t))
		client, err := openai.New(openai.Options{BaseURL: c.Target.URL, Connections: 1, RequestTimeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		c.Client = client
		tokenizer, err := c.Tokenizer(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", route, err)
		}
		defer tokenizer.Close()
		count := func(text string) (int, error) { return tokenizer.Count(t.Context(), text) }
		framing, chat, err := c.Framing(t.Context(), count, tokenizer.Chats()...)
		if err != nil || framing != (Framing{User: 2, System: 4}) {
			t.Errorf("%s: framing %+v, %v", route, framing, err)
		}
		if (chat != nil) != counts {
			t.Errorf("%s: it counts chats: %v, want %v", route, chat != nil, counts)
		}
		if chat == nil {
			continue
		}
		if n, err := chat(t.Context(), messages); n != 9 || err != nil {
			t.Errorf("%s: %d tokens, want 9 (%v)", route, n, err)
		}
	}
}
