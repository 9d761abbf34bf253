package main

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// server has the expected properties of one of the files of servers/.
type server struct {
	name     string
	software string   // display name
	engine   string   // what check has to name
	gateway  string   // before it, if any
	url      string   // where uma-load sends
	pages    []string // the engine's pages of metrics
	exact    bool     // takes ignore_eos, so that answers have the length asked for

	model     string   // to ask for; empty: the only listed one
	uncounted []string // figures of a load that the server does not count at all

	version func(world) string   // of the engine, from the engine itself
	title   func(world) string   // version in the table, if it is another
	context func(world) string   // longest prompt with its answer, in tokens
	counts  func(world) counts   // of requests that ended, and their tokens
	machine func(world) counts   // expected series of uma-exporter's page
	grades  map[string]string    // whether the replayed prompts are answered from a cache, by scenario
	why     map[[2]string]string // what is expected to differ: asked and figure, and the reason
	records map[string]string    // pages to record: file of exporter/engine/testdata, with VERSION in it, and URL
}

// counts are figures by name. What a server does not count is absent.
type counts map[string]float64

// minus returns what was added since before.
func (c counts) minus(before counts) counts {
	d := counts{}
	for name, value := range c {
		d[name] = value - before[name]
	}
	return d
}

// Figures of a load, in the order of the table.
const (
	requests  = "requests"
	tokensIn  = "tokens in"
	tokensOut = "tokens out"
	cached    = "cached tokens"
)

// world is the state of a server at one moment.
type world struct {
	ctx    context.Context
	folder string
	pages  map[string]page
}

// look reads the server's pages.
func look(ctx context.Context, s server, folder string) (world, error) {
	w := world{ctx: ctx, folder: folder, pages: map[string]page{}}
	var errs []error
	for _, url := range s.pages {
		text, err := get(ctx, url)
		w.pages[url], errs = page(text), append(errs, err)
	}
	return w, errors.Join(errs...)
}

func (w world) log(name string) string { return readLog(filepath.Join(w.folder, name+".log")) }

// answer reads a URL of the server, empty if it cannot be read.
func (w world) answer(url string) string {
	text, err := get(w.ctx, url)
	if err != nil {
		return ""
	}
	return text
}

// sum adds a metric up over all pages.
func (w world) sum(metric string, labels ...string) (float64, bool) {
	var total float64
	found := false
	for _, url := range slices.Sorted(maps.Keys(w.pages)) {
		value, ok := w.pages[url].sum(metric, labels...)
		total, found = total+value, found || ok
	}
	return total, found
}

// sums adds up the metrics that exist.
func (w world) sums(metrics map[string]string) counts {
	c := counts{}
	for name, metric := range metrics {
		if value, ok := w.sum(metric); ok {
			c[name] = value
		}
	}
	return c
}

const local = "http://127.0.0.1:"

// Figures of uma-exporter's page that are compared with the engine's.
const (
	promptTokens = "prompt tokens"
	generated    = "generated tokens"
	hits         = "hits"
	misses       = "misses"
	preemptions  = "preemptions"
	kvBlocks     = "KV blocks"
	kvTokens     = "KV tokens"
	kvBytes      = "KV bytes"
)

// exported lists them with their series.
var exported = []struct{ figure, metric, label string }{
	{promptTokens, "uma_engine_tokens_total", `direction="prompt"`},
	{generated, "uma_engine_tokens_total", `direction="generation"`},
	{hits, "uma_engine_prefix_cache_tokens_total", `result="hit"`},
	{misses, "uma_engine_prefix_cache_tokens_total", `result="miss"`},
	{preemptions, "uma_engine_preemptions_total", ""},
	{kvBlocks, "uma_engine_kv_capacity_blocks", ""},
	{kvTokens, "uma_engine_kv_capacity_tokens", ""},
	{kvBytes, "uma_engine_kv_capacity_bytes", ""},
}

// servers lists all of them.
func servers() []server {
	return []server{vllm("vllm"), dynamo("dynamo-vllm", 1), dynamo("dynamo-vllm-2", 2), dynamo("dynamo-sglang", 1), dynamo("dynamo-sglang-2", 2), gateway("smg", "smg", "SMG"), gateway("sglang-router", "sglang-router", "SGLang's router"), gateway("litellm", "LiteLLM", "LiteLLM"), llama(), ollama()}
}

