package loadgen

import (
	"context"
	"os"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/loadgen/campaign/arm"
)

// guardianVerbName is the verb of the processes that a campaign starts beside its arms.
const guardianVerbName = "guardian"

const guardianHelp = "Stop an arm when the campaign that started it is killed. A campaign starts it itself, with a pipe as standard input."

// guardianVerb is hidden: it is for the program itself. Signals do not end it, so that a stop of everything that the campaign has
// started does not take the guardian first.
func guardianVerb(app *kingpin.Application) verb {
	clause := app.Command(guardianVerbName, guardianHelp).Hidden()
	clause.Arg("folder", "Folder of the arm, for lists of processes.").String()
	return verb{clause, func(ctx context.Context, _ Program) error {
		return arm.Guard(context.WithoutCancel(ctx), os.Stdin)
	}}
}

// guardian is the command line of guardians; empty where the program cannot start itself.
func (p Program) guardian() []string {
	if p.Executable == "" {
		return nil
	}
	return []string{p.Executable, guardianVerbName}
}
