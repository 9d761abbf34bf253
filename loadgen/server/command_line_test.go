package server

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
)

// testKey is the key of tests.
func testKey() ProvenanceKey { return ProvenanceKey{[]byte("0123456789abcdef0123456789abcdef")} }

// shown are the options of a command line as a person reads them: listed ones with their values, others with ?.
func shown(argv ...string) []string {
	var all []string
	for _, o := range testKey().Process(supported.Engines(), "engine", "plan", argv, nil).Options {
		text := strings.TrimSpace(o.Program + " " + o.Name)
		if len(o.Values) > 0 {
			text += "=" + strings.Join(o.Values, "|")
		} else {
			text += strings.Repeat(" ?", len(o.Hashes))
		}
		all = append(all, text)
	}
	return all
}

func TestListedOptionsKeepTheirValuesWhateverTheirSpelling(t *testing.T) {
	for _, of := range []struct {
		argv string
		want []string
	}{
		{"vllm serve /srv/m --gpu-memory-utilization 0.75 --max-model-len=8192 --slow fast -tp 2", []string{
			"--gpu-memory-utilization=0.75", "--max-model-len=8192", "--slow ?", "--tensor-parallel-size=2", "argument 1 ?", "argument 2 ?",
		}},
		{"python3 -m vllm.entrypoints.openai.api_server --gpu_memory_utilization=0.75 --enable-prefix-caching --model m", []string{
			"--enable-prefix-caching=on", "--gpu-memory-utilization=0.75", "--model ?", "python3 -m ?",
		}},
		{"llama-server -c 4096 -ngl 99 -fa on -ctk q8_0 -hft hf_secret -m m.gguf", []string{
			"--cache-type-k=q8_0", "--ctx-size=4096", "--flash-attn=on", "--gpu-layers=99", "--hf-token ?", "-m ?",
		}},
		{"llama-server --ctx-size=4096 -np 4", []string{"--ctx-size=4096", "--parallel=4"}},
		{"/opt/bin/trtllm-serve m --kv-cache-free-gpu-memory-fraction 0.9 --max_seq_len 8192", []string{
			"--kv_cache_free_gpu_memory_fraction=0.9", "--max_seq_len=8192", "argument 1 ?",
		}},
		{"sudo -n numactl --cpunodebind=0 python -m sglang.launch_server --chunked-prefill-size -1 --tp 2", []string{
			"--chunked-prefill-size=-1", "--tensor-parallel-size=2", "sudo --cpunodebind ?", "sudo -m ?", "sudo -n ?", "sudo argument 1 ?",
		}},
		{"python3 -m dynamo.vllm --connector kvbm --block-size 16 --model m", []string{"--block-size=16", "--connector=kvbm", "--model ?", "python3 -m ?"}},
		// Of a program that is not known, -c may be anything.
		{"bash -c 4096", []string{"-c ?"}},
		{"./serve.sh --gpu-memory-utilization 0.75", []string{"--gpu-memory-utilization ?"}},
		// A value that is not what the option is for is hashed.
		{"vllm serve --max-model-len hunter2", []string{"--max-model-len ?", "argument 1 ?"}},
		{"docker run --rm -it --gpus all -e A=b -v /x:/y vllm/vllm-openai:v0.12 --model m --block-size 16", []string{
			"--block-size=16", "--model ?", "docker --gpus ?", "docker --rm ?", "docker -i ?", "docker -t ?", "docker -v ?", "docker command ?", "docker image ?",
		}},
		{"docker exec engine vllm serve m --max-num-seqs 8", []string{
			"--max-num-seqs=8", "argument 1 ?", "argument 2 ?", "docker command ?", "docker container ?",
		}},
	} {
		if got := shown(strings.Fields(of.argv)...); !slices.Equal(got, of.want) {
			t.Errorf("%s\n got %q\nwant %q", of.argv, got, of.want)
		}
	}
}

func TestOptionsAreComparedWhateverTheirOrder(t *testing.T) {
	k := testKey()
	read := func(argv string) any {
		return k.Process(supported.Engines(), "engine", "plan", strings.Fields(argv), nil)
	}
	same := read("vllm serve m --slow a --fast b --slow c")
	if got := read("vllm serve m --fast b --slow=a --slow c"); !reflect.DeepEqual(got, same) {
		t.Errorf("%+v\n%+v", got, same)
	}
	for _, other := range []string{"vllm serve m --fast b --slow c --slow a", "vllm serve m --fast b --slow a", "vllm serve n --slow a --fast b --slow c"} {
		if reflect.DeepEqual(read(other), same) {
			t.Errorf("%s reads as the same", other)
		}
	}
	if testOther := (ProvenanceKey{[]byte("another")}); testOther.ID() == k.ID() || reflect.DeepEqual(testOther.Process(supported.Engines(), "engine", "plan", []string{"a", "b"}, nil), k.Process(supported.Engines(), "engine", "plan", []string{"a", "b"}, nil)) {
		t.Error("two keys make the same hashes")
	}
}

