package report

import (
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/summary/testrun"
)

// read writes the folder of a run, with its summary, and reads it.
func read(t *testing.T, run testrun.Run) summary.Run {
	t.Helper()
	dir := run.Write(t)
	if _, err := summary.Write(dir, supported.Engines()); err != nil {
		t.Fatal(err)
	}
	r, err := summary.Read(dir, supported.Engines())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func summarize(t *testing.T, run testrun.Run) summary.Summary {
	t.Helper()
	return read(t, run).Summary
}

// pageOf is the page of a run.
func pageOf(t *testing.T, run testrun.Run) Page {
	t.Helper()
	r := read(t, run)
	drawn, err := r.Requests()
	if err != nil {
		t.Fatal(err)
	}
	log, err := r.Telemetry()
	if err != nil {
		t.Fatal(err)
	}
	return Page{Title: "Run " + r.Manifest.Run, Summary: r.Summary, Telemetry: log, Drawn: drawn}
}

// example is the page of a run with a measured and a constructed machine.
func example(t *testing.T, total time.Duration) Page {
	t.Helper()
	return pageOf(t, testrun.Example(t, total))
}

// unstreamed is a run whose answers were not streamed.
func unstreamed(records ...openai.Record) testrun.Run {
	run := testrun.New(records...)
	run.Manifest.Judging.Streaming = false
	return run
}

// graded is the summary of a run without requests that has these signals.
func graded(t *testing.T, signals *evidence.Signals) summary.Summary {
	t.Helper()
	run := testrun.New()
	run.Phases, run.Manifest.Judging = nil, &rundir.Judging{Evidence: signals, Complete: true}
	return summarize(t, run)
}
