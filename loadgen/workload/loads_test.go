package workload

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/traffic"
)

// scaleOf is the scale of a tokenizer that has so many tokens for a word; every other character is one.
func scaleOf(t testing.TB, each bool, of func(word string) int) traffic.TokenScale {
	t.Helper()
	count := func(text string) int {
		n := 0
		for _, word := range strings.Fields(text) {
			plain := strings.Trim(word, ".:")
			n += of(plain) + len(word) - len(plain)
		}
		return n
	}
	probes := traffic.NewProbes()
	scale, err := traffic.NewTokenScale(traffic.ByTokenizer, traffic.ProbeCounts{
		One: count(probes.One), Short: count(probes.Short), Instructed: count(probes.Instructed), Whole: count(probes.Whole),
	})
	if err != nil {
		t.Fatal(err)
	}
	if !each {
		return scale
	}
	var words []int
	for _, word := range traffic.Words() {
		words = append(words, count(word))
	}
	if scale, err = scale.WithWords(words); err != nil {
		t.Fatal(err)
	}
	return scale
}

// scales are those that servers come to, by a name.
func scales(t testing.TB) map[string]traffic.TokenScale {
	t.Helper()
	one, long := func(string) int { return 1 }, func(word string) int { return 1 + len(word)/5 }
	return map[string]traffic.TokenScale{
		"assumed": {}, "exact": scaleOf(t, false, one), "words": scaleOf(t, true, long), "mean": scaleOf(t, false, long),
		"ids": traffic.ScaleOfIDs(traffic.AnyTokenIDs()),
	}
}

