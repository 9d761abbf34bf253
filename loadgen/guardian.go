package loadgen

import (
	"context"
	"os"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/loadgen/campaign/arm"
)

// guardianVerbName is the verb of the guardian processes that a campaign starts with its arms.
const guardianVerbName = "guardian"

const guardianHelp = "Stop an arm when the campaign that started it is killed. A campaign starts it itself, with a pipe as standard input."

// guardianVerb declares the verb guardian. It is hidden, since only the program itself uses it. The guardian ignores
// signals, so that a signal to all processes of a campaign does not end the guardian first.
func guardianVerb(app *kingpin.Application) verb {
	clause := app.Command(guardianVerbName, guardianHelp).Hidden()
	clause.Arg("folder", "Folder of the arm, for lists of processes.").String()
	return verb{clause, func(ctx context.Context, _ Program) error {
		return arm.Guard(context.WithoutCancel(ctx), os.Stdin)
	}}
}

// guardian returns the command line of guardians, or an empty one if the program cannot start itself.
func (p Program) guardian() []string {
	if p.Executable == "" {
		return nil
	}
	return []string{p.Executable, guardianVerbName}
}
