package importer

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/enginelog"
)

// trtllmLog reads the log of trtllm-bench (TensorRT-LLM 0.15 to 1.3), as loadgen/enginelog does for one that is
// recorded. benchmark-spark (@f465b5f, scripts/run_comprehensive_benchmark.sh) writes one log per run and a
// NAME_metadata.json next to NAME.log, which is read too:
//
//	{"environment":"native","model_name":"deepseek","iteration":1,"timestamp":"20251109_022626","start_temp_celsius":40,"end_temp_celsius":60,"exit_code":0}
//
// Without it, a run is identified by the first time in its log, such as [11/09/2025-02:27:01], and by the name of the
// file.
func trtllmLog() Format {
	return Format{Name: "trtllm-log", Help: "log of trtllm-bench, with the NAME_metadata.json that benchmark-spark puts beside NAME.log", read: readTRTLLMLog}
}

func readTRTLLMLog(f *file) ([]Result, error) {
	tool, err := enginelog.Find(supported.Engines(), "trtllm")
	if err != nil {
		return nil, err
	}
	reading, times := tool.Read(), logTimes{}
	lines := enginelog.NewLines(func(l enginelog.Line) {
		reading.Line(f.name, l)
		times.line(l.Text)
	})
	if _, err := lines.Write(f.text); err != nil {
		return nil, err
	}
	lines.Flush()
	r := Result{
		Program: "trtllm-bench", Version: reading.Version, Engine: "trtllm", EngineVersion: reading.Version,
		Values: reading.Values(), Warnings: []string{zoneWarning},
	}
	if reading.Ranks() > 1 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the engine has %d ranks: what its log reports of memory is of the first, and is none of the machine's figures", reading.Ranks()))
	} else {
		r.Memory = engineReport(r.Values)
	}
	r.Warnings = append(r.Warnings, "memory occupied without KV cache is the engine's own peak while it profiled its memory, before it took the KV cache: it is no peak of occupied memory")
	if err := besideLog(f, &r); err != nil {
		return nil, err
	}
	if len(r.Values) == 0 && r.ExitCode == nil { // a failed run has no figures
		return nil, errors.New("no line of it has a figure of TensorRT-LLM")
	}
	if r.EndedAt = times.last; r.StartedAt.IsZero() {
		if r.StartedAt = times.first; r.StartedAt.IsZero() {
			return nil, errors.New("no line of it has a time, and no metadata stands beside it")
		}
		r.Key = f.name + " " + times.first.Format(sparkTime)
	}
	if r.EndedAt.Before(r.StartedAt) {
		r.EndedAt = time.Time{}
	}
	return []Result{r}, nil
}

// besideLog adds benchmark-spark's metadata of the run.
func besideLog(f *file, r *Result) error {
	name := strings.TrimSuffix(f.base(), ".log") + "_metadata.json"
	text, err := f.neighbour(name)
	if err != nil || text == nil {
		return err
	}
	var run sparkRun
	if err := decode(text, &run); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	table, err := run.result()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r.Key, r.Namer = table.Key, benchmarkSpark().Name
	r.StartedAt, r.Labels, r.Model, r.ExitCode = table.StartedAt, table.Labels, table.Model, table.ExitCode
	r.StartCelsius, r.EndCelsius = table.StartCelsius, table.EndCelsius
	return nil
}

// logTimes are the first and the last time in a log.
type logTimes struct{ first, last time.Time }

// logTime matches TensorRT-LLM's time format: 11/09/2025-02:27:01.
var logTime = regexp.MustCompile(`^\[(\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d)\]`)

func (t *logTimes) line(text string) {
	if len(text) == 0 || text[0] != '[' {
		return
	}
	found := logTime.FindStringSubmatch(text)
	if found == nil {
		return
	}
	at, err := time.Parse("01/02/2006-15:04:05", found[1])
	if err != nil || !plausible(at) {
		return
	}
	if t.first.IsZero() {
		t.first = at
	}
	t.last = at
}
