// Package lifecycle is how the engine of a run is started before the run and stopped after it. A campaign fills it in for each of
// its runs; a run calls it.
package lifecycle

import (
	"context"

	"github.com/umascope/umascope/loadgen/rundir"
)

// Engine starts the engine of a run and stops it, so that what the engine takes while it loads is in the run's own telemetry.
type Engine struct {
	// Before gets the machine and the engine ready; enter is called when a phase begins. The context that it returns is
	// done, with the cause, when the engine is lost.
	Before func(ctx context.Context, enter func(phase string)) (engine context.Context, err error)
	// After stops what Before has started, however far that came; at once when the context is done.
	After func(cut context.Context)
	// Facts returns what the manifest records of it, as of now.
	Facts func() *rundir.Campaign
	// Ran returns what identifies what runs, as far as it is known now; nil where a campaign runs nothing.
	Ran func() *rundir.Provenance
	// Starts is whether there is an engine that Before starts or has kept up.
	Starts bool
	// Logs returns what the processes of the engine that is up write, in the order of their start.
	Logs func() []Log
}

// Log is a file that a process of the engine writes to, from the offset on, in bytes, at which the start of this engine begins.
type Log struct {
	Process, Path string
	From          int64
}
