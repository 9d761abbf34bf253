package openai

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// recorded is an answer that a real server gave, byte for byte, to a prompt for 3 tokens at temperature 0.
// The model had random weights and the vocabulary of Llama 3.
type recorded struct {
	file       string // server, version and what was asked, below testdata/recorded
	httpStatus int    // 0: 200
	want       reading
}

// reading is what must be read out of it.
type reading struct {
	status          Status
	output, first   string // first: type of the first event
	kinds, finish   string
	in, out, cached int // -1: not reported
	source          string
	code            string // of an error
}

// TestAnswersThatRealServersGave holds what the decoder makes of them against what a person reads there.
// Ollama 0.6.8 was built from its Go module; llama.cpp is commit 0c1e570, as it comes with
// llama-cpp-python 0.3.36, whose own server is the third; the fourth is the one of transformers serve, with
// another vocabulary; vLLM 0.32.0 ran on a CPU, with a vocabulary of its own,
// behind the gateways smg and LiteLLM too; Dynamo 1.6.1 had NVIDIA's mocker for a worker.
func TestAnswersThatRealServersGave(t *testing.T) {
	const text = `\",\ rathersett`
	for _, r := range []recorded{
		// Every chunk has the role and text; the usage comes in its own chunk.
		{"ollama-0.6.8-chat.sse", 0, reading{StatusOK, " orderedвестиdirective", eventPayload, "ttt", "length", 11, 3, -1, fromUsage, ""}},
		// A usage of zeros stands in every chunk but the last.
		{"ollama-0.6.8-completions.sse", 0, reading{StatusOK, " orderedвестиdirective", eventPayload, "ttt", "length", 11, 3, -1, fromUsage, ""}},
		{"llama.cpp-0c1e570-chat.sse", 0, reading{StatusOK, text, eventRole, "ttt", "length", 36, 3, 30, fromUsage, ""}},
		// The chunk that finishes has the usage too.
		{"llama.cpp-0c1e570-completions.sse", 0, reading{StatusOK, " ailments verifying signify", eventPayload, "ttt", "length", 2, 3, 1, fromUsage, ""}},
		{"llama.cpp-0c1e570-chat.json", 0, reading{StatusOK, text, eventPayload, "t", "length", 36, 3, 35, fromUsage, ""}},
		{"llama.cpp-0c1e570-too-long.json", http.StatusBadRequest, reading{StatusHTTP, "", "", "", "", -1, -1, -1, "", "exceed_context_size_error"}},
		// It was sent cache_salt "run/baseline_1".
		{"vllm-0.32.0-cache-salt.json", http.StatusBadRequest, reading{StatusHTTP, "", "", "", "", -1, -1, -1, "", "BadRequestError"}},
		// It counts tokens in whole answers only, with any stream_options.
		{"llama-cpp-python-0.3.36-chat.sse", 0, reading{StatusOK, text, eventRole, "ttt", "length", -1, 3, -1, TokensFromChunks, ""}},
		{"llama-cpp-python-0.3.36-chat.json", 0, reading{StatusOK, text, eventPayload, "t", "length", 36, 3, -1, fromUsage, ""}},
		// The stream has no [DONE]; its finish_reason ends it.
		{"transformers-5.23.0-chat.sse", 0, reading{StatusOK, "DEBUGynamo settings", eventRole, "ttt", "length", 12, 3, -1, fromUsage, ""}},
		{"transformers-5.23.0-completions.sse", 0, reading{StatusOK, "`-- container Requ", eventPayload, "ttt", "length", 3, 3, -1, fromUsage, ""}},
		{"vllm-0.32.0-chat.sse", 0, reading{StatusOK, " Group proceFF", eventRole, "ttt", "length", 14, 3, 0, fromUsage, ""}},
		// Usage so far and token ids in every chunk.
		{"vllm-0.32.0-chat-continuous.sse", 0, reading{StatusOK, " Group proceFF", eventRole, "ttt", "length", 14, 3, 0, fromUsage, ""}},
		// refusal, audio, function_call and reasoning are null here.
		{"vllm-0.32.0-chat.json", 0, reading{StatusOK, " Group proceFF", eventPayload, "t", "length", 14, 3, 0, fromUsage, ""}},
		{"vllm-0.32.0-no-model.json", http.StatusNotFound, reading{StatusHTTP, "", "", "", "", -1, -1, -1, "", "NotFoundError"}},
		{"vllm-0.32.0-too-long.json", http.StatusBadRequest, reading{StatusHTTP, "", "", "", "", -1, -1, -1, "", "BadRequestError"}},
		{"vllm-0.32.0-cache-salt.json", http.StatusBadRequest, reading{StatusHTTP, "", "", "", "", -1, -1, -1, "", "BadRequestError"}},
		// A path that is not there is answered by FastAPI, not by vLLM.
		{"vllm-0.32.0-no-path.json", http.StatusNotFound, reading{StatusHTTP, "", "", "", "", -1, -1, -1, "", ""}},
		{"smg-1.13.0-chat.sse", 0, reading{StatusOK, " Group proceFF", eventRole, "ttt", "length", 14, 3, 0, fromUsage, ""}},
		{"smg-1.13.0-no-model.json", http.StatusNotFound, reading{StatusHTTP, "", "", "", "", -1, -1, -1, "", "model_not_found"}},
		// The usage comes with one empty choice.
		{"litellm-1.106.2-chat.sse", 0, reading{StatusOK, " Group proceFF", eventRole, "ttt", "length", 14, 3, 0, fromUsage, ""}},
		{"litellm-1.106.2-no-model.json", http.StatusBadRequest, reading{StatusHTTP, "", "", "", "", -1, -1, -1, "", "400"}},
		{"litellm-1.106.2-too-long.json", http.StatusBadRequest, reading{StatusHTTP, "", "", "", "", -1, -1, -1, "", "400"}},
		{"dynamo-1.6.1-chat.sse", 0, reading{StatusOK, "nded considered been", eventPayload, "ttt", "length", 14, 3, 0, fromUsage, ""}},
		{"dynamo-1.6.1-no-model.json", http.StatusNotFound, reading{StatusHTTP, "", "", "", "", -1, -1, -1, "", "Not Found"}},
		{"dynamo-1.6.1-not-ready.json", http.StatusServiceUnavailable, reading{StatusHTTP, "", "", "", "", -1, -1, -1, "", "Service Unavailable"}},
		{"dynamo-1.6.1-no-worker.json", http.StatusServiceUnavailable, reading{StatusHTTP, "", "", "", "", -1, -1, -1, "", "Service Unavailable"}},
		// The only worker was killed while it wrote; [DONE] follows the error. Events of the middle are left out.
		{"dynamo-1.6.1-worker-died.sse", 0, reading{StatusInBand, "Truehatdiv instead", eventPayload, "tttt", "", -1, 4, -1, TokensFromChunks, "service_unavailable"}},
		// Another request came, and this one was given up: the connection breaks after [DONE].
		{"llama-cpp-python-0.3.36-given-up.sse", 0, reading{StatusTruncated, "", eventRole, "", "", -1, -1, -1, "", ""}},
	} {
		t.Run(r.file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", "recorded", r.file))
			if err != nil {
				t.Fatal(err)
			}
			answer := pieces(string(text))
			answer.status = r.httpStatus
			if got := readingOf(ask(t, answer)); got != r.want {
				t.Errorf("read\n%+v, want\n%+v", got, r.want)
			}
		})
	}
}

