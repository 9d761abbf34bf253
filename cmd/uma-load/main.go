// Uma-load drives OpenAI-compatible servers and measures them.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/umascope/umascope/loadgen"
)

// The first signal lets requests in flight end, the second cancels them; either way the run
// folder is complete. Whoever cannot wait for that has SIGKILL, which loses a second at most.
func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, stop := context.WithCancel(context.Background())
	cut := make(chan struct{})
	go func() {
		<-signals
		stop()
		<-signals
		close(cut)
	}()
	program := loadgen.Program{Stdout: os.Stdout, Stderr: os.Stderr, Cut: cut}
	os.Exit(program.Run(ctx, os.Args[1:]))
}
