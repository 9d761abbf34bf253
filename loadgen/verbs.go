package loadgen

import (
	"context"
	"slices"

	"github.com/alecthomas/kingpin/v2"
)

// verb is a command of the program: its clause, and do, which runs once the command line is parsed. do takes from the
// program only what the verb needs, such as the writer of its output.
type verb struct {
	clause *kingpin.CmdClause
	do     func(ctx context.Context, p Program) error
}

// verbs returns the commands that need only their own flags. The commands that make runs (run, sweep, arena, record) are in
// commandLine, since a campaign and a sweep write such command lines.
func verbs(app *kingpin.Application, check *checkLine) []verb {
	return append(slices.Concat(armVerbs(app), campaignVerbs(app), runsVerbs(app)),
		compareVerb(app),
		hostsVerb(app),
		importVerb(app),
		mergeVerb(app),
		publishVerb(app),
		reportVerb(app),
		serveVerb(app),
		checkVerb(app, check),
		completionVerb(app),
		healthcheckVerb(app),
		guardianVerb(app),
	)
}
