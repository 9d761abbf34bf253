// Package demo runs the whole of umascope on one machine without a GPU and without Docker.
//
// The hosts are simulated: each stage is a DGX Spark with an engine in one of the arms. The programs that measure them
// are real: the exporter, the load generator with its campaigns and comparisons, the alert rules. The demo makes
// campaigns and trials on five stages at once, and one page links what uma-load writes about them; a simulation keeps one stage in use for
// dashboards and alerts. All of it is on the wall clock; what would take minutes is divided by timeFactor.
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

	// exitInvalid is the exit code of uma-load for a run that finished and is invalid.
	exitInvalid = 3
)

const reportName = "report.html"

// Program is one invocation of uma-demo.
type Program struct {
	Stdout, Stderr io.Writer
	// Load is uma-load: it takes the arguments and returns the exit code. The main passes it in, so that the demo does
	// not import the load generator.
	Load func(ctx context.Context, args []string, stdout, stderr io.Writer) int
	// View is uma-view, passed in for the same reason.
	View func(ctx context.Context, args []string, stdout, stderr io.Writer) int
}

// Run executes the command line and returns the exit code. When ctx ends, the load drains, Run still writes the page of
// what was made so far, and stops everything that it started.
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

// cause returns an error without the path, for messages that name the path already.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
