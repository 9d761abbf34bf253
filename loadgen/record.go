package loadgen

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/subprocess"
)

const recordHelp = `Run a command as the load, for benchmarks without a server.

  uma-load record --label arm=native --extract trtllm -- \
      trtllm-bench --model MODEL throughput --dataset data.jsonl
  uma-load record --label arm=container --extract trtllm -- \
      docker run --rm --gpus all -e PYTHONUNBUFFERED=1 -v /data:/data IMAGE \
      trtllm-bench --model /data/m throughput --dataset /data/d.jsonl
  uma-load record --before 5s --after 5s -- python3 bench.py

Telemetry is kept from before the command to after it, phases begin with lines of its log, and the figures that it reports are read from them; latency is null.

The command gets no standard input, its output is shown as it comes and kept in logs/. Its environment is this one, with PYTHONUNBUFFERED=1 unless it is set: Python would hold back lines, and phases begin when a line comes. Its arguments are not recorded, only the names of its options: keys stand in arguments.

Exit codes: that of the command, if it is not 0, or 128 and the signal that ended it; else 1 if it was interrupted, 2 if it could not be started, 3 if the run is INVALID.`

// recordSettings are the flags of record.
type recordSettings struct {
	runner.Command
	keeping
	results results
}

// recordLine declares the flags of record on the command line.
type recordLine struct {
	verb     *kingpin.CmdClause
	settings *recordSettings
}

func recordFlags(app *kingpin.Application) recordLine {
	verb, s := app.Command("record", recordHelp), &recordSettings{}
	var tools []string
	for _, tool := range enginelog.Tools(supported.Engines()) {
		tools = append(tools, tool.Name+": "+tool.Help)
	}
	terminal.Flag(verb, "extract", "What reads the log. "+strings.Join(tools, "; ")+".", enginelog.None, &s.Tool, func(name string) (enginelog.Tool, error) { return enginelog.Find(supported.Engines(), name) })
	terminal.Flags(verb, "result", "File or folder of results that the command writes; read at its end if --extract knows its form.", &s.Results, terminal.Text, terminal.AsGiven)
	terminal.Flag(verb, "before", "How long the machine is watched before the command.", "30s", &s.Before, terminal.Duration)
	terminal.Flag(verb, "after", "How long it is watched afterwards.", "30s", &s.After, terminal.Duration)
	terminal.Flag(verb, "grace", "How long the command may go on after an interrupt, which is handed on to it.", "30s", &s.Grace, terminal.Duration)
	keepFlags(verb, &s.keeping)
	verb.Flag("xlsx", "Write "+rundir.WorkbookFile+" too: sheets Summary and Reported.").BoolVar(&s.results.xlsx)
	verb.Flag("csv", "Write "+rundir.SummaryCSVFile+" too.").BoolVar(&s.results.csv)
	verb.Arg("command", "The command and its arguments, after --.").Required().StringsVar(&s.Argv)
	return recordLine{verb, s}
}

// resolve sets the values that depend on other settings and refuses settings that contradict each other.
func (s *recordSettings) resolve(host string) error {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return errors.New("no command; it comes after --")
	}
	if len(s.Results) > 0 && !s.Tool.HasResults() {
		return fmt.Errorf("--result: --extract %s reads no files", s.Tool)
	}
	s.Capture.Server = subprocess.ServerAddress(s.Argv[1:])
	return s.keeping.resolve(host)
}

// checkRecord checks the flags of a recording against each other, and completes them.
func (l *commandLine) checkRecord() (*recordSettings, error) {
	s := l.record.settings
	return s, l.complete(l.record.verb, &s.keeping, s.resolve)
}

// measureCommand carries out the verb record.
func (l *commandLine) measureCommand(ctx context.Context, env runner.Environment) error {
	s, err := l.checkRecord()
	if err != nil {
		return err
	}
	return s.measure(ctx, env, func(env runner.Environment) (runner.Result, error) { return makeRecording(ctx, s, env) })
}

// makeRecording makes one run whose load is a command. It writes its pages and the tables that were asked for, and
// prints its figures after the command's output.
func makeRecording(ctx context.Context, s *recordSettings, env runner.Environment) (runner.Result, error) {
	result, err := runner.Record(ctx, s.Keep, s.Command, env)
	made := result.Made
	if made == nil {
		return result, err
	}
	err = errors.Join(err, showRun(*made), writeResults(made.Folder, s.results, made.Summary))
	_, printed := fmt.Fprintln(env.Stdout)
	return result, errors.Join(err, printed, printRun(env.Stdout, made.Folder, made.Summary))
}
