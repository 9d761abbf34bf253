// Command uma-demo shows umascope on one machine, with no GPU and no Docker.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/umascope/umascope/cmd/internal/demo"
	"github.com/umascope/umascope/cmd/internal/view"
	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen"
)

func main() { os.Exit(run()) }

// run drains the load on the first signal and cuts it on the second. The third ends the program at once: the processes
// that it has started notice that.
func run() int {
	stdout := terminal.Stdout(nil) // the page is written even if the output has no reader any more
	ctx, drain := context.WithCancel(context.Background())
	defer drain()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(signals, syscall.SIGHUP)
	}
	defer signal.Stop(signals)
	cut := make(chan struct{})
	go func() {
		<-signals
		drain()
		<-signals
		close(cut)
		signal.Stop(signals)
	}()
	load := func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		return loadgen.Program{Stdout: stdout, Stderr: stderr, Cut: cut}.Run(ctx, args)
	}
	return demo.Program{Stdout: stdout, Stderr: os.Stderr, Load: load, View: view.Run}.Run(ctx, os.Args[1:])
}
