//go:build proof

package docs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/loadgen/sim"
)

// given are the options and arguments of a foreign program.
type given struct {
	values map[string][]string
	rest   []string
}

// last returns the value of an option that is given once, or a default.
func (g given) last(without string, names ...string) string {
	for _, name := range names {
		if all := g.values[name]; len(all) > 0 {
			return all[len(all)-1]
		}
	}
	return without
}

func (g given) all(names ...string) []string {
	var all []string
	for _, name := range names {
		all = append(all, g.values[name]...)
	}
	return all
}

// look reads a command line by the list of what a program accepts. With stop the options end at the first argument.
func look(list string, args []string, stop bool) (given, error) {
	text, err := os.ReadFile(filepath.Join(os.Getenv("UMASCOPE_DOCS_ROOT"), "cmd/internal/docs/testdata/foreign", list+".txt"))
	if err != nil {
		return given{}, err
	}
	known := strings.Split(string(text), "\n")
	g := given{values: map[string][]string{}}
	for i := 0; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "-") || args[i] == "-" {
			if g.rest = append(g.rest, args[i]); stop {
				g.rest = append(g.rest, args[i+1:]...)
				break
			}
			continue
		}
		name, value, joined := strings.Cut(args[i], "=")
		switch {
		case slices.Contains(known, name+"="):
			if !joined {
				if i++; i == len(args) {
					return g, fmt.Errorf("%s wants a value", name)
				}
				value = args[i]
			}
			g.values[name] = append(g.values[name], value)
		case slices.Contains(known, name) && !joined:
			g.values[name] = append(g.values[name], "")
		default:
			return g, fmt.Errorf("no option %s (testdata/foreign/%s.txt has those that there are)", name, list)
		}
	}
	return g, nil
}

// inContainer is the container of a stand-in, "" for none.
const inContainer = "UMASCOPE_DOCS_CONTAINER"

// present returns an error for missing weights: a path must be a model on this machine, and in a container a mounted
// one; a name is downloaded.
func present(weights string) error {
	if !strings.HasPrefix(weights, "/") {
		if !regexp.MustCompile(`^[\w.-]+/[\w.-]+$`).MatchString(weights) {
			return fmt.Errorf("%s is no path of a model and no name", weights)
		}
		return nil
	}
	outside := weights
	if name := os.Getenv(inContainer); name != "" {
		all, err := containersNow()
		if err != nil {
			return err
		}
		outside = ""
		for within, at := range all[name].Mounts {
			if rest, under := strings.CutPrefix(weights+"/", within+"/"); under {
				outside = filepath.Join(at, rest)
			}
		}
		if outside == "" {
			return fmt.Errorf("%s: no such folder in the container: no volume has it", weights)
		}
	}
	if _, err := os.Stat(filepath.Join(os.Getenv("UMASCOPE_DOCS_CHROOT"), outside, "config.json")); err != nil {
		return fmt.Errorf("%s is no model: %w", weights, err)
	}
	return nil
}

// reachable returns an error if clients could not reach an engine, or it could not start: in a container it needs GPUs
// and the network.
func reachable() error {
	name := os.Getenv(inContainer)
	if name == "" {
		return nil
	}
	all, err := containersNow()
	if err != nil {
		return err
	}
	c, running := all[name]
	switch {
	case !running:
		return fmt.Errorf("no container %s", name)
	case !c.GPUs:
		return errors.New("no GPU: the container was started without --gpus")
	case !c.HostNetwork:
		return errors.New("the page asks the engine from outside, and the container has neither --network=host nor a published port")
	}
	return nil
}

// scope is where a program runs that somebody has started from a shell.
const scope = "/user.slice/user-1000.slice/session-3.scope"

// trtllmServe replaces TensorRT-LLM's server: it reads weights, takes memory and answers, all on the simulated machine,
// and logs the same memory lines as TensorRT-LLM.
func trtllmServe(ctx context.Context, args []string) error {
	g, err := look("trtllm-serve", args, false)
	if err != nil {
		return err
	}
	if len(g.rest) != 1 {
		return fmt.Errorf("want one model, not %q", g.rest)
	}
	share, err := strconv.ParseFloat(g.last("0.9", "--kv_cache_free_gpu_memory_fraction"), 64)
	if err != nil || share <= 0 || share >= 1 {
		return fmt.Errorf("--kv_cache_free_gpu_memory_fraction: a share, not %v", share)
	}
	if err := errors.Join(present(g.rest[0]), reachable()); err != nil {
		return err
	}
	request := engineRequest{Container: os.Getenv(inContainer), asked: asked{
		Vendor: sim.TensorRTLLM, Model: g.last(filepath.Base(g.rest[0]), "--served_model_name"), Weights: g.rest[0], Share: share, Longest: 16384, Scope: scope,
		Address: g.last("127.0.0.1", "--host") + ":" + g.last("8000", "--port"),
	}}
	request.Address = strings.Replace(strings.Replace(request.Address, "localhost", "127.0.0.1", 1), "0.0.0.0", "127.0.0.1", 1)
	return post(ctx, "/serve", request, func(line string) { fmt.Println(line) })
}

