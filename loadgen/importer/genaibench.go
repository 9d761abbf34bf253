package importer

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/enginelog"
)

// genaiBench reads the file that genai-bench (0.0.3 to 0.0.5) writes of a run of its scenarios, such as
// D(100,100)_text-to-text_num_concurrency_1_time_60s.json, as loadgen/enginelog does for one that is recorded
// (genai_bench/metrics/aggregated_metrics_collector.py), and the experiment_metadata.json next to it
// (genai_bench/protocol.py, ExperimentMetadata):
//
//	{"benchmark_version":"0.0.5","api_model_name":"m","server_engine":"vLLM","server_version":"0.24.0","experiment_folder_name":"vLLM_text-to-text_m_20260922_100000"}
//
// The file has no time; its run ended when it was written. Its throughputs are means over requests in versions that
// define them so, and its time per output token is (latency - time to first token) over the tokens but the first.
func genaiBench() Format {
	return Format{Name: "genai-bench", Help: "file of a run of genai-bench, with the experiment_metadata.json beside it", read: readGenAIBench}
}

func readGenAIBench(f *file) ([]Result, error) {
	tool, err := enginelog.Find(supported.Engines(), "genai-bench")
	if err != nil {
		return nil, err
	}
	values, err := tool.Results(bytes.NewReader(withoutNaN(f.text)))
	if err != nil {
		return nil, err
	}
	var run struct {
		Aggregated struct {
			Scenario    string   `json:"scenario"`
			Iteration   string   `json:"iteration_type"`
			Concurrency *float64 `json:"num_concurrency"`
			Batch       *float64 `json:"batch_size"`
			Duration    *float64 `json:"run_duration"`
		} `json:"aggregated_metrics"`
	}
	if err := decode(f.text, &run); err != nil {
		return nil, err
	}
	ended, err := f.changed()
	if err != nil {
		return nil, err
	}
	a := run.Aggregated
	r := Result{
		Key: f.name, StartedAt: before(ended, a.Duration), EndedAt: ended, Program: "genai-bench", Values: values,
		Warnings: []string{changedWarning},
	}
	for i := range r.Values {
		r.Values[i].Of = "" // of the only run
	}
	r.label("shape", a.Scenario)
	if a.Iteration == "batch_size" {
		r.labelNumber("batch_size", a.Batch)
	} else {
		r.labelNumber(strings.TrimPrefix(keyOr(a.Iteration, "num_concurrency"), "num_"), a.Concurrency)
	}
	if err := addExperiment(f, &r); err != nil {
		return nil, err
	}
	return []Result{r}, nil
}

// keyOr returns a text as the name of a label, or the other text.
func keyOr(text, otherwise string) string {
	if labelName.MatchString(text) {
		return text
	}
	return otherwise
}

// besideGenAI adds the experiment's metadata.
func addExperiment(f *file, r *Result) error {
	const name = "experiment_metadata.json"
	text, err := f.neighbour(name)
	if err != nil || text == nil {
		return err
	}
	var m struct {
		Version       string `json:"benchmark_version"`
		Model         string `json:"api_model_name"`
		Task          string `json:"task"`
		Engine        string `json:"server_engine"`
		EngineVersion string `json:"server_version"`
		GPU           string `json:"server_gpu_type"`
		Folder        string `json:"experiment_folder_name"`
	}
	if err := decode(text, &m); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r.Version, r.Model = printable(m.Version, longestLabel), printable(m.Model, longestLabel)
	r.Engine, r.EngineVersion = strings.ToLower(printable(m.Engine, longestLabel)), printable(m.EngineVersion, longestLabel)
	r.label("model", m.Model)
	r.setting("task", m.Task)
	r.setting("gpu", m.GPU)
	if folder := printable(m.Folder, longestLabel); folder != "" {
		r.Key = folder + " " + r.Key
	}
	return nil
}