// TestErrorsThatRealServersGaveKeepTheirWords has the text of each error as a person reads it there.
func TestErrorsThatRealServersGaveKeepTheirWords(t *testing.T) {
	for _, r := range []struct {
		file       string
		httpStatus int
		want       string
	}{
		{"vllm-0.32.0-no-model.json", 404, "HTTP 404: The model `gone` does not exist. Valid aliases: tiny-llama."},
		{"vllm-0.32.0-no-path.json", 404, "HTTP 404: Not Found"},
		{"vllm-0.32.0-cache-salt.json", 400, `HTTP 400: Parameter 'cache_salt' must be at most 128 characters and must not contain '@', '/', '\\', or NUL. (parameter=cache_salt)`},
		{"smg-1.13.0-no-model.json", 404, "HTTP 404: No worker available for model 'gone'"},
		{"litellm-1.106.2-no-model.json", 400, "HTTP 400: /chat/completions: Invalid model name passed in model=gone. Call `/v1/models` to view available models for your key."},
		{"dynamo-1.6.1-no-model.json", 404, "HTTP 404: Model not found"},
		{"dynamo-1.6.1-not-ready.json", 503, "HTTP 503: Model `tiny-llama` is not ready to serve requests yet. The deployment may still be starting up or is not fully provisioned. Please retry shortly."},
		{"dynamo-1.6.1-no-worker.json", 503, "HTTP 503: Service temporarily unavailable"},
		{"dynamo-1.6.1-worker-died.sse", 0, "Service temporarily unavailable"},
		{"llama.cpp-0c1e570-too-long.json", 400, "HTTP 400: request (20035 tokens) exceeds the available context size (4096 tokens), try increasing it"},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", "recorded", r.file))
		if err != nil {
			t.Fatal(err)
		}
		answer := pieces(string(text))
		answer.status = r.httpStatus
		if got := ask(t, answer).Record.Error; got != r.want {
			t.Errorf("%s:\n%s, want\n%s", r.file, got, r.want)
		}
	}
}

func readingOf(result Result) reading {
	r := result.Record
	return reading{
		r.Status, result.Output, r.FirstEventType, r.ArrivalKinds, r.FinishReason,
		told(r.TokensIn), told(r.TokensOut), told(r.TokensCached), r.TokensSource, result.ErrorCode,
	}
}

func told(n *int) int {
	if n == nil {
		return -1
	}
	return *n
}
