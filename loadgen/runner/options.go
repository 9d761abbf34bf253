package runner

import (
	"context"
	"io"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/umascope/umascope/loadgen/enginelog"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/workload"
)

// Keep holds the settings of a run that do not depend on its load: what is kept of it, and where.
type Keep struct {
	// Out is the folder of run folders. RunID names the run and its folder; if empty, the name is made of the time and
	// the arm.
	Out, RunID string
	// Labels contains at least arm and host.
	Labels  map[string]string
	Capture CaptureSettings
	// Validity are changed limits of validity rules as they were given, and Limits their parsed form.
	Validity []string
	Limits   summary.Limits
	// Flags are all flags by name, and Program is the program that was started with them. The manifest records both.
	Flags   map[string]string
	Program rundir.Program
}

// Hosts returns the names of the measured machines: first the host label, then the hosts of all exporters that were
// named. An engine on several machines has an exporter on each.
func (k Keep) Hosts() []string {
	all := []string{k.Labels["host"]}
	for _, source := range k.Capture.Telemetry {
		if !slices.Contains(all, source.Name) {
			all = append(all, source.Name)
		}
	}
	return all
}

// facts returns what the live page shows of a run from its beginning.
func (k Keep) facts(run, scenario string, phases []string) liveFacts {
	return liveFacts{
		Run: run, Hosts: k.Hosts(), Arm: k.Labels["arm"], Scenario: scenario, Phases: phases,
		Version: k.Program.Version, Revision: k.Program.Revision, GoVersion: k.Program.GoVersion,
	}
}

// Load is a load that is sent to a server, with the rules that judge it.
type Load struct {
	Target server.Target
	// Replicas are the URLs of further servers that share the load.
	Replicas []string
	workload.Settings
	// StartAt is when the measured load begins; the zero time means at once.
	StartAt time.Time
	Expect  summary.KVExpectation
	SLO     summary.SLO
	// Verbose prints a line for each request that has ended.
	Verbose bool
	// EngineLog is the path of the engine's log file; empty means none.
	EngineLog string
}

// wanted returns the optional request features that the load needs and that some servers do not support.
func (l Load) wanted() server.Wanted {
	return server.Wanted{
		Seed: l.RequestSeed, Stop: l.Stop, IgnoreEOS: l.IgnoreEOS, Stream: !l.NoStream, Extra: l.ExtraBody,
		CacheSalt: l.NeedsSalt(), TokenIDs: l.AsksTokenIDs(),
		Temperature: l.Temperature, TopP: l.TopP, Insisted: l.Insisted(),
	}
}

// Command is a command that is run as the load.
type Command struct {
	Argv []string
	Tool enginelog.Tool // reads the command's log
	// Results are files, or folders of files, that the command writes its results into.
	Results []string
	// Before and After are how long telemetry is recorded before and after the command.
	Before, After time.Duration
	// Grace is how long the command may continue after an interrupt.
	Grace time.Duration
}

// Network is how a run reaches servers, and how its live page is reached. A nil function is that of the machine's
// network.
type Network struct {
	// Dial opens connections, as net.Dialer.DialContext does.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Listen is net.Listen.
	Listen func(network, address string) (net.Listener, error)
}

// Environment is what the program passes to each run.
type Environment struct {
	Network
	// Stdout and Stderr get the output of a recorded command.
	Stdout, Stderr io.Writer
	// Console shows the progress of a load, and Log writes messages to the same place.
	Console *Console
	Log     *slog.Logger
	// Series is the sweep, arena or campaign that the run belongs to; nil if it is alone.
	Series *Series
	// Cut, when closed, cancels the requests in flight at once; a done context lets them drain. A nil Cut never
	// cancels.
	Cut <-chan struct{}
	// Exporter is the URL of an exporter's page. The run follows it if no flag names an exporter and it answers. Empty
	// means none.
	Exporter string
	Page     *LivePage
	// Engine starts the engine for the run and stops it; nil if the run does not start its engine.
	Engine *server.EngineLifecycle
}

// Result is the result of a run.
type Result struct {
	// Run is the name of the run.
	Run string
	// Made is the run with its summary, as its folder has it; nil if the run ended before there was a summary.
	Made *summary.Run
	// Unserved is true if an engine was started for the run and never took the load.
	Unserved bool
}

// Summary returns the figures of the run, or nil if there are none.
func (r Result) Summary() *summary.Summary {
	if r.Made == nil {
		return nil
	}
	return &r.Made.Summary
}