// promptFiles writes a file of every format and returns the folder.
func promptFiles(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"text":      "one prompt a line\nand another one, which is longer than the first\nthird\n",
		"rows":      `{"prompt": "first", "output_tokens": 9}` + "\n" + `{"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "u1"}, {"role": "assistant", "content": "a1"}, {"role": "user", "content": "u2"}]}`,
		"messages":  `[{"id": "a", "messages": [{"role": "user", "content": "one"}, {"role": "assistant", "content": "1"}, {"role": "user", "content": "two"}]}, {"messages": [{"role": "user", "content": "three"}]}]`,
		"sharegpt":  `[{"id": "x", "conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}, {"from": "human", "value": "Bye"}]}]`,
		"generator": `{"filetype": "generate_conversations", "num_conversations": 4, "text_files": ["book"], "prompt_input": {"num_turns": {"distribution": "uniform", "min": 3, "max": 6}, "common_prefix_num_tokens": {"distribution": "constant", "value": 20}, "prefix_num_tokens": {"distribution": "constant", "value": 50}, "num_tokens": {"distribution": "uniform", "min": 60, "max": 80}}, "prompt_output": {"num_tokens": {"distribution": "constant", "value": 33}}}`,
		"book":      strings.Repeat("It was a dark and stormy night in Marseille. ", 200),
		"azure":     "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n2023-11-16 18:15:51.2225670,7,5\n",
		"mooncake":  `{"timestamp": 0, "input_length": 600, "output_length": 3, "hash_ids": [1, 2]}` + "\n" + `{"timestamp": 40, "input_length": 700, "output_length": 5, "hash_ids": [1, 3]}` + "\n" + `{"timestamp": 90, "input_length": 20, "output_length": 2}` + "\n" + `{"timestamp": 95, "input_length": 5, "output_length": 2, "hash_ids": [4]}` + "\n",
		"template":  "{{range .Messages}}[{{.Role}}] {{.Content}}\n{{end}}[bot]",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// everyLoad returns command lines of every scenario and source of prompts; @ is the folder of promptFiles.
func everyLoad() map[string][]string {
	loads := map[string][]string{}
	add := func(name, scale string, args ...string) { loads[name+" "+scale] = append(args, "--warmup=3") }
	draw := func(name, scale string, args ...string) { add(name, scale, append(args, "--requests=6")...) }
	for _, scale := range []string{"assumed", "exact", "words", "mean"} {
		draw("short", scale)
		draw("mixed", scale, "--prompts=mixed")
		draw("fixed", scale, "--input-tokens=100")
		draw("normal", scale, "--input-tokens=200,50")
		draw("tiny", scale, "--input-tokens=1:12")
		draw("shared", scale, "--input-tokens=100", "--shared-prefix-tokens=64")
		draw("shared little", scale, "--input-tokens=100", "--shared-prefix-tokens=5")
		add("mooncake", scale, "--arrival=trace", "--trace=@mooncake", "--trace-unit=ms", "--trace-block-tokens=512")
		add("azure", scale, "--arrival=trace", "--trace=@azure")
		draw("multi_turn", scale, "--scenario=multi_turn", "--clients=2", "--input-tokens=40:90")
		draw("multi_turn shared", scale, "--scenario=multi_turn", "--input-tokens=40", "--shared-prefix-tokens=30", "--sampling=random")
		add("eviction_replay", scale, "--scenario=eviction_replay", "--input-tokens=64:128", "--set=a.requests=4", "--set=b.requests=6")
		add("eviction_replay_twice", scale, "--scenario=eviction_replay", "--input-tokens=64:128", "--set=a.requests=4", "--set=b.requests=6", "--set=repeats=2")
		add("rehydrate_replay", scale, "--scenario=rehydrate_replay", "--set=populate.requests=2", "--set=populate.tokens=300", "--set=thrash.requests=3")
		add("reuse_verify", scale, "--scenario=reuse_verify", "--input-tokens=64:128", "--set=requests=3")
		add("burst", scale, "--scenario=burst", "--set=bursts=2", "--set=requests=3", "--set=every=1s", "--input-tokens=100")
	}
	for _, file := range []string{"text", "rows", "messages", "sharegpt", "generator"} {
		draw("file "+file, "exact", "--prompts=@"+file)
		draw("file shared "+file, "words", "--prompts=@"+file, "--shared-prefix-tokens=40")
		draw("multi_turn file "+file, "exact", "--scenario=multi_turn", "--prompts=@"+file)
		draw("multi_turn file shared "+file, "mean", "--scenario=multi_turn", "--prompts=@"+file, "--shared-prefix-tokens=25")
	}
	ids := []string{"--endpoint=completions", "--prompt-ids"}
	draw("mixed", "ids", append(ids, "--prompts=mixed")...)
	draw("tiny", "ids", append(ids, "--input-tokens=1:12")...)
	draw("shared", "ids", append(ids, "--input-tokens=100", "--shared-prefix-tokens=64")...)
	draw("shared little", "ids", append(ids, "--input-tokens=100", "--shared-prefix-tokens=5")...)
	add("mooncake", "ids", append(ids, "--arrival=trace", "--trace=@mooncake", "--trace-unit=ms", "--trace-block-tokens=512")...)
	add("azure", "ids", append(ids, "--arrival=trace", "--trace=@azure")...)
	add("reuse_verify", "ids", append(ids, "--scenario=reuse_verify", "--input-tokens=64:128", "--set=requests=3")...)
	draw("long", "exact", "--prompts=long")
	draw("llama3", "exact", "--endpoint=completions", "--template=llama3", "--input-tokens=100")
	draw("template", "exact", "--endpoint=completions", "--template=@template", "--input-tokens=100")
	draw("clipped", "exact", "--prompts=@text", "--clip", "--max-input-tokens=12", "--token-margin=0", "--shared-prefix-tokens=5")
	for _, scale := range []string{"assumed", "words", "mean"} {
		draw("clipped", scale, "--prompts=@text", "--clip", "--max-input-tokens=38", "--token-margin=0", "--shared-prefix-tokens=30")
	}
	add("endless", "exact", "--duration=1m", "--input-tokens=20")
	add("rates", "exact", "--arrival=poisson", "--rate=5", "--duration=2s", "--input-tokens=20")
	add("stages", "exact", "--arrival=gamma", "--burstiness=0.5", "--stages=1s:4,1s:8", "--input-tokens=20")
	draw("another seed", "exact", "--seed=99", "--input-tokens=100", "--output-tokens=5:9", "--ignore-eos", "--temperature=0.5")
	return loads
}

// workOf is the workload of one of these loads, with the key of a run.
func workOf(t *testing.T, name, dir, key string) *Workload {
	t.Helper()
	args := slices.Clone(everyLoad()[name])
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "@", dir+string(os.PathSeparator))
	}
	s, err := given(t, args...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	s.PromptKey = key
	f := Server{Model: "m", Vendor: server.VendorOf(supported.Engines(), "vllm"), Scale: scales(t)[name[strings.LastIndexByte(name, ' ')+1:]]}
	if err := s.Recount(f.Scale); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	w, err := s.Write(f)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return w
}

// TestTheHashOfAWorkloadIsOfTheLoadAndNotOfTheKey: runs of one load compare although each has prompts of its own.
func TestTheHashOfAWorkloadIsOfTheLoadAndNotOfTheKey(t *testing.T) {
	loads, dir := map[string]string{}, promptFiles(t)
	for name := range everyLoad() {
		sum, _ := planOf(t, workOf(t, name, dir, ""))
		if keyed, _ := planOf(t, workOf(t, name, dir, "r1 2026-11-01T00:00:00Z")); keyed != sum {
			t.Errorf("%s: %s with a key, %s without", name, keyed, sum)
		}
		scale := name[strings.LastIndexByte(name, ' '):] // other scales may give the same lengths
		if other := loads[sum+scale]; other != "" {
			t.Errorf("%s and %s have the hash %s", name, other, sum)
		}
		loads[sum+scale] = name
	}
}
