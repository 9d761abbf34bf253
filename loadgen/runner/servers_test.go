package runner

import (
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/server"
)

// serving is a subject with what a server says of itself.
func serving(url, version string, maxTokens int, fields ...openai.Field) *subject {
	return &subject{target: server.Target{URL: url}, served: server.Served{Version: version, Model: server.Model{MaxTokens: maxTokens}, Fields: fields}}
}

func TestRequestsAreThoseThatAllServersTake(t *testing.T) {
	for _, c := range []struct {
		name   string
		all    subjects
		tokens int
		fields []openai.Field
	}{
		{"one", subjects{serving("a", "1", 4096, "x", "y")}, 4096, []openai.Field{"x", "y"}},
		{"the shorter limit", subjects{serving("a", "1", 8192), serving("b", "1", 4096)}, 4096, nil},
		{"an unknown limit", subjects{serving("a", "1", 0), serving("b", "1", 4096)}, 4096, nil},
		{"fields of both", subjects{serving("a", "1", 0, "x", "y"), serving("b", "1", 0, "y", "z")}, 0, []openai.Field{"y"}},
		{"unknown fields of one", subjects{serving("a", "1", 0), serving("b", "1", 0, "y")}, 0, []openai.Field{"y"}},
	} {
		if tokens, fields := c.all.maxTokens(), c.all.fields(); tokens != c.tokens || !slices.Equal(fields, c.fields) {
			t.Errorf("%s: %d tokens, fields %q", c.name, tokens, fields)
		}
	}
	if none := (subjects{serving("a", "1", 0, "x"), serving("b", "1", 0, "y")}).fields(); none == nil {
		t.Error("servers without a field in common get the fields of their vendor")
	}
}

func TestServersOfDifferentVersionsAreWarnedAbout(t *testing.T) {
	if w := (subjects{serving("a", "1", 4096), serving("b", "1", 4096)}).differences(); len(w) > 0 {
		t.Errorf("%q", w)
	}
	w := subjects{serving("http://a", "0.10.1", 4096), serving("http://b", "0.11.0", 8192)}.differences()
	if len(w) != 2 || !strings.Contains(w[0], "limits of tokens of a request: http://a 4096, http://b 8192") || !strings.Contains(w[1], "versions of the engine: http://a 0.10.1, http://b 0.11.0") {
		t.Errorf("%q", w)
	}
}
