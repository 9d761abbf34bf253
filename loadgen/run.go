package loadgen

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/umascope/umascope/loadgen/runner"
)

// checkRun checks the flags of a run against each other and sets the values that depend on others.
func (l *commandLine) checkRun() (*settings, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	s := l.settings
	if err := s.resolve(host); err != nil {
		return nil, usage(err)
	}
	s.Flags, s.Program = l.flagValues(l.run), buildVersion()
	return s, nil
}

// measureRun carries out the verb run.
func (l *commandLine) measureRun(ctx context.Context, env runner.Environment) error {
	s, err := l.checkRun()
	if err != nil {
		return err
	}
	if env.Page, err = runner.OpenLivePage(s.web, env.Log); err != nil {
		return usage(err)
	}
	defer env.Page.Close()
	result, err := makeRun(ctx, s, env)
	if err != nil {
		return err
	}
	linger(ctx, env.Cut, s.linger, env.Log)
	return judge(*result.Summary())
}

// makeRun makes one run, writes its pages and the files that were asked for, and prints its figures.
func makeRun(ctx context.Context, s *settings, env runner.Environment) (runner.Result, error) {
	result, err := runner.Run(ctx, s.Keep, s.Load, env)
	made := result.Made
	if made == nil {
		return result, err
	}
	err = errors.Join(err, showRun(*made))
	if !result.Unserved {
		err = errors.Join(err, writeResults(made.Folder, s.results, made.Summary), printRun(env.Stdout, made.Folder, made.Summary))
	}
	return result, err
}

// quiet returns the environment of one of many runs. Its figures go to its own folder and not to the terminal.
func quiet(env runner.Environment, logLevel string, page *runner.LivePage) runner.Environment {
	env.Stdout, env.Page, env.Console = io.Discard, page, runner.NewConsole(env.Stderr)
	env.Log = newLogger(env.Console, logLevel)
	return env
}
