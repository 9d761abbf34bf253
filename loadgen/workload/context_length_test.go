package workload

import (
	"fmt"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/traffic"
)

func TestPromptLengthsStayBelowTheServersLimit(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit int
		args  []string
		want  []traffic.Lengths
		says  string
	}{
		{"no limit known", 0, nil, []traffic.Lengths{{Min: 512, Max: 2048}}, ""},
		{"room enough", 32768, nil, []traffic.Lengths{{Min: 512, Max: 2048}}, ""},
		{"a set is clipped", 1512, nil, []traffic.Lengths{{Min: 512, Max: 1000}}, ""},
		{"long ones too", 20000, []string{"--prompts=long"}, []traffic.Lengths{{Min: 8192, Max: 19488}}, ""},
		{"nothing is left of a set", 600, nil, nil, "--prompts"},
		{"a given length is not clipped", 1512, []string{"--input-tokens=500:1001"}, nil, "--input-tokens"},
		{"a given length is clipped on demand", 1512, []string{"--input-tokens=500:1001", "--clip"}, []traffic.Lengths{{Min: 500, Max: 1000}}, ""},
		{"a given one that is too long altogether too", 1512, []string{"--input-tokens=5000", "--clip"}, []traffic.Lengths{{Min: 1000, Max: 1000}}, ""},
		{"a limit of the user", 0, []string{"--max-input-tokens=900", "--token-margin=0"}, []traffic.Lengths{{Min: 512, Max: 900}}, ""},
		{"the lower limit counts", 1512, []string{"--max-input-tokens=9000", "--token-margin=100"}, []traffic.Lengths{{Min: 512, Max: 1156}}, ""},
		{"the shared text counts", 1512, []string{"--shared-prefix-tokens=400"}, []traffic.Lengths{{Min: 512, Max: 600}}, ""},
		{"a given length that fits", 1512, []string{"--input-tokens=500:1000"}, []traffic.Lengths{{Min: 500, Max: 1000}}, ""},
	} {
		s, err := given(t, c.args...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Server{MaxTokens: c.limit}.fit(s, lengthsOf(s), s.outputTokens.Max)
		if fmt.Sprint(got) != fmt.Sprint(c.want) || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
}
