package subprocess

import (
	"slices"
	"strings"
	"testing"
)

func TestTheServerOfABenchmarkIsThatOfItsOptions(t *testing.T) {
	for args, want := range map[string]string{
		"vllm bench serve --base-url http://10.0.0.5:8000 --model m":               "http://10.0.0.5:8000",
		"python -m sglang.bench_serving --host 10.0.0.5 --port 30000":              "10.0.0.5",
		"genai-bench benchmark --api-base=http://spark-2:8000 --task text-to-text": "http://spark-2:8000",
		"aiperf profile -u spark-2:8000":                                           "spark-2:8000",
		"guidellm benchmark --target http://[::1]:8000":                            "http://[::1]:8000",
		"trtllm-bench --model m throughput --dataset https://example.com/d.json":   "",
		"bench --url":            "",
		"bench --url --model m":  "",
		"bench --base-url-other": "",
	} {
		if got := ServerAddress(strings.Fields(args)); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}

// FuzzServerAddress: what is found is an argument, or what follows the = of one.
func FuzzServerAddress(f *testing.F) {
	f.Add("--url http://a\x00--x")
	f.Add("--host=")
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Split(text, "\x00")
		found := ServerAddress(args)
		if found != "" && !slices.ContainsFunc(args, func(arg string) bool { return arg == found || strings.HasSuffix(arg, "="+found) }) {
			t.Errorf("%q: %q", args, found)
		}
	})
}
