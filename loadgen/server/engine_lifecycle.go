package server

import (
	"context"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
)

// EngineLifecycle starts the engine of a run and stops it, so that the memory that the engine takes while it loads is
// in the run's own telemetry.
type EngineLifecycle struct {
	// Before brings the machine to rest and starts the engine. It calls enter when a phase begins, and wait
	// when the phase waits for something: what that is, and until when at most, which may be the zero time. The returned
	// context is done, with the cause, when the engine is lost.
	Before func(ctx context.Context, enter func(phase string), wait func(what string, until time.Time)) (engine context.Context, err error)
	// After stops everything that Before has started, even if Before failed. It stops at once when cut is done.
	After func(cut context.Context)
	// Facts returns the manifest's record of the campaign so far.
	Facts func() *rundir.Campaign
	// Ran returns what identifies the engine's processes, as far as it has been observed; nil if the campaign runs no
	// process.
	Ran func() *rundir.Provenance
	// Key is the key of the hashes of what runs.
	Key ProvenanceKey
	// Starts is true if there is an engine that Before starts or has kept up.
	Starts bool
	// Logs returns the log files of the running engine's processes, in the order of their start.
	Logs func() []EngineLog
}

// EngineLog is a log file of an engine's process. The log of the current start begins at the offset, in bytes.
type EngineLog struct {
	Process, Path string
	From          int64
}
