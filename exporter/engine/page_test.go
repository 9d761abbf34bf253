package engine

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/umascope/umascope/exporter/engine/spec"
)

func mustParse(t *testing.T, text string) spec.Page {
	t.Helper()
	parsed, err := parsePage(context.Background(), []byte(text), false)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

const engines = `# HELP vllm:kv_cache_usage_perc KV-cache usage with a \backslash.
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="a"} 0.25
vllm:kv_cache_usage_perc{engine="1",model_name="a"} NaN
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="a"} 66.0
vllm:prompt_tokens_total{engine="1",model_name="a"} 34.0 1768264339889
vllm:prompt_tokens_total{engine="1",model_name="a"} 34.0
# TYPE vllm:prompt_tokens_created gauge
vllm:prompt_tokens_created{engine="0",model_name="a"} 1.768264339889982e+09
# TYPE ttft histogram
ttft_bucket{le="0.1"} 2
ttft_bucket{le="0.5"} 3
ttft_bucket{le="+Inf"} 4
ttft_sum 1.5
ttft_count 4
# TYPE rpc summary
rpc{quantile="0.5"} NaN
rpc_sum 7
rpc_count 2
`

// only is the one value that a name has with these labels; false if there is none or several.
func only(p spec.Page, name string, match ...spec.Label) (float64, bool) {
	found := p.Series(name, match...)
	if len(found) != 1 {
		return 0, false
	}
	return found[0].Value, true
}

func TestSeriesAreFoundByNameAndLabels(t *testing.T) {
	p := mustParse(t, engines)
	if value, known := only(p, "vllm:prompt_tokens_total", spec.Label{Name: "engine", Value: "1"}); !known || value != 34 {
		t.Errorf("%v, %v: a series that stands twice counts once", value, known)
	}
	if _, known := only(p, "vllm:prompt_tokens_total"); known {
		t.Error("one value of two series")
	}
	if of := len(p.Series("vllm:prompt_tokens_total", spec.Label{Name: "model_name", Value: "a"})); of != 2 {
		t.Errorf("%d series of a model", of)
	}
	if of := p.Series("vllm:prompt_tokens_total", spec.Label{Name: "model_name", Value: "b"}); len(of) != 0 {
		t.Errorf("series of another model: %v", of)
	}
	if count, known := only(p, "ttft_count"); !known || count != 4 {
		t.Errorf("histogram: %v, %v", count, known)
	}
	if found := p.Series("vllm:kv_cache_usage_perc"); len(found) != 1 || found[0].Labels["engine"] != "0" {
		t.Errorf("%+v: what is no number is no reading", found)
	}
	if hasPrefix(p, "vllm:prompt_tokens_created") || !hasPrefix(p, "vllm:") || hasPrefix(p, "sglang:") {
		t.Error("prefixes")
	}
	if sum, known := only(p, "rpc_sum"); !known || sum != 7 || hasPrefix(p, "rpc{") {
		t.Errorf("summary: %v, %v", sum, known)
	}
}

// Programs that join the pages of several repeat the head of a family.
func TestRepeatedHeadsOfFamiliesAreTolerated(t *testing.T) {
	p := mustParse(t, "# HELP a x\n# TYPE a counter\na{w=\"1\"} 1\n# HELP a x\n# TYPE a counter\na{w=\"2\"} 2\n# TYPE b mystery\nb 3\n")
	if found := p.Series("a"); len(found) != 2 || found[0].Value+found[1].Value != 3 {
		t.Errorf("%v", found)
	}
	if b, known := only(p, "b"); !known || b != 3 {
		t.Errorf("%v, %v", b, known)
	}
}

const openText = `# TYPE requests counter
# UNIT requests requests
# HELP requests Requests, with "quotes".
requests_total{path="/a} 1,\"b\" # {"} 17.0 1768264339.889 # {trace_id="x"} 1 2.5
requests_created{path="/a} 1,\"b\" # {"} 1768264339.889
# TYPE build info
build_info{version="1"} 1
# TYPE temp gauge
temp 3.5 1.25
# TYPE lat histogram
lat_bucket{le="0.1"} 2 # {trace_id="y"} 0.05
lat_bucket{le="+Inf"} 2
lat_sum 0.1
lat_count 2
# EOF
`

func TestOpenMetricsIsRead(t *testing.T) {
	p, err := parsePage(t.Context(), []byte(openText), true)
	if err != nil {
		t.Fatal(err)
	}
	if value, known := only(p, "requests_total", spec.Label{Name: "path", Value: `/a} 1,"b" # {`}); !known || value != 17 {
		t.Errorf("%v, %v of %+v", value, known, p.Series("requests_total"))
	}
	if temp, known := only(p, "temp"); !known || temp != 3.5 {
		t.Errorf("%v, %v", temp, known)
	}
	if info, known := only(p, "build_info"); !known || info != 1 || hasPrefix(p, "requests_created") {
		t.Errorf("%v, %v", info, known)
	}
	if count, known := only(p, "lat_count"); !known || count != 2 {
		t.Errorf("%v, %v", count, known)
	}
}

func TestParserErrorsNameTheLineOfThePage(t *testing.T) {
	_, err := parsePage(context.Background(), []byte("# HELP a x\n# TYPE a gauge\n# just a remark\n\na 1\nb what\n"), false)
	if err == nil || !strings.Contains(err.Error(), "line 6") {
		t.Errorf("%v", err)
	}
}

func TestParsingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := parsePage(ctx, []byte(engines), false); err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("%v", err)
	}
}

