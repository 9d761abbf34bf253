// Uma-load drives OpenAI-compatible servers and measures them.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen"
)

// The first signal lets requests in flight end, the second cancels them; either way the run folder is complete. SIGKILL
// ends it at once, and loses a second of data at most.
func main() {
	// Ctrl-C also ends a tee that reads the output; without this, the next message would end this program while it
	// writes its folder.
	stdout := terminal.Stdout(nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(signals, syscall.SIGHUP)
	}
	ctx, stop := context.WithCancel(context.Background())
	cut := make(chan struct{})
	go func() {
		<-signals
		stop()
		<-signals
		close(cut)
	}()
	program := loadgen.Program{Stdout: stdout, Stderr: os.Stderr, Cut: cut, Exporter: loadgen.LocalExporter, Executable: "/proc/self/exe"}
	os.Exit(program.Run(ctx, os.Args[1:]))
}
