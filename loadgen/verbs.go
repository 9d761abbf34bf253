package loadgen

import (
	"context"
	"slices"

	"github.com/alecthomas/kingpin/v2"
)

// verb is a command of the program: its clause, and what it does once the command line is parsed. do takes out of
// the program what the verb needs, such as the writer of its output, and passes on nothing else.
type verb struct {
	clause *kingpin.CmdClause
	do     func(ctx context.Context, p Program) error
}

// verbs are the commands that need nothing of the command line but their own flags. Those that make runs (run, sweep,
// record) stand in commandLine: a campaign and a sweep write such command lines.
func verbs(app *kingpin.Application) []verb {
	return append(slices.Concat(armVerbs(app), campaignVerbs(app), runsVerbs(app)),
		compareVerb(app),
		hostsVerb(app),
		importVerb(app),
		mergeVerb(app),
		publishVerb(app),
		reportVerb(app),
		serveVerb(app),
		checkVerb(app),
		completionVerb(app),
		healthcheckVerb(app),
		guardianVerb(app),
	)
}
