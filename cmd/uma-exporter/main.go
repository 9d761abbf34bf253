// uma-exporter shows where the memory of a unified-memory machine is.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/umascope/umascope/exporter"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the program at once, whatever it waits for
	code := exporter.Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
