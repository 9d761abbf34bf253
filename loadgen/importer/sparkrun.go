package importer

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// sparkrun reads what `sparkrun benchmark` (0.4.2; sparkrun/benchmarking/base.py, run_state.py) leaves of llama-benchy:
// its YAML beside the caller,
//
//	sparkrun_benchmark:
//	  version: '1'
//	  timestamp: '2026-11-23T09:40:12.924274+00:00'
//	  recipe: {name: qwen3, model: Qwen/Qwen3-1.7B, runtime: vllm-distributed, container: …}
//	  cluster: {tp: 1, node_count: 1, hosts: [node-55235459], runtime_info: {vllm_version: 0.13.0}}
//	  benchmark: {framework: llama-benchy, profile: '@spark-arena/spark-arena-v2', args: {runs: 3, …}, resumed: false}
//	  results: {json: {model: …, benchmarks: […]}, csv: …}
//
// or the folder of a benchmark in its cache, with the file of each llama-benchy in runs/*.json and the arguments in
// state.yaml. The YAML of several cells lacks what llama-benchy has of itself: its version, its latency and its time.
// The timestamp is that of writing, measured_at and completed_at are those of the measurement.
func sparkrun() Format {
	return Format{Name: "sparkrun", Help: "YAML of sparkrun benchmark with llama-benchy, or the folder of its cache with runs/*.json", files: sparkrunFiles, read: readSparkrun}
}

// ownFramework is uma-load arena, by its plug-in for sparkrun: its results have the shape of llama-benchy's.
const ownFramework = "umascope"

type sparkrunReport struct {
	Timestamp string `yaml:"timestamp"`
	Recipe    struct {
		Name      string `yaml:"name"`
		Model     string `yaml:"model"`
		Runtime   string `yaml:"runtime"`
		Container string `yaml:"container"`
		Hash      string `yaml:"hash"`
	} `yaml:"recipe"`
	Cluster struct {
		TP      *float64          `yaml:"tp"`
		Nodes   *float64          `yaml:"node_count"`
		Hosts   []string          `yaml:"hosts"`
		Runtime map[string]string `yaml:"runtime_info"`
	} `yaml:"cluster"`
	Benchmark struct {
		Framework string         `yaml:"framework"`
		Profile   string         `yaml:"profile"`
		Args      map[string]any `yaml:"args"`
		Resumed   bool           `yaml:"resumed"`
		Measured  string         `yaml:"measured_at"`
		Completed string         `yaml:"completed_at"`
	} `yaml:"benchmark"`
	Results struct {
		JSON benchyReport `yaml:"json"`
	} `yaml:"results"`
}

// sparkrunState is state.yaml of a benchmark.
type sparkrunState struct {
	Recipe  string         `yaml:"recipe_qualified_name"`
	Profile string         `yaml:"profile"`
	Args    map[string]any `yaml:"base_args"`
}

// sparkrunFiles returns the results in the folder of a benchmark, or in its runs.
func sparkrunFiles(folder string) ([]string, error) {
	for _, pattern := range []string{"runs/*.json", "[0-9]*.json"} {
		paths, err := filepath.Glob(filepath.Join(globQuoted(folder), pattern))
		if err != nil || len(paths) > 0 {
			return paths, err
		}
	}
	return nil, errors.New("it is a folder without runs/*.json")
}