// vllm is the engine itself, on its own or behind a gateway.
func vllm(name string) server {
	const url = local + "8000"
	return server{
		name: name, software: "vLLM for the CPU", engine: "vllm", url: url, pages: []string{url + "/metrics"}, exact: true,
		version: func(w world) string { return find(w.log("vllm"), `(?:API server )?version (\d+\.\d+\.\d+)`) },
		context: func(w world) string { return find(w.log("vllm"), `max_seq_len=(\d+)`) },
		counts: func(w world) counts {
			c := w.sums(map[string]string{tokensIn: "vllm:prompt_tokens_total", tokensOut: "vllm:generation_tokens_total", cached: "vllm:prefix_cache_hits_total"})
			stop, _ := w.sum("vllm:request_success_total", `finished_reason="stop"`)
			length, ok := w.sum("vllm:request_success_total", `finished_reason="length"`)
			if ok {
				c[requests] = stop + length
			}
			return c
		},
		machine: func(w world) counts {
			c := w.sums(map[string]string{
				promptTokens: "vllm:prompt_tokens_total", generated: "vllm:generation_tokens_total",
				hits: "vllm:prefix_cache_hits_total", misses: "vllm:prefix_cache_queries_total", preemptions: "vllm:num_preemptions_total",
			})
			c[misses] -= c[hits]
			p := w.pages[url+"/metrics"]
			c[kvBlocks] = number(p.label("vllm:cache_config_info", "num_gpu_blocks"))
			c[kvTokens] = number(find(w.log("vllm"), `KV cache size: ([\d,]+) tokens`))
			// Keys and values, 2 bytes each.
			c[kvBytes] = c[kvTokens] * layers * 2 * kvHeads * headSize * 2
			return c
		},
		grades: map[string]string{"reuse_verify": "yes", "eviction_replay": "no", "rehydrate_replay": "no"},
		why: map[[2]string]string{
			{"exporter", kvBytes}: "its page has the setting of KV memory, which --num-gpu-blocks-override overrules",
		},
		records: map[string]string{"vllm-VERSION-cpu.prom": url + "/metrics"},
	}
}

// gateway is one before vLLM, whose counts are those of the load. Its own version is what was installed.
func gateway(name, called, software string) server {
	s := vllm(name)
	version := s.version
	s.software, s.gateway, s.url, s.records = software, called, local+"8100", nil
	s.title = func(w world) string {
		return find(readLog(filepath.Join(w.folder, "version")), `==(\S+)`) + " before vLLM " + version(w)
	}
	s.why[[2]string{"check", "context"}] = "its model list does not have the context"
	if name == "sglang-router" {
		s.model = "tiny-llama" // it lists one model, "unknown", and passes any name on
	}
	return s
}

// dynamo is its frontend before mocker workers. Requests and tokens are those of the frontend, blocks those of the workers.
func dynamo(name string, workers int) server {
	const url = local + "8000"
	pages := []string{url + "/metrics", local + "8001/metrics", local + "8002/metrics"}[:1+workers]
	frontend := func(w world) page { return w.pages[pages[0]] }
	kind := strings.TrimPrefix(name, "dynamo")
	var why map[[2]string]string
	grades := map[string]string{"reuse_verify": "yes", "eviction_replay": "no", "rehydrate_replay": "no"}
	if workers > 1 {
		// What two workers evict depends on how the router shares the prompts.
		delete(grades, "eviction_replay")
		delete(grades, "rehydrate_replay")
		const reason = "its page has the blocks of one worker, and not how many workers there are"
		why = map[[2]string]string{{"exporter", kvBlocks}: reason, {"exporter", kvTokens}: reason}
	}
	if strings.Contains(name, "sglang") { // whose mocker reports no cached tokens
		grades = map[string]string{"reuse_verify": "not observable", "eviction_replay": "not observable", "rehydrate_replay": "not observable"}
	}
	return server{
		name: name, software: "Dynamo, mocker workers", engine: "dynamo", url: url, pages: pages, exact: true,
		version: func(w world) string { return find(w.answer(url+"/openapi.json"), `"version":\s*"([^"]+)"`) },
		context: func(w world) string {
			if value, _ := frontend(w).sum("dynamo_frontend_model_context_length"); value > 0 {
				return decimal(value)
			}
			return "" // the mocker does not report it
		},
		counts: func(w world) counts {
			c := counts{}
			for name, metric := range map[string]string{
				requests: "dynamo_frontend_requests_total", tokensIn: "dynamo_frontend_input_sequence_tokens_sum",
				tokensOut: "dynamo_frontend_output_tokens_total",
			} {
				if value, ok := frontend(w).sum(metric); ok {
					c[name] = value
				}
			}
			if reported, ok := reportedHits(frontend(w)); ok {
				c[cached] = reported
			}
			return c
		},
		machine: func(w world) counts {
			p := frontend(w)
			c := counts{kvBlocks: float64(800 * workers), kvTokens: float64(800 * 16 * workers)} // as servers/dynamo-vllm starts them
			c[promptTokens], _ = p.sum("dynamo_frontend_input_sequence_tokens_sum")
			c[generated], _ = p.sum("dynamo_frontend_output_tokens_total")
			if reported, ok := reportedHits(p); ok {
				c[hits], c[misses] = reported, c[promptTokens]-reported
			}
			if n, ok := w.sum("vllm:num_preemptions_total"); ok {
				c[preemptions] = n
			}
			return c
		},
		why: why, grades: grades,
		records: map[string]string{
			"dynamo-VERSION-frontend" + kind + ".prom": pages[0], "dynamo-VERSION-worker-mocker" + kind + ".prom": pages[1],
		},
	}
}

