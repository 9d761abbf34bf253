package openai

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// capped sends a request with a cap on output tokens.
func capped(t *testing.T, maxTokens int, stream string) Record {
	t.Helper()
	c := newTestClient(t, Options{Transport: pieces(stream)}, nil)
	r := c.Do(t.Context(), Request{Endpoint: Chat, Body: []byte("{}"), MaxTokens: maxTokens}, since(time.Now()), nil).Record
	wantStatus(t, r, StatusOK, "")
	return r
}

func TestCountsThatCannotBeAreNotBelieved(t *testing.T) {
	usage := func(members string) string { return `{"choices":[],"usage":{"prompt_tokens":70,` + members + `}}` }
	answer := strings.TrimSuffix(events(textChunk("w w "), textChunk("w w ")), "")
	for name, c := range map[string]struct {
		maxTokens int
		stream    string
		says      string // "": believed
	}{
		"as asked":                       {16, answer + events(usage(`"completion_tokens":16`), done), ""},
		"more than asked for":            {16, answer + events(usage(`"completion_tokens":17`), done), "usage counts 17 output tokens, and at most 16 were asked for"},
		"no cap, as many as can be":      {0, answer + events(usage(`"completion_tokens":32`), done), ""},
		"no cap, more than can be":       {0, answer + events(usage(`"completion_tokens":33`), done), "usage counts 33 output tokens in 8 bytes of text and 3 chunks"},
		"a hundred thousand":             {100_000, answer + events(usage(`"completion_tokens":100000`), done), "usage counts 100000 output tokens in 8 bytes"},
		"reasoning that is hidden":       {16, answer + events(usage(`"completion_tokens":5016,"completion_tokens_details":{"reasoning_tokens":5000}`), done), ""},
		"more beside hidden reasoning":   {16, answer + events(usage(`"completion_tokens":5017,"reasoning_tokens":5000`), done), "usage counts 17 output tokens besides 5000 of reasoning"},
		"reasoning beyond the sum":       {16, answer + events(usage(`"completion_tokens":4,"reasoning_tokens":5000`), done), ""},
		"cached as the prompt":           {16, answer + events(usage(`"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":70}`), done), ""},
		"cached above the prompt":        {16, answer + events(usage(`"completion_tokens":4,"prompt_cache_hit_tokens":71`), done), "usage counts 71 cached tokens in a prompt of 70"},
		"objects that agree":             {16, answer + events(usage(`"completion_tokens":4`), usage(`"completion_tokens":4`), done), ""},
		"objects with another prompt":    {16, answer + events(usage(`"completion_tokens":4`), `{"choices":[],"usage":{"prompt_tokens":71,"completion_tokens":4}}`, done), "usage counts 70 prompt tokens, then 71"},
		"objects with less output":       {16, events(continuous("w", 5), continuous("w", 2), done), "usage counts 5 output tokens, then 2"},
		"zeros that are filled in later": {16, events(withUsage("w", zeroUsage)) + events(usage(`"completion_tokens":4`), done), ""},
		"audio, which has no text":       {0, events(deltaChunk(`{"audio":{"data":"UklGRg=="}}`), usage(`"completion_tokens":400`), done), ""},
		"one whole answer":               {0, `{"choices":[{"message":{"content":"w"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":10}}`, "10 output tokens in 1 bytes of text and 1 chunks"},
	} {
		t.Run(name, func(t *testing.T) {
			r := capped(t, c.maxTokens, c.stream)
			if believed := c.says == ""; believed != (r.UsageFault == "") || !strings.HasPrefix(r.UsageFault, c.says) && !strings.Contains(r.UsageFault, c.says) {
				t.Errorf("fault %q, want %q", r.UsageFault, c.says)
			}
			if c.says == "" {
				return
			}
			if r.TokensOut != nil || r.TokensIn != nil || r.TokensCached != nil || r.ArrivalTokens != nil {
				t.Errorf("counts that are not believed: %+v", r)
			}
			if tpot, ok := r.TPOT(); ok {
				t.Errorf("TPOT %s", tpot)
			}
		})
	}
}

func TestWholeNumbersInFloatsAreCounts(t *testing.T) {
	for number, want := range map[string]int{"6.0": 6, "6.000": 6, "6e0": 6, "0.6e1": 6, "6": 6, "6.5": -1, "-6.0": -1, "1e300": -1, "\"6\"": -1} {
		r := ask(t, pieces(events(textChunk("a"), fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":%s,"completion_tokens":1}}`, number), done))).Record
		if got := r.TokensIn; (got != nil) != (want >= 0) || got != nil && *got != want {
			t.Errorf("%s is read as %v", number, got)
		}
	}
}

// FuzzUsageIsBelievedOnlyIfItCanBe holds the rule against a count of the same bytes.
func FuzzUsageIsBelievedOnlyIfItCanBe(f *testing.F) {
	f.Add(16, 16, 0, 70, 4, "w w ")
	f.Add(0, 100_000, 0, 70, 0, "w")
	f.Add(16, 5016, 5000, 70, 71, "")
	f.Fuzz(func(t *testing.T, maxTokens, completion, reasoning, prompt, cached int, text string) {
		for _, n := range []*int{&maxTokens, &completion, &reasoning, &prompt, &cached} {
			*n = *n & (1<<30 - 1)
		}
		u := fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"reasoning_tokens":%d,"prompt_cache_hit_tokens":%d}}`, prompt, completion, reasoning, cached)
		c := newTestClient(t, Options{Transport: pieces(events(textChunk("a"), textChunk(strings.ToValidUTF8(text, "")), u, done))}, nil)
		r := c.Do(t.Context(), Request{Endpoint: Chat, Body: []byte("{}"), MaxTokens: maxTokens, KeepOutput: true}, since(time.Now()), nil)
		if r.Record.UsageFault != "" {
			if r.Record.TokensOut != nil || r.Record.TokensIn != nil {
				t.Errorf("%q and counts: %+v", r.Record.UsageFault, r.Record)
			}
			return
		}
		if out := r.Record.TokensOut; out != nil && r.Record.TokensSource == fromUsage {
			made := *out - value(r.Record.TokensReasoning)
			if made > len(r.Output)+3*tokensPerChunk || maxTokens > 0 && made > maxTokens {
				t.Errorf("%d tokens of %d bytes, at most %d", made, len(r.Output), maxTokens)
			}
		}
		if in := r.Record.TokensIn; in != nil && value(r.Record.TokensCached) > *in {
			t.Errorf("%d of %d cached", *r.Record.TokensCached, *in)
		}
	})
}

// value returns a count, 0 if there is none.
func value(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}
