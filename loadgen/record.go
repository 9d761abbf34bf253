package loadgen

import (
	"context"
	"errors"
	"fmt"

	"github.com/umascope/umascope/loadgen/runner"
)

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
