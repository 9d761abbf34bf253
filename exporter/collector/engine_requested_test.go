package collector

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// dynamoFrontend is a page with these counts: requests begun and ended, their tokens, and requests in flight.
func dynamoFrontend(begun, prompt, reported, cached, inflight float64) string {
	return fmt.Sprintf(`dynamo_frontend_inflight_requests{model="m"} %v
dynamo_frontend_input_sequence_tokens_sum{model="m"} %v
dynamo_frontend_input_sequence_tokens_count{model="m"} %v
dynamo_frontend_cached_tokens_sum{model="m"} %v
dynamo_frontend_cached_tokens_count{model="m"} %v
`, inflight, prompt, begun, cached, reported)
}

// TestMissesOfADynamoFrontendAreThoseOfRequestsThatEnded: input tokens are observed when a request begins,
// cached tokens when it ends.
func TestMissesOfADynamoFrontendAreThoseOfRequestsThatEnded(t *testing.T) {
	const of = `uma_engine_prefix_cache_tokens_total{model="m",result=`
	const hits, misses = of + `"hit",source="127.0.0.1:8000/metrics",tier="any"}`, of + `"miss",source="127.0.0.1:8000/metrics",tier="none"}`
	server := engineServer{}
	host, options := engineHost(t, server, "127.0.0.1:8000")
	runner := NewRunner(host, options, []Spec{engineSpec()}, RunnerSettings{})
	for _, step := range []struct {
		what, page   string
		hits, misses float64 // -1: absent
	}{
		{"first request in flight", dynamoFrontend(1, 7201, 0, 0, 1), -1, -1},
		{"it ended, all missed", dynamoFrontend(1, 7201, 1, 0, 0), 0, 7201},
		{"four warm ones in flight", dynamoFrontend(5, 5*7201, 1, 0, 4), 0, 7201},
		{"two of them ended", dynamoFrontend(5, 5*7201, 3, 2*7200, 2), 0, 7201},
		{"all ended", dynamoFrontend(5, 5*7201, 5, 4*7200, 0), 4 * 7200, 7201 + 4},
		{"one more, cancelled: its cached tokens are never reported", dynamoFrontend(6, 6*7201, 5, 4*7200, 0), 4 * 7200, 7201 + 4},
		{"one after it in flight", dynamoFrontend(7, 7*7201, 5, 4*7200, 1), 4 * 7200, 7201 + 4},
		{"it ended", dynamoFrontend(7, 7*7201, 6, 5*7200, 0), 5 * 7200, 7201 + 5},
		{"the frontend began anew", dynamoFrontend(1, 100, 1, 40, 0), 40, 60},
	} {
		server["127.0.0.1:8000/metrics"] = step.page
		series := gather(t, mustScrape(t, runner, t.Context()))
		for name, want := range map[string]float64{hits: step.hits, misses: step.misses} {
			if value, there := series[name]; there != (want >= 0) || there && value != want {
				t.Errorf("%s: %s is %v (there: %v), want %v", step.what, name, value, there, want)
			}
		}
	}
}

// TestARecordedDynamoFrontend reads pages of Dynamo 1.6.1: of one that reports cached tokens, and of one whose
// engine does not.
func TestARecordedDynamoFrontend(t *testing.T) {
	const of = `uma_engine_prefix_cache_tokens_total{model="Tiny-Llama-8B",result=`
	recorded := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", "engine", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	server := engineServer{}
	host, options := engineHost(t, server, "127.0.0.1:8000")
	runner := NewRunner(host, options, []Spec{engineSpec()}, RunnerSettings{})
	for _, name := range []string{"dynamo-1.6.1-frontend-two-workers.prom", "dynamo-1.6.1-frontend-two-workers-request-in-flight.prom"} {
		server["127.0.0.1:8000/metrics"] = recorded(name)
		wantSeries(t, gather(t, mustScrape(t, runner, t.Context())), map[string]float64{
			of + `"hit",source="127.0.0.1:8000/metrics",tier="any"}`:   3 * 2192,
			of + `"miss",source="127.0.0.1:8000/metrics",tier="none"}`: 8800 - 3*2192,
		})
	}
	server["127.0.0.1:8000/metrics"] = recorded("dynamo-1.6.1-frontend-sglang.prom")
	series, _ := page(t, engineSpec(), host, options)
	wantAbsent(t, series, "uma_engine_prefix_cache")
}

// FuzzRequestedCount lets requests begin, end and be cancelled between readings. Whatever happens, no more hits or
// misses are counted than those of requests that ended, none is taken back, and without a cancelled one all are
// counted once no request is in flight.
func FuzzRequestedCount(f *testing.F) {
	f.Add([]byte{0, 3, 1, 3, 0, 0, 3, 1, 3, 1, 3})
	f.Add([]byte{0, 2, 3, 0, 1, 3})
	f.Fuzz(func(t *testing.T, steps []byte) {
		var page spec.RequestedTokens
		var count requestedCount
		var inFlight []float64 // tokens of prompts
		var hits, misses float64
		cancelled := false
		for i, step := range steps {
			switch {
			case step%4 == 0:
				tokens := float64(1 + int(step)*(i+1))
				inFlight = append(inFlight, tokens)
				page.Begun, page.Prompt = page.Begun+1, page.Prompt+tokens
			case step%4 == 3:
				page.Idle = len(inFlight) == 0
				before := count
				count = count.next(page)
				if count.hits < before.hits || count.misses < before.misses || count.hits > hits || count.misses > misses {
					t.Fatalf("step %d: %+v after %+v; truth %v hits, %v misses", i, count, before, hits, misses)
				}
				if page.Idle && !cancelled && (count.hits != hits || count.misses != misses) {
					t.Fatalf("step %d: idle, %+v; truth %v hits, %v misses", i, count, hits, misses)
				}
			case len(inFlight) == 0:
			case step%4 == 1:
				tokens := inFlight[0]
				found := float64(int(tokens) * (int(step) % 3) / 2)
				inFlight = inFlight[1:]
				page.Reported, page.Cached = page.Reported+1, page.Cached+found
				hits, misses = hits+found, misses+tokens-found
			default:
				inFlight, cancelled = inFlight[1:], true
			}
		}
	})
}