func readSparkrun(f *file) ([]Result, error) {
	if bytes.HasPrefix(bytes.TrimSpace(f.text), []byte("{")) {
		return readSparkrunTask(f)
	}
	var whole struct {
		Report *sparkrunReport `yaml:"sparkrun_benchmark"`
	}
	if err := decodeYAML(f.text, &whole); err != nil {
		return nil, err
	}
	s := whole.Report
	if s == nil {
		return nil, errors.New("it has no sparkrun_benchmark")
	}
	if f := s.Benchmark.Framework; f != "llama-benchy" && f != ownFramework {
		return nil, fmt.Errorf("sparkrun_benchmark.benchmark.framework is %q: only results of llama-benchy are read, and uma-load's", printable(s.Benchmark.Framework, longestLabel))
	}
	ended, err := s.ended()
	if err != nil {
		return nil, fmt.Errorf("sparkrun_benchmark.%w", err)
	}
	all, err := s.Results.JSON.results(f, benchyOrigin{runsOf(s.Benchmark.Args), ended})
	if err != nil {
		return nil, fmt.Errorf("sparkrun_benchmark.results.json: %w", err)
	}
	for i := range all {
		s.describe(&all[i])
	}
	return all, nil
}

// readSparkrunTask reads a file of llama-benchy, with the arguments beside its folder.
func readSparkrunTask(f *file) ([]Result, error) {
	var report benchyReport
	if err := decode(f.text, &report); err != nil {
		return nil, err
	}
	const name = "state.yaml"
	text, err := f.neighbour(filepath.Join("..", name))
	if err != nil {
		return nil, err
	}
	var state sparkrunState
	if err := decodeYAML(text, &state); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	all, err := report.results(f, benchyOrigin{runs: runsOf(state.Args)})
	for i := range all {
		all[i].Namer = llamaBenchy().Name
		all[i].label("recipe", state.Recipe)
		all[i].label("profile", state.Profile)
	}
	return all, err
}

// ended returns when the measurement ended, as far as sparkrun has it.
func (s *sparkrunReport) ended() (time.Time, error) {
	var last time.Time
	for _, of := range []struct{ field, text string }{
		{"timestamp", s.Timestamp}, {"benchmark.measured_at", s.Benchmark.Measured}, {"benchmark.completed_at", s.Benchmark.Completed},
	} {
		at, err := timeOf(time.RFC3339, of.field, of.text)
		if err != nil {
			return last, err
		}
		last = cmp.Or(at, last)
	}
	return last.UTC(), nil
}

// describe adds what sparkrun has about a run of llama-benchy.
func (s *sparkrunReport) describe(r *Result) {
	r.Namer = llamaBenchy().Name
	if r.Model == "" {
		r.Model = printable(s.Recipe.Model, longestLabel)
		r.label("model", r.Model)
	}
	r.label("recipe", s.Recipe.Name)
	r.label("profile", s.Benchmark.Profile)
	r.labelNumber("tp", s.Cluster.TP)
	r.setting("runtime", s.Recipe.Runtime)
	r.setting("container", s.Recipe.Container)
	r.setting("recipe_hash", s.Recipe.Hash)
	r.settingNumber("node_count", s.Cluster.Nodes)
	r.setting("hosts", strings.Join(s.Cluster.Hosts, ","))
	for _, name := range slices.Sorted(maps.Keys(s.Cluster.Runtime)) {
		if labelName.MatchString(name) && !secretName.MatchString(name) {
			r.setting(name, s.Cluster.Runtime[name])
		}
	}
	if s.Benchmark.Resumed {
		r.Warnings = append(r.Warnings, "resumed: sparkrun gave out figures that were recorded earlier, at least in part; the time of the file is not that of the measurement")
	}
}

// runsOf returns how many batches llama-benchy was asked for; 0 if that is not among its arguments.
func runsOf(args map[string]any) int {
	n, _ := args["runs"].(int)
	return max(0, min(n, mostRuns))
}

// decodeYAML reads YAML; its errors have one line.
func decodeYAML(text []byte, into any) error {
	err := yaml.Unmarshal(text, into)
	if err == nil {
		return nil
	}
	if load, ok := errors.AsType[*yaml.LoadError](err); ok {
		return fmt.Errorf("line %d: it is no YAML: %s", load.Mark.Line, printable(load.Message, longestLabel))
	}
	return errors.New(printable(strings.Join(strings.Fields(err.Error()), " "), longestLabel))
}
