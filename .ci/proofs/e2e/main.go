// E2e proves the whole of umascope against a real Prometheus and a real Alertmanager:
//
//	go run . -prometheus FILE -alertmanager FILE -uma-load FILE
//
// or .ci/proofs/e2e/prove, which builds the three first. The programs that it starts listen on the loopback and end
// with it.
//
// In this process: three simulated machines on their own clocks, each with the project's exporter, and a simulated
// engine that one of the machines follows. In other processes: uma-load, Prometheus and Alertmanager, with the
// project's own configuration, rules and dashboards. substitute.go lists the changes in these files with their reasons:
// addresses, paths and waiting times only.
//
// It prints a table of its steps, and exits with 1 if any step failed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// files are the programs and the checkout that are proven.
type files struct {
	prometheus, alertmanager, umaLoad, checkout string
}

func main() {
	// Programs end with the thread that has started them (see process.go). The main goroutine stays on the main thread,
	// which lasts as long as the process.
	runtime.LockOSThread()
	var f files
	flag.StringVar(&f.prometheus, "prometheus", "", "Prometheus' program")
	flag.StringVar(&f.alertmanager, "alertmanager", "", "Alertmanager's program")
	flag.StringVar(&f.umaLoad, "uma-load", "", "uma-load of this checkout")
	flag.StringVar(&f.checkout, "checkout", "../../..", "root of the checkout")
	keep := flag.String("keep", "", "folder for logs, configuration and data, kept afterwards; a temporary one if not given")
	limit := flag.Duration("limit", 6*time.Minute, "longest time that all of it may take")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	if err := run(ctx, f, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
}

// run proves everything in a folder of its own.
func run(ctx context.Context, f files, folder string) (err error) {
	if f.prometheus == "" || f.alertmanager == "" || f.umaLoad == "" {
		return errors.New("-prometheus, -alertmanager and -uma-load must be given: .ci/proofs/e2e/prove builds them")
	}
	if folder == "" {
		if folder, err = os.MkdirTemp("", "umascope-e2e-"); err != nil {
			return err
		}
		defer os.RemoveAll(folder)
	} else if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	p := &proof{files: f, folder: folder, out: os.Stdout, used: map[string]bool{}}
	defer p.end()
	p.prove(ctx)
	p.table()
	return p.verdict()
}