func FuzzPage(f *testing.F) {
	for _, text := range []string{engines, page, openText, "", "a 1", "{\"b.c\"} 2\n", "# TYPE h histogram\nh_bucket{le=\"x\"} 1\n",
		"a{b=\"\\\"\",c=\"}\"} +Inf\n", "a -1 5\na_total 1\n# EOF\n"} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, open bool) {
		got, err := parsePage(t.Context(), text, open)
		if err != nil {
			return
		}
		lines, found := strings.Count(string(text), "\n"), 0
		for name, series := range got {
			found += len(series)
			for _, one := range series {
				if math.IsNaN(one.Value) || math.IsInf(one.Value, 0) || len(one.Labels) > maxLabels || !utf8.ValidString(name) {
					t.Fatalf("%s %+v", name, one)
				}
			}
		}
		// A distribution is three series at least; one without sum or count has them as 0.
		if found > 2*lines {
			t.Fatalf("%d series of %d lines", found, lines)
		}
		// A page that is cut has no more series than the whole one, or is none.
		if half, err := parsePage(t.Context(), text[:len(text)/2], open); err == nil && len(half) > len(got)+1 {
			t.Fatalf("%d families, %d of the first half", len(got), len(half))
		}
	})
}

func TestFamiliesOfAPage(t *testing.T) {
	page, err := parsePage(context.Background(), []byte(`# TYPE x_seconds histogram
x_seconds_bucket{le="+Inf"} 2
x_seconds_sum 3
x_seconds_count 2
x_count 7
x_tokens_total{a="1"} 1
x_tokens_total{a="2"} 1
y 1
`), false)
	if err != nil {
		t.Fatal(err)
	}
	if got := page.Families(prefixed("x_")); !slices.Equal(got, []string{"x_count", "x_seconds", "x_tokens_total"}) {
		t.Errorf("%q", got)
	}
	for name, want := range map[string]string{"x_seconds_sum": "x_seconds", "x_count": "x_count", "none_sum": "none_sum"} {
		if got := page.Family(name); got != want {
			t.Errorf("%s is of %s, want %s", name, got, want)
		}
	}
}

func hasPrefix(p spec.Page, prefix string) bool { return len(p.Families(prefixed(prefix))) > 0 }

func prefixed(prefix string) func(string) bool {
	return func(name string) bool { return strings.HasPrefix(name, prefix) }
}
