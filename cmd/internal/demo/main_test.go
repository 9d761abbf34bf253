package demo

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/umascope/umascope/loadgen"
)

// TestMain lets the test binary stand for uma-demo where a test, or a campaign in one, starts it as a program of its own:
// plans name the program that runs as that of their arms.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == commandArm {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		os.Exit(Program{Stdout: os.Stdout, Stderr: os.Stderr, Load: loadgen.Run}.Run(ctx, os.Args[1:]))
	}
	os.Exit(m.Run())
}
