package telemetry

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/engine/supported"
)

const kvbmPage = `# TYPE kvbm_onboard_blocks_d2d counter
kvbm_onboard_blocks_d2d %d
# TYPE vllm:e2e_request_latency_seconds histogram
vllm:e2e_request_latency_seconds_bucket{le="+Inf"} 2
vllm:e2e_request_latency_seconds_sum 3.5
vllm:e2e_request_latency_seconds_count 2
# TYPE vllm:prompt_tokens_by_source_total counter
vllm:prompt_tokens_by_source_total{source="local_compute"} 7
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running 3
# TYPE python_gc_objects_collected_total counter
python_gc_objects_collected_total 12
`

func TestAForeignPageKeepsTheSeriesOfEnginesWithTheirSource(t *testing.T) {
	observations, err := parseForeign(fmt.Appendf(nil, kvbmPage, 5), "127.0.0.1:6880/metrics", supported.Engines())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range observations {
		got = append(got, fmt.Sprintf("%s %g %v", o.key, o.value, o.counter))
	}
	want := []string{
		`kvbm_onboard_blocks_d2d{source="127.0.0.1:6880/metrics"} 5 true`,
		`vllm:e2e_request_latency_seconds_count{source="127.0.0.1:6880/metrics"} 2 true`,
		`vllm:e2e_request_latency_seconds_sum{source="127.0.0.1:6880/metrics"} 3.5 true`,
		`vllm:num_requests_running{source="127.0.0.1:6880/metrics"} 3 false`,
		`vllm:prompt_tokens_by_source_total{exported_source="local_compute",source="127.0.0.1:6880/metrics"} 7 true`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("kept\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAForeignPageKeepsNoTimesOfCreation(t *testing.T) {
	observations, err := parseForeign([]byte(`# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total 5
# TYPE vllm:prompt_tokens_created gauge
vllm:prompt_tokens_created 1.7e+09
# TYPE vllm:e2e_request_latency_seconds summary
vllm:e2e_request_latency_seconds_sum 3
vllm:e2e_request_latency_seconds_count 2
# TYPE vllm:e2e_request_latency_seconds_created gauge
vllm:e2e_request_latency_seconds_created 1.7e+09
# TYPE vllm:sessions_created gauge
vllm:sessions_created 7
`), "h", supported.Engines())
	var names []string
	for _, o := range observations {
		names = append(names, o.name)
	}
	want := []string{"vllm:e2e_request_latency_seconds_count", "vllm:e2e_request_latency_seconds_sum", "vllm:prompt_tokens_total", "vllm:sessions_created"}
	if !slices.Equal(names, want) || err != nil {
		t.Errorf("kept %q (%v), want %q", names, err, want)
	}
}

func TestASeriesWithLabelsWithoutMeasureIsLeftOut(t *testing.T) {
	page := func(label int) []byte {
		return fmt.Appendf(nil, "kvbm_onboard_blocks_d2d{x=%q} 5\n", strings.Repeat("a", label))
	}
	for label, want := range map[int]int{maxLabelBytes - len("x"): 1, maxLabelBytes: 0} {
		if got, err := parseForeign(page(label), "h", supported.Engines()); len(got) != want || err != nil {
			t.Errorf("a label of %d bytes: %d series (%v), want %d", label, len(got), err, want)
		}
	}
}

func TestAForeignPageIsFollowedBesideAnExporterAndGivenAtBorders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t, func(host string, scrape int) (string, error) {
			if strings.HasPrefix(host, "spark") {
				return "uma_memory_pool_bytes 1\n", nil
			}
			return fmt.Sprintf(kvbmPage, scrape), nil
		}, Source{Name: "spark", URL: "http://spark"}, Source{Name: "kvbm", URL: "http://kvbm:6880", Foreign: true})
		pages := make(chan string, 10)
		o.Page = func(source string, border int, phase string, page []byte) {
			pages <- fmt.Sprintf("%s %d %s %d", source, border, phase, min(1, len(page)))
		}
		s := start(t, o)
		s.Mark("measure")
		time.Sleep(2500 * time.Millisecond)
		stop(t, s)
		close(pages)
		var given []string
		for page := range pages {
			given = append(given, page)
		}
		slices.Sort(given)
		if !slices.Equal(given, []string{"kvbm 0 measure 1", "spark 0 measure 1"}) {
			t.Errorf("pages at borders: %q", given)
		}
		log, err := Read(o.File)
		if err != nil {
			t.Fatal(err)
		}
		page := log.Source("kvbm")
		if !page.Foreign || log.Source("spark").Foreign || len(page.Series) != 5 || !page.Series[0].Counter {
			t.Fatalf("page %+v", page)
		}
		if grown, reset, ok := page.Series[0].Increase(log.Windows(page, "measure")[0]); !ok || reset || grown < 1 {
			t.Errorf("the counter grew by %v (reset %v, ok %v)", grown, reset, ok)
		}
	})
}

// FuzzParseForeign: on any page, every series is finite, belongs to an engine, has a source and comes once.
func FuzzParseForeign(f *testing.F) {
	f.Add(fmt.Appendf(nil, kvbmPage, 1))
	f.Add([]byte("kvbm_x NaN\nkvbm_y +Inf\nvllm:z{source=\"a\",exported_source=\"b\"} 1\n"))
	f.Add([]byte("# TYPE kvbm_x histogram\nkvbm_x_sum NaN\nkvbm_x_count 2\n"))
	f.Fuzz(func(t *testing.T, page []byte) {
		observations, err := parseForeign(page, "h:1/m", supported.Engines())
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, o := range observations {
			if math.IsNaN(o.value) || math.IsInf(o.value, 0) || rankOf(pagePrefixes(supported.Engines()), o.name) < 0 || o.labels["source"] != "h:1/m" || seen[o.key] {
				t.Fatalf("observation %+v of %q", o, page)
			}
			seen[o.key] = true
		}
	})
}
