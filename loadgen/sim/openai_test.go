package sim

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sashabaranov/go-openai"
)

// stock returns an independent client of the API.
func stock(t *testing.T) (*openai.Client, Config) {
	t.Helper()
	c := instant()
	_, server := serve(t, c)
	config := openai.DefaultConfig("no key")
	config.BaseURL = server.URL + "/v1"
	return openai.NewClientWithConfig(config), c
}

func TestStockClientListsModels(t *testing.T) {
	client, c := stock(t)
	list, err := client.ListModels(t.Context())
	if err != nil || len(list.Models) != 1 || list.Models[0].ID != c.Model || list.Models[0].Object != "model" {
		t.Fatalf("%+v, %v", list, err)
	}
}

func chatRequest(c Config) openai.ChatCompletionRequest {
	return openai.ChatCompletionRequest{
		Model: c.Model, MaxCompletionTokens: 40, StreamOptions: nil,
		Messages: []openai.ChatCompletionMessage{
			{Role: openai.ChatMessageRoleSystem, Content: "be brief"},
			{Role: openai.ChatMessageRoleUser, Content: "hello"},
		},
	}
}

func TestStockClientChats(t *testing.T) {
	client, c := stock(t)
	whole, err := client.CreateChatCompletion(t.Context(), chatRequest(c))
	if err != nil {
		t.Fatal(err)
	}
	choice := whole.Choices[0]
	if choice.Message.Role != "assistant" || choice.Message.Content == "" || whole.Model != c.Model || whole.Usage.CompletionTokens == 0 {
		t.Errorf("%+v", whole)
	}
	asked := chatRequest(c)
	asked.Stream, asked.StreamOptions = true, &openai.StreamOptions{IncludeUsage: true}
	stream, err := client.CreateChatCompletionStream(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var text strings.Builder
	var reason openai.FinishReason
	var usage *openai.Usage
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range chunk.Choices {
			text.WriteString(c.Delta.Content)
			reason = c.FinishReason
		}
		if chunk.Usage != nil {
			usage = chunk.Usage
		}
	}
	if text.String() != choice.Message.Content || reason != choice.FinishReason || usage == nil || usage.TotalTokens != whole.Usage.TotalTokens {
		t.Errorf("streamed %q (%s, %+v), whole %q (%s, %+v)", text.String(), reason, usage, choice.Message.Content, choice.FinishReason, whole.Usage)
	}
}

func TestStockClientCompletes(t *testing.T) {
	client, c := stock(t)
	asked := openai.CompletionRequest{Model: c.Model, Prompt: "once upon a time", MaxTokens: 30, Stop: []string{"."}}
	whole, err := client.CreateCompletion(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	if whole.Usage == nil || whole.Usage.PromptTokens != 4 || whole.Choices[0].Text == "" || strings.Contains(whole.Choices[0].Text, ".") {
		t.Errorf("%+v", whole)
	}
	asked.Stream = true
	stream, err := client.CreateCompletionStream(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var text strings.Builder
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(chunk.Choices[0].Text)
	}
	if text.String() != whole.Choices[0].Text {
		t.Errorf("streamed %q, whole %q", text.String(), whole.Choices[0].Text)
	}
}

func TestStockClientReadsErrors(t *testing.T) {
	client, c := stock(t)
	for model, status := range map[string]int{"gpt": http.StatusNotFound, c.Model: http.StatusBadRequest} {
		asked := chatRequest(c)
		asked.Model, asked.Temperature = model, 3
		_, err := client.CreateChatCompletion(context.Background(), asked)
		var read *openai.APIError
		if !errors.As(err, &read) || read.HTTPStatusCode != status || read.Type != "invalid_request_error" {
			t.Errorf("model %s: %v", model, err)
		}
	}
}