// python replaces the interpreter with PyTorch and Dynamo in it.
func python(ctx context.Context, args []string) error {
	if len(args) < 2 {
		return errors.New("nothing is asked")
	}
	switch {
	case args[0] == "-c" && strings.Contains(args[1], "torch"):
		fmt.Println("61.8")
		return nil
	case args[0] == "-m" && args[1] == "pip" && slices.Equal(args[2:], []string{"freeze"}):
		fmt.Println("torch==2.9.0\ntensorrt_llm==1.2.0")
		return nil
	case args[0] == "-m" && args[1] == "dynamo.trtllm":
		return dynamoWorker(ctx, args[2:])
	case args[0] == "-m" && args[1] == "dynamo.frontend":
		return dynamoFrontend(ctx, args[2:])
	case args[0] == "-m" && args[1] == "sglang.launch_server":
		return sglangServer(ctx, args[2:])
	}
	return fmt.Errorf("%q is not stood in for", args[:2])
}

// dynamoWorker is an engine behind a frontend. KVBM is on if the engine's settings connect it, with the tiers of its
// environment.
func dynamoWorker(ctx context.Context, args []string) error {
	g, err := look("dynamo.trtllm", args, false)
	if err != nil {
		return err
	}
	model := g.last("", "--model-path")
	if err := errors.Join(present(model), reachable()); err != nil {
		return err
	}
	settings, err := engineSettings(g.last("", "--extra-engine-args"))
	if err != nil {
		return err
	}
	request := engineRequest{Container: os.Getenv(inContainer), asked: asked{
		Vendor: sim.Dynamo, Model: g.last(model, "--served-model-name"), Weights: model, Share: settings.KVCache.Fraction, Longest: max(8192, settings.MaxTokens), Scope: scope,
		KVBM: settings.Connector.Module == "kvbm.trtllm_integration.connector",
	}}
	if request.KVBM {
		if settings.Connector.Scheduler != "DynamoKVBMConnectorLeader" || settings.Connector.Worker != "DynamoKVBMConnectorWorker" {
			return fmt.Errorf("kv_connector_config: %+v is no connector of KVBM", settings.Connector)
		}
		if settings.KVCache.Partial == nil || *settings.KVCache.Partial {
			return errors.New("kv_cache_config: with enable_partial_reuse nothing is found again")
		}
		if err := request.tiers(); err != nil {
			return err
		}
	}
	return post(ctx, "/serve", request, func(line string) { fmt.Println(line) })
}

// tiers reads what KVBM reads of its environment.
func (r *engineRequest) tiers() error {
	size := func(name string) (int64, error) {
		text := os.Getenv(name)
		if text == "" {
			return 0, nil
		}
		gigabytes, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		return gigabytes * 1e9, nil
	}
	for _, variable := range hostfs.EnvironVariables() {
		if value, given := os.LookupEnv(variable); given {
			r.Environment += variable + "=" + value + "\x00"
		}
	}
	var errs [2]error
	r.Host, errs[0] = size("DYN_KVBM_CPU_CACHE_GB")
	r.Disk, errs[1] = size("DYN_KVBM_DISK_CACHE_GB")
	r.TierDir = os.Getenv("DYN_KVBM_DISK_CACHE_DIR")
	if r.TierDir == "" {
		r.TierDir = "/tmp"
	}
	r.Filter = !slices.Contains([]string{"1", "true"}, os.Getenv("DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER"))
	if slices.Contains([]string{"1", "true"}, os.Getenv("DYN_KVBM_METRICS")) {
		port := os.Getenv("DYN_KVBM_METRICS_PORT")
		if port == "" {
			port = "6880"
		}
		r.KVBMPage = "127.0.0.1:" + port
	}
	return errors.Join(errs[:]...)
}

// engineFile is what of an engine's settings matters here; what else there is is not refused, as the file is the engine's.
type engineFile struct {
	MaxTokens int `yaml:"max_num_tokens"`
	KVCache   struct {
		Partial  *bool   `yaml:"enable_partial_reuse"`
		Fraction float64 `yaml:"free_gpu_memory_fraction"`
	} `yaml:"kv_cache_config"`
	Connector struct {
		Module    string `yaml:"connector_module"`
		Scheduler string `yaml:"connector_scheduler_class"`
		Worker    string `yaml:"connector_worker_class"`
	} `yaml:"kv_connector_config"`
}

