// Package demo runs the whole of umascope on one machine, with no GPU and no Docker.
//
// What it runs is simulated: stages, each a DGX Spark with an engine in one arm or another. What looks at them is
// real: the exporter, the load generator with its campaigns and comparisons, the alert rules. The demo makes campaigns
// and trials on five stages at once and writes one page of it; a simulation keeps one stage in use for dashboards
// and alerts.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
// page of what is there is still written, and everything that was started is stopped.
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
	case line.command == commandArm:
		return p.holdArm(ctx, line.arm)
	}
	return p.show(ctx, line.show)
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
