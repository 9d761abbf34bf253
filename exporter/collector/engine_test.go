package collector

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/umascope/umascope/exporter/engine"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/exporter/hostfs"
)

// engineServer answers with pages by host and path; at other hosts nobody listens.
type engineServer map[string]string

func (s engineServer) RoundTrip(r *http.Request) (*http.Response, error) {
	body, there := s[r.URL.Host+r.URL.Path]
	status := http.StatusOK
	if !there {
		status = http.StatusNotFound
		for address := range s {
			if strings.HasPrefix(address, r.URL.Host+"/") {
				there = true
			}
		}
	}
	if !there {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	kind := "text/plain; version=0.0.4"
	if strings.HasPrefix(body, "{") {
		kind = "application/json"
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}}, ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// engineHost is a host with these pages, and options that name these addresses.
func engineHost(t *testing.T, server http.RoundTripper, addresses ...string) (Host, Options) {
	t.Helper()
	host, options := spark(t), Options{Sources: SourceOptions{Known: supported.Engines()}}
	host.HTTP = server
	for _, address := range addresses {
		at, err := engine.ParseEndpoint("http://" + address)
		if err != nil {
			t.Fatal(err)
		}
		options.Sources.Engines = append(options.Sources.Engines, at)
	}
	return host, options
}

const vllmPage = `vllm:num_requests_running{engine="0",model_name="org/m"} 2
vllm:num_requests_waiting{engine="0",model_name="org/m"} 7
vllm:kv_cache_usage_perc{engine="0",model_name="org/m"} 0.5
vllm:cache_config_info{engine="0",block_size="16",num_gpu_blocks="1000",kv_cache_memory_bytes="4096000"} 1
vllm:prefix_cache_queries_total{engine="0",model_name="org/m"} 100
vllm:prefix_cache_hits_total{engine="0",model_name="org/m"} 40
vllm:external_prefix_cache_hits_total{engine="0",model_name="org/m"} 25
vllm:num_preemptions_total{engine="0",model_name="org/m"} 3
vllm:prompt_tokens_total{engine="0",model_name="org/m"} 100
vllm:generation_tokens_total{engine="0",model_name="org/m"} 12
`

func TestAnEngineWorkedOutByHand(t *testing.T) {
	host, options := engineHost(t, engineServer{"127.0.0.1:8000/metrics": vllmPage, "127.0.0.1:8000/version": `{"version":"0.12.0"}`}, "127.0.0.1:8000")
	series, outcome := page(t, engineSpec(), host, options)
	if outcome.State != OK {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	of := func(more string) string { return `{` + more + `model="org/m",source="127.0.0.1:8000/metrics"` }
	wantSeries(t, series, map[string]float64{
		`uma_engine_up{source="127.0.0.1:8000/metrics"}`:                                                                   1,
		`uma_engine_info` + of(`engine="vllm",`) + `,version="0.12.0"}`:                                                    1,
		`uma_engine_kv_capacity_blocks` + of("") + `}`:                                                                     1000,
		`uma_engine_kv_capacity_tokens` + of("") + `}`:                                                                     16000,
		`uma_engine_kv_capacity_bytes` + of("") + `}`:                                                                      4096000,
		`uma_engine_kv_used_ratio` + of("") + `}`:                                                                          0.5,
		`uma_engine_kv_used_tokens` + of("") + `}`:                                                                         8000,
		`uma_engine_preemptions_total` + of("") + `}`:                                                                      3,
		`uma_engine_requests` + of("") + `,state="running"}`:                                                               2,
		`uma_engine_requests` + of("") + `,state="waiting"}`:                                                               7,
		`uma_engine_tokens_total` + of(`direction="prompt",`) + `}`:                                                        100,
		`uma_engine_tokens_total` + of(`direction="generation",`) + `}`:                                                    12,
		`uma_engine_prefix_cache_tokens_total{model="org/m",result="hit",source="127.0.0.1:8000/metrics",tier="device"}`:   40,
		`uma_engine_prefix_cache_tokens_total{model="org/m",result="hit",source="127.0.0.1:8000/metrics",tier="external"}`: 25,
		`uma_engine_prefix_cache_tokens_total{model="org/m",result="miss",source="127.0.0.1:8000/metrics",tier="none"}`:    35,
	})
	wantAbsent(t, series, "uma_engine_prefix_cache_blocks", "uma_engine_kv_tier")
}

func TestTheCopiesOfAnEnginesOwnTiersAreSeriesByRoute(t *testing.T) {
	text, err := os.ReadFile("../engine/testdata/sglang-0.5.23-constructed.prom")
	if err != nil {
		t.Fatal(err)
	}
	host, options := engineHost(t, engineServer{"127.0.0.1:30000/metrics": string(text)}, "127.0.0.1:30000")
	series, _ := page(t, engineSpec(), host, options)
	of := func(from, to string) string {
		return `{from="` + from + `",model="m",source="127.0.0.1:30000/metrics",to="` + to + `"}`
	}
	wantSeries(t, series, map[string]float64{
		`uma_engine_kv_moved_bytes_total` + of("device", "host"):                         2 << 32,
		`uma_engine_kv_moved_bytes_total` + of("host", "device"):                         2 << 30,
		`uma_engine_kv_moved_tokens_total` + of("device", "host"):                        65536,
		`uma_engine_kv_moved_tokens_total` + of("host", "device"):                        16384,
		`uma_engine_kv_moved_tokens_total` + of("host", "disk"):                          32768,
		`uma_engine_kv_moved_tokens_total` + of("disk", "host"):                          6400,
		`uma_engine_kv_evicted_tokens_total{model="m",source="127.0.0.1:30000/metrics"}`: 70000,
	})
	wantAbsent(t, series, `uma_engine_kv_moved_bytes_total`+of("disk", "host"))
}

func TestATierInFilesSaysWhetherItUsesThePageCache(t *testing.T) {
	const text = `vllm:num_requests_running{engine="0",model_name="m"} 1
vllm:simple_kv_offload_info{backend="disk",capacity_blocks="4000",engine="0",lazy_offload="false",model_name="m",page_cache="true"} 1
`
	host, options := engineHost(t, engineServer{"127.0.0.1:8000/metrics": text}, "127.0.0.1:8000")
	series, _ := page(t, engineSpec(), host, options)
	wantSeries(t, series, map[string]float64{`uma_engine_kv_tier_direct_io{model="m",source="127.0.0.1:8000/metrics",tier="disk"}`: 0})
}

// TestEveryVariableThatMovesAPortIsRead: of another process's environment only listed variables are kept.
func TestEveryVariableThatMovesAPortIsRead(t *testing.T) {
	for _, e := range supported.Engines() {
		for _, name := range e.Variables {
			if !slices.Contains(hostfs.EnvironVariables(), name) {
				t.Errorf("%s: %s is not read", e.Name, name)
			}
		}
	}
}

func TestAnEngineThatIsNotRunningIsAbsentAndOneInTroubleFailed(t *testing.T) {
	host, options := engineHost(t, engineServer{}, "127.0.0.1:8000", "127.0.0.1:8001")
	series, outcome := page(t, engineSpec(), host, options)
	if outcome.State != Absent {
		t.Errorf("nobody listens: %s, %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{`uma_engine_up{source="127.0.0.1:8000/metrics"}`: 0, `uma_engine_up{source="127.0.0.1:8001/metrics"}`: 0})

	host, options = engineHost(t, engineServer{"127.0.0.1:8000/metrics": vllmPage, "127.0.0.1:8001/metrics": "up 1\n"}, "127.0.0.1:8000", "127.0.0.1:8001", "127.0.0.1:8002")
	series, outcome = page(t, engineSpec(), host, options)
	if outcome.State != Failed || !strings.Contains(outcome.Err.Error(), "127.0.0.1:8001/metrics: not the page of a known engine") {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{
		`uma_engine_up{source="127.0.0.1:8000/metrics"}`: 1, `uma_engine_up{source="127.0.0.1:8001/metrics"}`: 0, `uma_engine_up{source="127.0.0.1:8002/metrics"}`: 0,
	})

	if _, outcome = page(t, engineSpec(), spark(t), Options{Sources: SourceOptions{Known: supported.Engines()}}); outcome.State != Absent {
		t.Errorf("no sources: %s, %v", outcome.State, outcome.Err)
	}
}

// TestCountersOfAnEngineThatRestartsAreShownAsTheyAre follows one through a restart, its absence and another
// engine in its place.
func TestCountersOfAnEngineThatRestartsAreShownAsTheyAre(t *testing.T) {
	server := engineServer{}
	host, options := engineHost(t, server, "127.0.0.1:8000")
	runner := NewRunner(host, options, []Spec{engineSpec()}, RunnerSettings{})
	lookups := func(queried, hit int) string {
		return fmt.Sprintf("vllm:num_requests_running{model_name=\"m\"} 0\nvllm:prefix_cache_queries_total{model_name=\"m\"} %d\nvllm:prefix_cache_hits_total{model_name=\"m\"} %d\n", queried, hit)
	}
	const prefix = `uma_engine_prefix_cache_tokens_total{model="m",`
	const hits, misses = prefix + `result="hit",source="127.0.0.1:8000/metrics",tier="device"}`, prefix + `result="miss",source="127.0.0.1:8000/metrics",tier="none"}`
	for _, step := range []struct {
		what          string
		queried, hit  int
		hits, misses  float64
		there, missed bool
	}{
		{"first", 100, 40, 40, 60, true, true},
		{"hits counted before their lookups", 100, 45, 45, 60, true, true},
		{"in trouble for a moment", -1, -1, 0, 0, false, false},
		{"hits counted before their lookups still", 100, 46, 46, 60, true, true},
		{"caught up", 120, 50, 50, 70, true, true},
		{"restarted", 10, 4, 4, 6, true, true},
		{"more hits than lookups, from the start", 0, 5, 5, 0, true, false},
	} {
		server["127.0.0.1:8000/metrics"] = lookups(step.queried, step.hit)
		if !step.there {
			server["127.0.0.1:8000/metrics"] = "no page of metrics\n"
		}
		series := gather(t, mustScrape(t, runner, t.Context()))
		if series[hits] != step.hits || series[misses] != step.misses {
			t.Errorf("%s: %v hits, %v misses; want %v and %v", step.what, series[hits], series[misses], step.hits, step.misses)
		}
		if _, there := series[hits]; there != step.there {
			t.Errorf("%s: hits are there: %v", step.what, there)
		}
		if _, there := series[misses]; there != step.missed {
			t.Errorf("%s: misses are there: %v", step.what, there)
		}
	}
	delete(server, "127.0.0.1:8000/metrics")
	series := gather(t, mustScrape(t, runner, t.Context()))
	wantSeries(t, series, map[string]float64{`uma_engine_up{source="127.0.0.1:8000/metrics"}`: 0})
	wantAbsent(t, series, "uma_engine_prefix", "uma_engine_info", "uma_engine_requests")
	server["127.0.0.1:8000/metrics"] = "llamacpp:requests_processing 1\n"
	series = gather(t, mustScrape(t, runner, t.Context()))
	wantSeries(t, series, map[string]float64{
		`uma_engine_info{engine="llamacpp",model="",source="127.0.0.1:8000/metrics",version=""}`: 1,
		`uma_engine_requests{model="",source="127.0.0.1:8000/metrics",state="running"}`:          1,
	})
	wantAbsent(t, series, "uma_engine_prefix")
}

// TestAnEngineThatHangsCostsOnlyItself lets one of two never answer.
func TestAnEngineThatHangsCostsOnlyItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hanging := hangingAt{"8001", engineServer{"127.0.0.1:8000/metrics": vllmPage}}
		host, options := engineHost(t, hanging, "127.0.0.1:8000", "127.0.0.1:8001")
		runner := NewRunner(host, options, []Spec{engineSpec()}, RunnerSettings{})
		series := gather(t, mustScrape(t, runner, t.Context()))
		wantSeries(t, series, map[string]float64{
			`uma_engine_up{source="127.0.0.1:8000/metrics"}`: 1, `uma_engine_up{source="127.0.0.1:8001/metrics"}`: 0,
			`uma_engine_preemptions_total{model="org/m",source="127.0.0.1:8000/metrics"}`: 3,
		})
	})
}

// hangingAt never answers at one port.
type hangingAt struct {
	port   string
	others http.RoundTripper
}

func (h hangingAt) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Port() != h.port {
		return h.others.RoundTrip(r)
	}
	<-r.Context().Done()
	return nil, errors.New("gave up")
}
