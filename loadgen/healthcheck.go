package loadgen

import (
	"context"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/cmd/webserver"
	"github.com/umascope/umascope/loadgen/runner"
)

const healthcheckHelp = `Check that a run, a campaign or serve answers.

  uma-load healthcheck
  uma-load healthcheck --web.listen-address 127.0.0.1:10422  # of serve

Exit codes: 0 if it answers, 1 if not.`

func healthcheckVerb(app *kingpin.Application) verb {
	h := &runner.Health{}
	clause := app.Command("healthcheck", healthcheckHelp)
	terminal.Flag(clause, "web.listen-address", "Address of the program that is asked.", DefaultAddress, &h.Address.HostPort, parseListenAddress).Envar(AddressVariable)
	terminal.Flag(clause, "url", "Page to ask instead, such as https://spark-1:10421"+webserver.HealthPath+".", "", &h.URL, terminal.Text)
	terminal.Flag(clause, "http.config.file", "TLS and credentials to ask with; uma-exporter secure makes the file.", "", &h.ConfigFile, terminal.Text).PlaceHolder("FILE")
	return verb{clause, func(ctx context.Context, _ Program) error { return runner.Healthcheck(ctx, *h) }}
}
