// Command uma-view keeps the history of this machine and shows dashboards, alerts and runs, without Docker and without
// Grafana.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/umascope/umascope/cmd/internal/view"
	"github.com/umascope/umascope/cmd/terminal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(view.Run(ctx, os.Args[1:], terminal.Stdout(nil), os.Stderr))
}
