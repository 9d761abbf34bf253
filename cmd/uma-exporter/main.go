// uma-exporter shows where the memory of a unified-memory machine is.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/exporter"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the program at once
	// The end of the reader ends explain --watch; a server goes on when its log has no reader any more.
	code := exporter.Run(ctx, os.Args[1:], terminal.Stdout(stop), os.Stderr)
	stop()
	os.Exit(code)
}
