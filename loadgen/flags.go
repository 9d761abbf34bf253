package loadgen

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/cmd/webserver"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/workload"
)

// runFlags declares the flags of run, in the order of --help.
func runFlags(set terminal.FlagSet) *settings {
	s := &settings{}
	server.ReplicaFlags(set, &s.Target, &s.Replicas, supported.Engines())
	server.ReadyFlags(set, &s.Target)
	workload.Flags(set, &s.Settings)
	sharingFlags(set, &s.sharing)
	terminal.Flag(set, "expect", "kv=off, kv=cpu_only or kv=cpu_disk: INVALID if telemetry shows other tiers of KVBM.", "", &s.Expect, summary.ParseKVExpectation)
	terminal.Flag(set, "slo", "Limits of a good request, such as ttft=500ms; exit 4 if fewer than 99 % keep them.", "", &s.SLO, summary.ParseSLO)
	keepFlags(set, &s.keeping)
	set.Flag("save-outputs", "Keep what the model wrote, in outputs.jsonl.").BoolVar(&s.KeepOutputs)
	set.Flag("save-prompts", "Keep prompts and answers, in prompts.jsonl; publish leaves them out.").BoolVar(&s.KeepPrompts)
	terminal.Flag(set, "engine-log", "Log file of the engine, for memory and KV cache; with --container not needed.", "", &s.EngineLog, terminal.Text).PlaceHolder("FILE")
	resultFlags(set, &s.results)
	progressFlag(set, &s.progress)
	set.Flag("verbose", "Print a line for each request that has ended.").BoolVar(&s.Verbose)
	set.Flag("print-content", "Print prompts and answers too, cut short.").BoolVar(&s.SeeOutputs)
	return s
}

// keepFlags declares the flags that are the same for every kind of load.
func keepFlags(set terminal.FlagSet, s *keeping) {
	terminal.Flags(set, "label", "NAME=VALUE kept with the run, such as arm=container.", &s.labels, parseLabel, terminal.AsGiven)
	runner.CaptureFlags(set, &s.Capture)
	terminal.Flags(set, "validity", "CODE=VALUE or CODE=off: another limit of a validity rule, by its code in the report.", &s.Validity, terminal.Text, terminal.AsGiven)
	outFlag(set, &s.Out)
	terminal.Flag(set, "run-id", "Name of the run and its folder; default: time, arm and a hash.", "", &s.RunID, terminal.Text)
	webFlags(set, &s.web)
	terminal.Flag(set, "web.linger", "How long page and metrics stay after the run.", "0s", &s.linger, terminal.Duration)
	s.log.Flags(set, defaultLogLevel)
}

// outFlag declares the flag of the folder that run folders are written to.
func outFlag(set terminal.FlagSet, out *string) {
	terminal.Flag(set, "out", "Folder of run folders.", "runs", out, terminal.Text)
}

const defaultLogLevel = "info"

func progressFlag(set terminal.FlagSet, format *runner.ProgressFormat) {
	terminal.Flag(set, "progress", "Progress on standard error: auto (a screen on a terminal), lines, json or none.", string(runner.ProgressAuto), format,
		terminal.OneOf(runner.ProgressAuto, runner.ProgressLines, runner.ProgressJSON, runner.ProgressNone)).HintOptions("auto", "lines", "json", "none")
}

// AddressVariable is the environment variable that sets the default of --web.listen-address. It is for containers,
// whose arguments begin with the verb.
const AddressVariable = "UMA_LOAD_LISTEN_ADDRESS"

func webFlags(set terminal.FlagSet, a *runner.ListenAddress) {
	terminal.Flag(set, "web.listen-address", "Address of the live page and metrics.", DefaultAddress, &a.HostPort, parseListenAddress).IsSetByUser(&a.Explicit).Envar(AddressVariable)
	readerFlags(set, a)
}

// readerFlags declares the flags for access to the page: who may read it, and how.
func readerFlags(set terminal.FlagSet, a *runner.ListenAddress) {
	terminal.Flag(set, "web.config.file", "TLS and passwords of the page; uma-exporter secure makes the file.", "", &a.ConfigFile, terminal.Text).PlaceHolder("FILE")
	webserver.AllowHostFlag(set, &a.AllowHosts)
}

// flagValues returns the values of a verb's flags, for its records.
func (l *commandLine) flagValues(verb *kingpin.CmdClause) map[string]string {
	values := map[string]string{}
	for _, f := range verb.Model().Flags {
		if value := f.Value.String(); value != "" || !f.Hidden { // an earlier spelling only where it is given
			values[f.Name] = value
		}
	}
	return values
}
