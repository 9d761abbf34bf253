package summary

import (
	"iter"
	"math"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary/testrun"
	"github.com/umascope/umascope/loadgen/telemetry"
)

func ptr[T any](v T) *T { return &v }

// read is what the folder of a run holds beside the requests.
func read(t testing.TB, run testrun.Run) inputs {
	t.Helper()
	r := Run{Folder: rundir.Folder(run.Write(t))}
	var err error
	if r.Manifest, err = r.ReadManifest(); err != nil {
		t.Fatal(err)
	}
	log, err := r.Telemetry()
	if err != nil {
		t.Fatal(err)
	}
	if log != nil {
		log.Engines = supported.Engines()
	}
	in, err := r.inputs(log)
	if err != nil {
		t.Fatal(err)
	}
	in.CacheBlock = r.Manifest.Server.CacheBlock(supported.Engines())
	return in
}

func input(t testing.TB) inputs {
	t.Helper()
	return read(t, testrun.New())
}

func machine(t *testing.T, page testrun.Page) inputs {
	t.Helper()
	return read(t, testrun.OneMachine(t, page))
}

func two(t *testing.T, first, second testrun.Page) inputs {
	t.Helper()
	return read(t, testrun.TwoMachines(t, first, second))
}

// recorded is a command whose engine says in its log what it took.
func recorded(t *testing.T, mode string, phases ...telemetry.Phase) inputs {
	t.Helper()
	in := read(t, testrun.Recorded(t, mode, phases...))
	in.Engine = EngineOf(engineLog(t, "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 30.00 GiB for max tokens in paged KV cache (250000).",
		"[TRT-LLM] [I] Peak memory during memory usage profiling (torch + non-torch): 71.00 GiB"), "the log of trtllm-bench")
	return in
}

func summarize(t *testing.T, in inputs, records ...openai.Record) Summary {
	t.Helper()
	s, err := summarizeFile(in, testrun.Sequence(records...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// summarizeFile summarizes records as they come from a file.
func summarizeFile(in inputs, records iter.Seq2[openai.Record, error]) (Summary, error) {
	s, _, err := digest(in, records)
	return s, err
}

func near(got *float64, want float64) bool { return got != nil && math.Abs(*got-want) < 1e-9 }

// engineLog is what TensorRT-LLM said.
func engineLog(t *testing.T, lines ...string) *enginelog.Reading {
	t.Helper()
	tool, err := enginelog.Find(supported.Engines(), "trtllm")
	if err != nil {
		t.Fatal(err)
	}
	log := tool.Read()
	for i, line := range lines {
		log.Line("stdout", enginelog.Line{Number: i + 1, Text: line})
	}
	return log
}

// graded is the summary of a run without requests that has these signals.
func graded(t *testing.T, signals *evidence.Signals) Summary {
	t.Helper()
	return summarize(t, inputs{Run: "r", Judging: rundir.Judging{Evidence: signals}})
}
