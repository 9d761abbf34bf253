package summary

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/evidence"
)

func countOf(value float64) evidence.Count { return evidence.Count{Value: value, Known: true} }

// recorded is a page as it came.
func recordedPage(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The pages of a run of reuse_verify on vLLM 0.32.0 without --enable-prompt-tokens-details, whose answers therefore reported
// no cached tokens: 4 prompts of 5,575 tokens in all, then the same again. Histogram buckets, creation times and series of the
// process are left out.
func TestHitsAreReadFromTheRealPageOfVLLM(t *testing.T) {
	page := func(name string) string { return recordedPage(t, "vllm-0.32.0-cpu-reuse-"+name+".prom") }
	live := kvMode(metric.ModeLive)
	for _, exporter := range [][2]string{{}, {live, live}} { // beside an exporter a page has less room
		for _, c := range []struct {
			from, to string
			found    float64
		}{{"first", "again", 0}, {"again", "end", 5376}} {
			want := evidence.Hits{
				Found: countOf(c.found), Looked: countOf(5575), Device: countOf(c.found), Host: countOf(0), Disk: countOf(0), Elsewhere: countOf(0),
			}
			w := counters{turned(t, exporter, [2]string{page(c.from), page(c.to)}), false, []string{"spark"}}
			if got := w.hits([]string{"a"}, 5575); got != want {
				t.Errorf("%s to %s: %+v, want %+v", c.from, c.to, got, want)
			}
		}
		// vLLM before 0.32 counts no tiers.
		older := func(name string) string {
			var kept []string
			for line := range strings.Lines(page(name)) {
				if !strings.Contains(line, "by_source") {
					kept = append(kept, line)
				}
			}
			return strings.Join(kept, "")
		}
		w := counters{turned(t, exporter, [2]string{older("again"), older("end")}), false, []string{"spark"}}
		if got := w.hits([]string{"a"}, 5575); got.Found != countOf(5376) || got.Looked != countOf(5575) || got.Disk.Known || got.Elsewhere != countOf(0) {
			t.Errorf("without tiers: %+v", got)
		}
	}
}

// Pages of vLLM, Dynamo and llama.cpp are recorded from runs of cache scenarios, those of vLLM and Dynamo without the buckets and what no test reads;
// the others are constructed from the names that the engines' sources give their series.
func TestHitsOfEachEngineAreReadByTier(t *testing.T) {
	series := func(name, labels, value string) string {
		return "# TYPE " + name + " counter\n" + name + labels + " " + value + "\n"
	}
	dynamo := func(begun, input, ended, cached string) string {
		return "# TYPE dynamo_frontend_input_sequence_tokens histogram\ndynamo_frontend_input_sequence_tokens_bucket{model=\"m\",le=\"+Inf\"} " + begun +
			"\ndynamo_frontend_input_sequence_tokens_sum{model=\"m\"} " + input + "\ndynamo_frontend_input_sequence_tokens_count{model=\"m\"} " + begun +
			"\n# TYPE dynamo_frontend_cached_tokens histogram\ndynamo_frontend_cached_tokens_bucket{model=\"m\",le=\"+Inf\"} " + ended +
			"\ndynamo_frontend_cached_tokens_sum{model=\"m\"} " + cached + "\ndynamo_frontend_cached_tokens_count{model=\"m\"} " + ended + "\n"
	}
	trtllm := func(prompts, gpu, disk string) string {
		return series("trtllm_prompt_tokens_total", `{model_name="m"}`, prompts) + "# TYPE trtllm_prompt_cache_hit_tokens_total counter\n" +
			`trtllm_prompt_cache_hit_tokens_total{model_name="m",cache_level="0",cache_tier="gpu"} ` + gpu + "\n" +
			`trtllm_prompt_cache_hit_tokens_total{model_name="m",cache_level="2",cache_tier="disk"} ` + disk + "\n"
	}
	sglang := func(prompts string, cached ...string) string {
		text := series("sglang:prompt_tokens_total", `{model_name="m"}`, prompts)
		for i := 0; i < len(cached); i += 2 {
			text += `sglang:cached_tokens_total{model_name="m",cache_source="` + cached[i] + `"} ` + cached[i+1] + "\n"
		}
		return text
	}
	hit := func(tier, value string) string { return kvHit(tier, "hit", value) }
	live := kvMode(metric.ModeLive)
	exporter := func(hits ...string) string { return live + strings.Join(hits, "") }
	for name, c := range map[string]struct {
		exporter, page [2]string
		want           evidence.Hits
	}{
		// Its ExampleConnector keeps the cache in files, and names no tier.
		"vLLM with a connector": {page: [2]string{recordedPage(t, "vllm-0.32.0-cpu-connector-begin.prom"), recordedPage(t, "vllm-0.32.0-cpu-connector-end.prom")},
			want: evidence.Hits{Found: countOf(2304), Looked: countOf(2688), Device: countOf(0), Host: countOf(0), Disk: countOf(0), Elsewhere: countOf(2304)}},
		"TensorRT-LLM": {page: [2]string{trtllm("100", "10", "0"), trtllm("1100", "310", "500")},
			want: evidence.Hits{Found: countOf(800), Looked: countOf(1000), Device: countOf(300), Disk: countOf(500)}},
		"TensorRT-LLM without tiers": {
			page: [2]string{
				series("trtllm_prompt_tokens_total", "", "0") + series("trtllm_prompt_cached_tokens_total", "", "0"),
				series("trtllm_prompt_tokens_total", "", "1000") + series("trtllm_prompt_cached_tokens_total", "", "700"),
			},
			want: evidence.Hits{Found: countOf(700), Looked: countOf(1000)}},
		"SGLang 0.5.18 with HiCache on files": {page: [2]string{sglang("100", "device", "5"), sglang("1100", "device", "105", "host", "200", "storage_HiCacheFile", "300")},
			want: evidence.Hits{Found: countOf(600), Looked: countOf(1000), Device: countOf(100), Host: countOf(200), Disk: countOf(300)}},
		"SGLang 0.5.18 with another backend": {page: [2]string{sglang("100", "device", "5"), sglang("1100", "device", "5", "storage_MooncakeStore", "300")},
			want: evidence.Hits{Found: countOf(300), Looked: countOf(1000), Device: countOf(0), Elsewhere: countOf(300)}},
		"SGLang 0.5.23, which does not name the backend": {page: [2]string{sglang("100", "device", "5"), sglang("1100", "device", "5", "storage", "300")},
			want: evidence.Hits{Found: countOf(300), Looked: countOf(1000), Device: countOf(0), Elsewhere: countOf(300)}},
		"SGLang that never counted any": {page: [2]string{sglang("100"), sglang("1100")}},
		"Dynamo's frontend before two workers of vllm kind": {
			page: [2]string{recordedPage(t, "dynamo-1.6.1-vllm-workers-begin.prom"), recordedPage(t, "dynamo-1.6.1-vllm-workers-end.prom")},
			want: evidence.Hits{Found: countOf(6576), Looked: countOf(6610)}},
		"Dynamo's frontend before two workers of sglang kind": {
			page: [2]string{recordedPage(t, "dynamo-1.6.1-sglang-workers-begin.prom"), recordedPage(t, "dynamo-1.6.1-sglang-workers-end.prom")}},
		"Dynamo's frontend, half of it warm": {page: [2]string{dynamo("4", "28804", "4", "0"), dynamo("8", "57608", "8", "28800")},
			want: evidence.Hits{Found: countOf(28800), Looked: countOf(28804)}},
		"Dynamo, an engine that reports nothing": {page: [2]string{dynamo("4", "28804", "0", "0"), dynamo("8", "57608", "0", "0")}},
		"Dynamo, a request that has not ended":   {page: [2]string{dynamo("4", "28804", "4", "0"), dynamo("8", "57608", "7", "21600")}},
		"an exporter": {
			exporter: [2]string{
				exporter(hit("device", "10"), hit("host", "0"), hit("disk", "0"), kvHit("none", "miss", "90")),
				exporter(hit("device", "110"), hit("host", "200"), hit("disk", "300"), kvHit("none", "miss", "490")),
			},
			want: evidence.Hits{Found: countOf(600), Looked: countOf(1000), Device: countOf(100), Host: countOf(200), Disk: countOf(300)}},
		"an exporter of an engine without tiers": {
			exporter: [2]string{exporter(hit("any", "0"), kvHit("none", "miss", "0")), exporter(hit("any", "600"), kvHit("none", "miss", "400"))},
			want:     evidence.Hits{Found: countOf(600), Looked: countOf(1000), Elsewhere: countOf(600)}},
		"llama.cpp":             {page: [2]string{series("llamacpp:prompt_tokens_total", "", "0"), series("llamacpp:prompt_tokens_total", "", "1000")}},
		"a page that went away": {page: [2]string{trtllm("100", "10", "0"), ""}},
	} {
		t.Run(name, func(t *testing.T) {
			w := counters{turned(t, c.exporter, c.page), false, []string{"spark"}}
			sent := 1000.
			if c.want.Looked.Known {
				sent = c.want.Looked.Value
			}
			if got := w.hits([]string{"a"}, sent); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

func TestAnEngineThatRestartedHasNoHits(t *testing.T) {
	page := func(prompts, cached string) string {
		return "# TYPE trtllm_prompt_tokens_total counter\ntrtllm_prompt_tokens_total " + prompts + "\n# TYPE trtllm_prompt_cached_tokens_total counter\ntrtllm_prompt_cached_tokens_total " + cached + "\n"
	}
	w := counters{turned(t, [2]string{}, [2]string{page("5000", "10"), page("1000", "900")}), false, []string{"spark"}}
	if got := w.hits([]string{"a"}, 1000); !got.Looked.Reset {
		t.Errorf("%+v", got)
	}
}

// A frontend counts all, each of two workers a part, and all three pages together twice as much.
func TestOfSeveralPagesTheCountOfThisRunIsTaken(t *testing.T) {
	of := func(found, looked float64) evidence.Hits {
		return evidence.Hits{Found: countOf(found), Looked: countOf(looked)}
	}
	tiered := of(900, 1001)
	tiered.Disk = countOf(5)
	together := sumHits([]evidence.Hits{of(500, 600), of(400, 400)})
	for name, c := range map[string]struct {
		all  []evidence.Hits
		want evidence.Hits
	}{
		"a frontend":         {[]evidence.Hits{of(900, 1000), of(500, 600), of(400, 400), of(1800, 2000)}, of(900, 1000)},
		"workers alone":      {[]evidence.Hits{of(500, 600), of(400, 400), together}, of(900, 1000)},
		"one names tiers":    {[]evidence.Hits{of(900, 1000), tiered}, tiered},
		"another's engine":   {[]evidence.Hits{of(0, 0), of(900, 1000)}, of(900, 1000)},
		"nothing is known":   {[]evidence.Hits{{}, {Found: countOf(5)}}, evidence.Hits{}},
		"others use it, too": {[]evidence.Hits{of(5000, 9000)}, of(5000, 9000)},
	} {
		if got := closest(c.all, 1000); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// Three conversations of two turns each, of which one has no second: only second turns send something again.
func TestTurnsAreHeldAgainstTheTurnsBeforeThem(t *testing.T) {
	all := passes{"measure": {
		0: {conversation: "0/0", turn: 1, tokensIn: 100, cached: new(0), first: 1},
		1: {conversation: "0/1", turn: 1, tokensIn: 200, cached: new(0), first: 2},
		2: {conversation: "0/0", turn: 2, tokensIn: 300, cached: new(96), first: .1},
		3: {conversation: "0/2", turn: 1, tokensIn: 400, cached: new(0), first: 3},
		4: {conversation: "0/1", turn: 2, tokensIn: 500, cached: new(250), first: .3},
	}}
	v := &evidence.Verification{First: "measure", Again: []string{"measure"}, Turns: true}
	got := observed{all, counters{}}.reused(v, evidence.Moved{})
	want := evidence.Reused{Requests: 2, PromptTokens: 300, SentTokens: 1500, Cached: countOf(96 + 200)}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if worth := (observed{all, counters{}}).worth(v, got, evidence.Moved{}, evidence.Moved{}); worth.TimeRatio != nil || worth.BreakEven != nil {
		t.Errorf("turns have different prompts, and their times are compared: %+v", worth)
	}
}

// An exporter's series alone prove a read of the SSD: the engine's tokens from disk, what its process read, what the drive read.
func TestAnSSDReadIsProvenWithoutKVBM(t *testing.T) {
	page := func(disk, misses, process, drive string) string {
		return kvMode(metric.ModeLive) + kvHit("device", "hit", "0") + kvHit("host", "hit", "0") + kvHit("disk", "hit", disk) + kvHit("none", "miss", misses) +
			line(metric.EngineKVCapacityTokens, "4096", "source", "127.0.0.1:8000", "model", "m") + line(metric.EngineKVCapacityBytes, "8388608", "source", "127.0.0.1:8000", "model", "m") +
			line(metric.ProcessIOBytesTotal, process, "pid", "7", "comm", "VLLM::EngineCor", "cgroup", "/e", "op", "read") + line(metric.NVMeReadBytesTotal, drive, "device", "nvme0n1")
	}
	for name, c := range map[string]struct {
		process, drive string
		grade          evidence.Grade
	}{
		"all agree":               {"2050000", "2200000", evidence.Proven},
		"the page cache answered": {"0", "0", evidence.Contradicted},
	} {
		log := turned(t, [2]string{page("0", "0", "0", "0"), page("1000", "100", c.process, c.drive)}, [2]string{})
		w := counters{log, false, []string{"spark"}}
		h := w.hits([]string{"a"}, 1100)
		h.TokenBytes = ReadKVRoom(log, []string{"spark"}, false, "").TokenBytes // 2,048: 2,048,000 bytes
		got := evidence.SSDRehydrate(w.moved([]string{"a"}), h, w.disk([]string{"a"}, metric.OpRead), evidence.Tiers{}, evidence.Replay{Pressed: true})
		if got.Grade != c.grade {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestLookupsAreThoseOfTheEnginesPage(t *testing.T) {
	page := func(name string) string { return recordedPage(t, "vllm-0.32.0-cpu-reuse-"+name+".prom") }
	live := kvMode(metric.ModeLive)
	log := turned(t, [2]string{live, live}, [2]string{page("again"), page("end")})
	if got := PrefixLookups(log, false, []string{"spark"}, []string{"a"}, 5575); got == nil || got.Tokens != 5575 || got.HitTokens != 5376 {
		t.Errorf("%+v", got)
	}
	if got := PrefixLookups(turned(t, [2]string{live, live}, [2]string{page("end"), page("first")}), false, []string{"spark"}, []string{"a"}, 5575); got != nil {
		t.Errorf("of an engine that was restarted: %+v", got)
	}
	if got := PrefixLookups(nil, false, []string{"spark"}, []string{"a"}, 5575); got != nil {
		t.Errorf("without telemetry: %+v", got)
	}
}

// The lines are those of a vLLM 0.26.0 whose own offloading has a tier of files, after a replay.
func TestBytesThatVLLMsOwnOffloadingLoadsAreRead(t *testing.T) {
	page := func(offload string) string {
		return "# TYPE vllm:prompt_tokens_total counter\nvllm:prompt_tokens_total{engine=\"0\",model_name=\"tiny\"} 54950\n" +
			"# TYPE vllm:prefix_cache_hits_total counter\nvllm:prefix_cache_hits_total{engine=\"0\",model_name=\"tiny\"} 0\n" + offload
	}
	const after = `# TYPE vllm:kv_offload_total_bytes_total counter
vllm:kv_offload_total_bytes_total{engine="0",model_name="tiny",transfer_type="CPU_to_GPU"} 1.809842176e+09
vllm:kv_offload_total_bytes_total{engine="0",model_name="tiny",transfer_type="GPU_to_CPU"} 1.8896912384e+10
`
	live := kvMode(metric.ModeLive)
	w := counters{turned(t, [2]string{live, live}, [2]string{page(""), page(after)}), false, []string{"spark"}}
	if got := w.hits([]string{"a"}, 54950); got.LoadedBytes != countOf(1809842176) {
		t.Errorf("%+v", got)
	}
}
