package runner

import (
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/umascope/umascope/loadgen/capture"
	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/evidence/observation"
	"github.com/umascope/umascope/loadgen/lifecycle"
	"github.com/umascope/umascope/loadgen/live"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/workload"
)

// Keep is what is kept of a run, and where, whatever its load is.
type Keep struct {
	// Out is the folder of run folders. RunID names the run and its folder; empty makes a name of time and arm.
	Out, RunID string
	// Labels have at least arm and host.
	Labels map[string]string
	Scene  capture.Settings
	// Validity are other limits of validity rules as they were given, and Limits what they mean.
	Validity []string
	Limits   summary.Limits
	// Flags are all flags by their names, and Program is what was started with them: the manifest records both.
	Flags   map[string]string
	Program rundir.Program
}

// Hosts returns the names of the machines that are measured: that of the label first, then those of all exporters that were
// asked for. An engine on several machines has an exporter on each.
func (k Keep) Hosts() []string {
	all := []string{k.Labels["host"]}
	for _, source := range k.Scene.Telemetry {
		if !slices.Contains(all, source.Name) {
			all = append(all, source.Name)
		}
	}
	return all
}

// facts are what the live page shows of a run from its beginning.
func (k Keep) facts(run, scenario string, phases []string) live.Facts {
	return live.Facts{
		Run: run, Hosts: k.Hosts(), Arm: k.Labels["arm"], Scenario: scenario, Phases: phases,
		Version: k.Program.Version, Revision: k.Program.Revision, GoVersion: k.Program.GoVersion,
	}
}

// Load is a load that is sent to a server, and how it is judged.
type Load struct {
	Target server.Target
	workload.Settings
	// StartAt is when the measured load begins; zero is at once.
	StartAt time.Time
	Expect  observation.Expectation
	SLO     summary.SLO
	// Verbose prints a line for each request that has ended.
	Verbose bool
	// EngineLog is a file that the engine writes its log to; empty is none.
	EngineLog string
}

// wanted is what requests are to have that not every server takes.
func (l Load) wanted() server.Wanted {
	return server.Wanted{
		Seed: l.RequestSeed, Stop: l.Stop, IgnoreEOS: l.IgnoreEOS, Stream: !l.NoStream, Extra: l.ExtraBody,
		CacheSalt: l.NeedsSalt(),
	}
}

// Command is a command that is run as the load.
type Command struct {
	Argv []string
	Tool enginelog.Tool // reads its log
	// Results are files that the command writes its results into, or folders of such.
	Results []string
	// Before and After are how long the machine is watched around the command.
	Before, After time.Duration
	// Grace is how long the command may go on after an interrupt.
	Grace time.Duration
}

// Environment is what a run gets from the program that makes it.
type Environment struct {
	// Stdout and Stderr get what a recorded command prints.
	Stdout, Stderr io.Writer
	// Console shows the progress of a load, and Log writes messages to the same place.
	Console *live.Console
	Log     *slog.Logger
	// Cut, once closed, ends what a done context only lets drain. Nil never cuts.
	Cut <-chan struct{}
	// Exporter is the page of an exporter that is followed if no flag names one and it answers; empty is none.
	Exporter string
	Page     *live.Page
	// Engine starts the engine for the run and stops it; nil if it is there by itself.
	Engine *lifecycle.Engine
}

// Result is what came of a run.
type Result struct {
	// Run is the name of the run.
	Run string
	// Made is the run with its summary, as its folder has it; nil if it ended before there was one.
	Made *summary.Run
	// Unserved is a run whose engine was started for it and never took the load.
	Unserved bool
}

// Summary returns the figures of the run; nil if there are none.
func (r Result) Summary() *summary.Summary {
	if r.Made == nil {
		return nil
	}
	return &r.Made.Summary
}
