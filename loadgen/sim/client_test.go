package sim

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// sendAs sends a request as a client does that was seen on the wire.
func sendAs(t *testing.T, method, url, body string, header ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

// TestVLLMsMultiTurnClientIsServed speaks as benchmarks/multi_turn/benchmark_serving_multi_turn.py of
// vLLM 0.33.0: it asks for no usage, takes every line but [DONE] for a chunk with a delta, and gives a
// request up whose answer has no content.
func TestVLLMsMultiTurnClientIsServed(t *testing.T) {
	const messages = `"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":"yes"},{"role":"user","content":"go on"}]`
	for _, vendor := range Vendors() {
		c := of(vendor)
		_, server := serve(t, c)
		url := server.URL + "/v1/chat/completions"
		model := `{"model":"` + c.Model + `",`
		stream := sendAs(t, http.MethodPost, url, model+messages+`,"stream":true,"stream_options":{"include_usage":false},"max_tokens":20}`,
			"Content-Type", "application/json")
		streamed := contentOfLines(t, vendor, stream.Body)
		whole := sendAs(t, http.MethodPost, url, model+messages+`,"max_tokens":20}`, "Content-Type", "application/json")
		var answer struct {
			Choices []struct {
				Message struct{ Role, Content string }
			}
		}
		if err := json.NewDecoder(whole.Body).Decode(&answer); err != nil || answer.Choices[0].Message.Role != "assistant" {
			t.Fatalf("%s: %+v, %v", vendor, answer, err)
		}
		if said := answer.Choices[0].Message.Content; streamed == "" || streamed != said {
			t.Errorf("%s: streamed %q, whole %q", vendor, streamed, said)
		}
	}
}

// contentOfLines reads a stream by lines, as that client does.
func contentOfLines(t *testing.T, vendor Vendor, stream io.Reader) string {
	t.Helper()
	var content strings.Builder
	ended := false
	for lines := bufio.NewScanner(stream); lines.Scan(); {
		text := strings.TrimPrefix(strings.TrimSpace(lines.Text()), "data: ")
		if text == "" {
			continue
		}
		if ended = text == "[DONE]"; ended {
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta *struct{ Content string }
			}
		}
		if err := json.Unmarshal([]byte(text), &chunk); err != nil || len(chunk.Choices) == 0 || chunk.Choices[0].Delta == nil {
			t.Fatalf("%s: %q, %v", vendor, text, err)
		}
		content.WriteString(chunk.Choices[0].Delta.Content)
	}
	if !ended {
		t.Errorf("%s: the stream has no [DONE] at its end", vendor)
	}
	return content.String()
}

// TestAIPerfFindsThePageOfMetrics: AIPerf 0.13.0 asks by HEAD before it reads the page.
func TestAIPerfFindsThePageOfMetrics(t *testing.T) {
	for vendor, path := range map[Vendor]string{
		VLLM: "/metrics", SGLang: "/metrics", Dynamo: "/metrics", TensorRTLLM: "/prometheus/metrics",
	} {
		_, server := serve(t, of(vendor))
		found := sendAs(t, http.MethodHead, server.URL+path, "", "Accept", "*/*", "Accept-Encoding", "gzip, deflate, br")
		if found.StatusCode != http.StatusOK || !strings.HasPrefix(found.Header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %s %v", vendor, found.Status, found.Header)
		}
	}
}

// TestGuideLLMIsServed speaks as GuideLLM 0.8.1: content in parts, usage so far in every chunk, and an
// answer of exactly as many tokens as it asks for.
func TestGuideLLMIsServed(t *testing.T) {
	c := of(VLLM)
	_, server := serve(t, c)
	if health := sendAs(t, http.MethodGet, server.URL+"/health", ""); health.StatusCode != http.StatusOK {
		t.Fatal(health.Status)
	}
	body := `{"model":"` + c.Model + `","stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true},"max_completion_tokens":4,` +
		`"ignore_eos":true,"messages":[{"role":"user","content":[{"type":"text","text":"1 1 m0 St"}]}]}`
	var counts []int
	for lines := bufio.NewScanner(sendAs(t, http.MethodPost, server.URL+"/v1/chat/completions", body, "Content-Type", "application/json").Body); lines.Scan(); {
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
			Usage   *struct {
				CompletionTokens int `json:"completion_tokens"`
			}
		}
		if text := strings.TrimPrefix(lines.Text(), "data: "); strings.HasPrefix(text, "{") {
			if err := json.Unmarshal([]byte(text), &chunk); err != nil || chunk.Usage == nil {
				t.Fatalf("%s: %v", text, err)
			}
			if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
				counts = append(counts, chunk.Usage.CompletionTokens)
			}
		}
	}
	if len(counts) != 4 || counts[0] != 1 || counts[3] != 4 {
		t.Errorf("tokens by the end of each chunk: %v", counts)
	}
}
