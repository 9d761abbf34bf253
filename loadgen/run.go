package loadgen

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/umascope/umascope/loadgen/live"
	"github.com/umascope/umascope/loadgen/runner"
)

// checkRun checks the flags of a run against each other, and completes them.
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

// measure runs the verb run.
func (p Program) measure(ctx context.Context, line *commandLine) error {
	s, err := line.checkRun()
	if err != nil {
		return err
	}
	env := p.environment(s.keeping)
	if env.Page, err = live.OpenPage(s.web, env.Log); err != nil {
		return usage(err)
	}
	defer env.Page.Close()
	result, err := makeRun(ctx, s, env)
	if err != nil {
		return err
	}
	linger(ctx, p.Cut, s.linger, env.Log)
	return judge(*result.Summary())
}

// environment is that of a run which has the terminal for itself.
func (p Program) environment(k keeping) runner.Environment {
	console := live.NewConsole(p.Stderr)
	return runner.Environment{
		Stdout: p.Stdout, Stderr: p.Stderr, Console: console, Log: newLogger(console, k.logLevel), Cut: p.Cut, Exporter: p.Exporter,
	}
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

// quiet is the environment of one of many runs: its figures go to its own folder, not to the terminal.
func (p Program) quiet(k keeping, page *live.Page) runner.Environment {
	env := p.environment(k)
	env.Stdout, env.Page = io.Discard, page
	return env
}
