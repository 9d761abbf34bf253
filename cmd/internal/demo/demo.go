// Package demo runs the whole of umascope on one machine, with no GPU and no Docker.
//
// It starts two exporters, one on this host as it really is and one on a constructed DGX Spark, a
// simulated engine, and a load run against it that keeps the telemetry of both. Real and
// constructed figures never share a ledger, and each says what it is.
//
// Beside it there is a stage, a simulated Spark that serves a simulated engine in one arm or another, and a simulation
// that keeps such a stage in use for dashboards and alerts.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitInput  = 2

	// exitInvalid is uma-load's: the run finished but must not be used.
	exitInvalid = 3
)

const reportName = "report.html"

// Program is one invocation of uma-demo.
type Program struct {
	Stdout, Stderr io.Writer
	// Load is uma-load, told what to do by its arguments: its exit code comes back. The main hands it in, so
	// that the demo stands beside the load generator and not on it.
	Load func(ctx context.Context, args []string, stdout, stderr io.Writer) int
}

// Run does what the arguments say and returns the exit code. When ctx ends, the load drains, the
// report is still written, and everything that was started is stopped.
func (p Program) Run(ctx context.Context, args []string) int {
	line, err := parse(args, p.Stdout)
	switch {
	case line.ended:
		return exitDone
	case err != nil:
		return p.fail(exitInput, err)
	case line.command == commandSimulate:
		return p.simulate(ctx, line.simulate)
	case line.command == commandHealthcheck:
		return p.healthcheck(ctx, line.health)
	}
	return p.demo(ctx, line.show)
}

// demo makes the folder that everything is written to, and shows.
func (p Program) demo(ctx context.Context, options options) int {
	out, err := filepath.Abs(options.out)
	if err == nil {
		err = os.MkdirAll(out, 0o755)
	}
	if err != nil {
		return p.fail(exitInput, fmt.Errorf("--out %s: %w", options.out, cause(err)))
	}
	return p.show(ctx, out, options)
}

// show starts the cast, runs the load and tells what came of it.
func (p Program) show(ctx context.Context, out string, options options) int {
	cast, err := assemble(options.seed)
	if err != nil {
		return p.fail(exitFailed, err)
	}
	defer cast.leave()
	p.introduce(cast, options)

	run := "demo-" + time.Now().UTC().Format("20060102T150405Z")
	switch code := p.Load(ctx, loadArguments(cast, out, run, options), p.Stdout, p.Stderr); code {
	case exitDone:
	case exitInvalid:
		// The demo is no measurement: rules that catch a busy machine are part of what it shows.
		fmt.Fprintln(p.Stdout, "\numa-load calls this run invalid, as it says above, and would have ended with exit code 3. The demo goes on.")
	default:
		return code
	}
	p.explain(ctx, cast)
	folder := filepath.Join(out, run)
	if err := publish(folder, out); err != nil {
		return p.fail(exitFailed, err)
	}
	p.sayWhere(folder, out)
	return exitDone
}

func (p Program) fail(code int, err error) int {
	fmt.Fprintln(p.Stderr, "uma-demo: "+err.Error())
	return code
}

// cause is an error without the path that the message names already.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// publish puts the report of the newest run where it is found without looking.
func publish(folder, out string) error {
	page, err := os.ReadFile(filepath.Join(folder, reportName))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, reportName), page, 0o644)
}