// llama is llama.cpp's server. It counts prompt tokens that were computed apart from those of its cache, and no requests:
// these are lines of its log.
func llama() server {
	const url = local + "8000"
	return server{
		name: "llama.cpp", software: "llama.cpp for the CPU, build", engine: "llamacpp", url: url, pages: []string{url + "/metrics"}, exact: true,
		version: func(w world) string { return find(w.answer(url+"/props"), `"build_info":"([^"]+)"`) },
		context: func(w world) string { return find(w.answer(url+"/props"), `"n_ctx":(\d+)`) },
		counts: func(w world) counts {
			c := w.sums(map[string]string{tokensIn: "llamacpp:prompt_tokens_total", tokensOut: "llamacpp:tokens_predicted_total", cached: "llamacpp:prompt_tokens_cached_total"})
			c[tokensIn] += c[cached]
			c[requests] = float64(strings.Count(w.log("llama"), "stop processing: n_tokens"))
			return c
		},
		machine: func(w world) counts {
			c := w.sums(map[string]string{
				misses: "llamacpp:prompt_tokens_total", generated: "llamacpp:tokens_predicted_total", hits: "llamacpp:prompt_tokens_cached_total",
			})
			c[promptTokens] = c[hits] + c[misses]
			c[kvTokens] = number(find(w.log("llama"), `n_slots = (\d+)`)) * number(find(w.log("llama"), `n_ctx_slot = (\d+)`))
			return c
		},
		why: map[[2]string]string{
			{"exporter", kvTokens}: "several slots: the answer does not show whether they share one cache",
		},
		records: map[string]string{"llamacpp-VERSION-cpu.prom": url + "/metrics"},
	}
}

// ollama is Ollama with its debug log, in which the runner shows each prompt and its part in the cache.
func ollama() server {
	const url = local + "8000"
	slot := regexp.MustCompile(`msg="loading cache slot".* prompt=(\d+) used=(\d+)`)
	ended := regexp.MustCompile(`\| 200 \|.* POST +"/v1/`)
	return server{
		name: "ollama", software: "Ollama", engine: "openai", url: url, uncounted: []string{tokensOut},
		version: func(w world) string { return find(w.answer(url+"/api/version"), `"version":"([^"]+)"`) },
		title:   func(w world) string { return find(readLog(filepath.Join(w.folder, "version")), `v(\S+)`) },
		context: func(w world) string { return "" },
		counts: func(w world) counts {
			log := w.log("ollama")
			c := counts{requests: float64(len(ended.FindAllString(log, -1))), tokensIn: 0, cached: 0}
			for _, m := range slot.FindAllStringSubmatch(log, -1) {
				c.add(counts{tokensIn: number(m[1]), cached: number(m[2])})
			}
			return c
		},
		machine: func(world) counts { return counts{} },
		grades:  map[string]string{"reuse_verify": "not observable", "eviction_replay": "not observable", "rehydrate_replay": "not observable"},
		why: map[[2]string]string{
			{"*", cached}: "its answers do not report cached tokens",
		},
	}
}

// reportedHits returns the cached tokens that the workers reported to the frontend, if they report any: workers of kind
// sglang do not.
func reportedHits(p page) (float64, bool) {
	if n, _ := p.sum("dynamo_frontend_cached_tokens_count"); n == 0 {
		return 0, false
	}
	return p.sum("dynamo_frontend_cached_tokens_sum")
}
