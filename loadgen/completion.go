package loadgen

import (
	"context"
	"io"

	"github.com/alecthomas/kingpin/v2"
)

const completionHelp = `Print a completion script for a shell.

  uma-load completion bash > ~/.local/share/bash-completion/completions/uma-load
  uma-load completion zsh > ~/.zfunc/_uma-load`

func completionVerb(app *kingpin.Application) verb {
	clause := app.Command("completion", completionHelp)
	shell := clause.Arg("shell", "bash or zsh.").Required().Enum("bash", "zsh")
	return verb{clause, func(_ context.Context, p Program) error { return completionScript(p.Stdout, app, *shell) }}
}

// completionScript prints the script of a shell that completes the command lines of the program.
func completionScript(w io.Writer, app *kingpin.Application, shell string) error {
	template := kingpin.BashCompletionTemplate
	if shell == "zsh" {
		template = kingpin.ZshCompletionTemplate
	}
	parsed, err := app.ParseContext(nil)
	if err != nil {
		return err
	}
	app.UsageWriter(w)
	return app.UsageForContextWithTemplate(parsed, 2, template)
}
