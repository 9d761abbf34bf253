package loadgen

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/umascope/umascope/loadgen/runner"
)

// checkRecord checks the flags of a recording against each other, and completes them.
func (l *commandLine) checkRecord() (*recordSettings, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	s := l.record.settings
	if err := s.resolve(host); err != nil {
		return nil, err
	}
	s.Flags, s.Program = l.flagValues(l.record.verb), buildVersion()
	return s, nil
}

// measureCommand carries out the verb record.
func (l *commandLine) measureCommand(ctx context.Context, env runner.Environment) error {
	s, err := l.checkRecord()
	if err != nil {
		return usage(err)
	}
	if env.Page, err = runner.OpenLivePage(s.web, env.Log); err != nil {
		return usage(err)
	}
	defer env.Page.Close()
	result, err := makeRecording(ctx, s, env)
	if err != nil {
		return err
	}
	linger(ctx, env.Cut, s.linger, env.Log)
	return judge(*result.Summary())
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
