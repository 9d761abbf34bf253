package loadgen

import (
	"context"
	"io"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/server"
)

const checkHelp = `Check which engine and models a server has, and what it accepts.

  uma-load check --url http://127.0.0.1:8000
  uma-load check --url https://llm.example.org --api-key-file key.txt --json

It asks for a few tokens and measures nothing. Exit code 2 if the server cannot be measured, with the reason.`

// checkLine holds the flags of the verb check.
type checkLine struct {
	target server.Target
	asJSON bool
}

func checkVerb(app *kingpin.Application, l *checkLine) verb {
	clause := app.Command("check", checkHelp)
	server.Flags(clause, &l.target, supported.Engines())
	server.TimeoutFlag(clause, &l.target)
	clause.Flag("json", "Print JSON.").BoolVar(&l.asJSON)
	return verb{clause, func(ctx context.Context, p Program) error { return l.run(ctx, p.Stdout) }}
}

// run carries out the verb check.
func (l *checkLine) run(ctx context.Context, stdout io.Writer) error {
	if l.target.URL == "" {
		return usage(errNoURL)
	}
	found, failure := server.Check(ctx, l.target)
	if found != nil {
		if err := found.Print(stdout, l.asJSON); err != nil {
			return err
		}
	}
	if failure != nil {
		return usage(failure)
	}
	return nil
}