func engineSettings(path string) (engineFile, error) {
	var settings engineFile
	settings.KVCache.Fraction = 0.9
	if path == "" {
		return settings, nil
	}
	if name := os.Getenv(inContainer); name != "" {
		all, err := containersNow()
		if err != nil {
			return settings, err
		}
		for within, at := range all[name].Mounts {
			if rest, under := strings.CutPrefix(path, within+"/"); under {
				path = filepath.Join(at, rest)
				break
			}
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return settings, err
	}
	return settings, yaml.Unmarshal(text, &settings)
}

// dynamoFrontend is the server of the workers that there are.
func dynamoFrontend(ctx context.Context, args []string) error {
	g, err := look("dynamo.frontend", args, false)
	if err != nil {
		return err
	}
	if err := reachable(); err != nil {
		return err
	}
	host := strings.Replace(g.last("0.0.0.0", "--http-host"), "0.0.0.0", "127.0.0.1", 1)
	request := engineRequest{Container: os.Getenv(inContainer), asked: asked{Address: host + ":" + g.last("8000", "--http-port")}}
	return post(ctx, "/frontend", request, func(line string) { fmt.Println(line) })
}

// chroot runs a program of the image's files: they, and what is mounted among them, must be there.
func chroot(_ context.Context, args []string) error {
	if len(args) < 2 {
		return errors.New("want a folder and a command")
	}
	top, args := args[0], args[1:]
	for _, needs := range []string{"proc/meminfo", "sys/class", "dev/null", "usr/local/bin/trtllm-serve"} {
		if _, err := os.Stat(filepath.Join(top, needs)); err != nil {
			return fmt.Errorf("what an engine needs is not there: %w", err)
		}
	}
	if _, err := os.Stat(filepath.Join(top, driverLibrary())); err != nil {
		return fmt.Errorf("the driver's library is not in the image: %w", err)
	}
	environment := []string{"UMASCOPE_DOCS_CHROOT=" + top}
	if args[0] == "/usr/bin/env" {
		args = args[1:]
		for len(args) > 0 && (args[0] == "-i" || strings.Contains(args[0], "=")) {
			if args[0] != "-i" && !strings.HasPrefix(args[0], "PATH=") && !strings.HasPrefix(args[0], "HOME=") {
				environment = append(environment, args[0])
			}
			args = args[1:]
		}
	}
	if len(args) == 0 {
		return errors.New("want a command")
	}
	command := inherited(args[0], args[1:]...)
	command.Env = append(os.Environ(), environment...)
	return child(command)
}

// driverLibrary is its path in the output of the stand-in for ldconfig.
func driverLibrary() string { return filepath.Join(os.TempDir(), "driver", "libcuda.so.1") }

// ldconfig lists the driver's libraries, as on a machine with a GPU.
func ldconfig(_ context.Context, args []string) error {
	if !slices.Equal(args, []string{"-p"}) {
		return fmt.Errorf("%q is not stood in for", args)
	}
	library := driverLibrary()
	if err := os.MkdirAll(filepath.Dir(library), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(library, []byte("simulated"), 0o755); err != nil {
		return err
	}
	fmt.Printf("2 libs found in cache\n\tlibc.so.6 (libc6,AArch64) => /lib/libc.so.6\n\tlibcuda.so.1 (libc6,AArch64) => %s\n", library)
	return nil
}

// huggingFace puts a model there that is large enough to be one.
func huggingFace(_ context.Context, args []string) error {
	if len(args) == 0 || args[0] != "download" {
		return fmt.Errorf("%q is not stood in for", args)
	}
	g, err := look("hf-download", args[1:], false)
	if err != nil {
		return err
	}
	folder := g.last("", "--local-dir")
	if len(g.rest) == 0 || folder == "" {
		return fmt.Errorf("want a name and --local-dir, not %q", args)
	}
	if err := present(g.rest[0]); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	files := map[string]string{
		"config.json":       `{"architectures":["Simulated"],"num_hidden_layers":32,"num_key_value_heads":8,"hidden_size":4096,"num_attention_heads":32}`,
		"model.safetensors": strings.Repeat("simulated weights of "+g.rest[0]+"\n", 1000), "tokenizer.json": "{}",
	}
	if len(g.rest) > 1 { // files by their names, and no others
		files = map[string]string{}
		for _, name := range g.rest[1:] {
			files[name] = "simulated weights of " + g.rest[0]
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	fmt.Println(folder)
	return nil
}

// realProgram is one that is not a stand-in, behind the first folder of PATH.
func realProgram(name string) (string, error) {
	for _, folder := range filepath.SplitList(os.Getenv("PATH")) {
		if path := filepath.Join(folder, name); folder != os.Getenv("UMASCOPE_DOCS_BIN") {
			if found, err := exec.LookPath(path); err == nil {
				return found, nil
			}
		}
	}
	return "", exec.ErrNotFound
}
