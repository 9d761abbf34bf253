package loadgen

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runner"
)

// checkRun checks the flags of a run against each other and sets the values that depend on others.
func (l *commandLine) checkRun() (*settings, error) {
	return l.settings, l.complete(l.run, &l.settings.keeping, l.settings.resolve)
}

// complete resolves the settings of a verb that makes a run, and adds what its manifest has of the command line.
func (l *commandLine) complete(verb *kingpin.CmdClause, s *keeping, resolve func(host string) error) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	if err := resolve(host); err != nil {
		return usage(err)
	}
	s.Flags, s.Program = l.flagValues(verb), buildVersion()
	return nil
}

// measureRun carries out the verb run.
func (l *commandLine) measureRun(ctx context.Context, env runner.Environment) error {
	s, err := l.checkRun()
	if err != nil {
		return err
	}
	return s.measure(ctx, env, func(env runner.Environment) (runner.Result, error) { return makeRun(ctx, s, env) })
}

// measure makes one run with a live page of its own, which stays for a while afterwards, and judges the run.
func (s *keeping) measure(ctx context.Context, env runner.Environment, makeOne func(runner.Environment) (runner.Result, error)) error {
	var err error
	if env.Page, err = runner.OpenLivePage(s.web, env.Network, env.Log); err != nil {
		return err
	}
	defer env.Page.Close()
	result, err := makeOne(env)
	if err != nil {
		return err
	}
	env.Page.Report(result.Made.Folder.Path(rundir.HTMLFile))
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
func quiet(env runner.Environment, log terminal.Log, page *runner.LivePage) runner.Environment {
	env.Stdout, env.Stderr, env.Page, env.Log = io.Discard, env.Console, page, log.Logger(env.Console)
	return env
}