func TestVariablesAreFoundWhereverTheyAreSet(t *testing.T) {
	for _, argv := range []string{
		"docker run -e OLLAMA_NUM_PARALLEL=4 --env=HF_TOKEN=hunter2 -eUSER ollama/ollama serve",
		"/usr/bin/env -i OLLAMA_NUM_PARALLEL=4 HF_TOKEN=hunter2 USER=x ollama serve",
	} {
		p := testKey().Process(supported.Engines(), "engine", "plan", strings.Fields(argv), map[string]string{"HF_TOKEN": "of the tool"})
		var names []string
		for _, v := range p.Environment {
			names = append(names, v.Name+strings.Join(v.Values, ""))
		}
		if !slices.Equal(names, []string{"HF_TOKEN", "OLLAMA_NUM_PARALLEL4", "USER"}) {
			t.Errorf("%s: %q", argv, names)
		}
		if want := testKey().hash("environment", "", "HF_TOKEN", "hunter2"); p.Environment[0].Hashes[0] != want {
			t.Errorf("%s: HF_TOKEN is not that of the process", argv)
		}
	}
	inherited := testKey().Inherited(supported.Engines(), []string{"vllm"}, []string{"VLLM_USE_V1=1", "SSH_CLIENT=x", "HF_TOKEN=hunter2"})
	if len(inherited) != 2 || inherited[1].Name != "VLLM_USE_V1" || inherited[1].Values[0] != "1" {
		t.Errorf("%+v", inherited)
	}
}

func TestChangedFilesAreCodeAlone(t *testing.T) {
	k := testKey()
	a := k.ChangedFiles([]string{"C /usr/lib/python3/dist-packages/vllm/x.py", "A /tmp/y.py", "A /root/.cache/z.so", "C /etc"})
	b := k.ChangedFiles([]string{"A /tmp/other.py", "C /usr/lib/python3/dist-packages/vllm/x.py"})
	if a.Files != 1 || *a != *b {
		t.Errorf("%+v %+v", a, b)
	}
	if c := k.ChangedFiles([]string{"A /tmp/other.py"}); c.Files != 0 || c.Hash != "" {
		t.Errorf("%+v", c)
	}
}

// FuzzArgv states what holds of any command line: nothing panics, no value that is not listed is shown, --a=b reads as
// --a b, and the order of different options counts for nothing.
func FuzzArgv(f *testing.F) {
	for _, seed := range []string{
		"vllm\nserve\nm\n--max-model-len\n8192", "docker\nrun\n-it\n--rm\nvllm/vllm-openai\n--model\nm", "env\n-i\nA=b\nllama-server\n-c\n4096", "-\n--\n---\n-1\n=\n-=\n--=", "sudo\ndocker\n-H\nx\nexec\n-e",
		"bash\n-c\nvllm serve", "", "python3\n-m\ndynamo.sglang\n--tp\n2", "docker\nrun\n-e", "podman\n--url\nx\nrun\n--env\n=x",
	} {
		f.Add(seed, "word")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		k := testKey()
		words := strings.Split(text, "\n")
		const secret = "Zq9hunter2Zq9"
		if strings.Contains(text+value, secret) || strings.HasPrefix(value, "-") || strings.ContainsRune(text+value, 0) {
			return
		}
		if slices.ContainsFunc(words, func(word string) bool { return word == "-e" || word == "--env" }) {
			return // of a container: the name of a variable is told
		}
		written := func(argv []string, env map[string]string) string {
			out, err := json.Marshal(k.Process(supported.Engines(), "engine", "plan", argv, env))
			if err != nil {
				t.Fatal(err)
			}
			return string(out)
		}
		hide := value + secret
		for _, more := range [][]string{{"--some-token=" + hide}, {"--some-token", hide}, {"-z" + hide}, {"-z", hide}, {"-z=" + hide}, {hide}, {"--", hide}} {
			for _, argv := range [][]string{slices.Concat(words[:1], words[1:], more), slices.Concat(words[:1], more, words[1:])} {
				if out := written(argv, map[string]string{"SOME_TOKEN": hide}); strings.Contains(out, secret) {
					t.Fatalf("%q shows the secret: %s", argv, out)
				}
			}
		}
		_, container := containerCommand(supported.Engines(), words)
		_, starts := containerCommand(supported.Engines(), []string{"docker", value})
		if container > 0 || starts > 0 || supported.Engines().OfCommand(value) != nil || slices.Contains(words, "--") {
			return // docker takes the next word whatever it is, and an engine begins a command line of its own
		}
		for _, option := range []string{"--some-option", "--max-model-len"} {
			one, two := slices.Concat(words, []string{option + "=" + value}), slices.Concat(words, []string{option, value})
			if written(one, nil) != written(two, nil) {
				t.Fatalf("%q and %q read differently:\n%s\n%s", one, two, written(one, nil), written(two, nil))
			}
		}
		pair := []string{fmt.Sprintf("--some-option=%s", value), "--other-option=b"}
		forth, back := slices.Concat(words, pair), slices.Concat(words, []string{pair[1], pair[0]})
		if written(forth, nil) != written(back, nil) {
			t.Fatalf("%q and %q read differently", forth, back)
		}
	})
}
