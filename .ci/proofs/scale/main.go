// Scale measures one Prometheus, with the configuration, rules and dashboards of the stack, over many machines:
//
//	go run . -prometheus FILE [-hosts 200] [-for 10m]
//
// or .ci/proofs/scale/measure, which builds Prometheus first. The machines are simulated, each on a clock and under a
// load of its own, and the project's exporter makes its page; all of them are one process, so that their cost is
// separate from that of Prometheus. All servers listen on loopback and end with this program.
//
// It is a measurement without a pass or a fail. Its output on one machine, and the estimate for a thousand, is in
// compose/fleet/SCALE.md.
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

// wish is the configuration of the measurement.
type wish struct {
	prometheus, checkout, keep string
	hosts                      int
	interval, warm, during     time.Duration
	engines                    bool
}

func main() {
	runtime.LockOSThread() // children end with the thread that started them (see process.go)
	var w wish
	flag.StringVar(&w.prometheus, "prometheus", "", "Prometheus' program")
	flag.StringVar(&w.checkout, "checkout", "../../..", "root of the checkout")
	flag.StringVar(&w.keep, "keep", "", "folder for logs, configuration and data, kept afterwards; a temporary one if not given")
	flag.IntVar(&w.hosts, "hosts", 200, "machines")
	flag.DurationVar(&w.interval, "interval", 5*time.Second, "time between scrapes, and between evaluations of rules; the stack's is 5s")
	flag.DurationVar(&w.warm, "warm", 2*time.Minute, "time before anything is measured")
	flag.DurationVar(&w.during, "for", 10*time.Minute, "time that is measured")
	flag.BoolVar(&w.engines, "engines", true, "give each machine the pages of an engine and of KVBM, one for all of them")
	serve := flag.Bool("serve", false, "be the machines, and nothing else: how this program starts itself")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := errors.New("-prometheus must be given: .ci/proofs/scale/measure builds it; -hosts, -interval and -for must be above 0")
	switch {
	case *serve:
		err = serveFleet(ctx, w.hosts, w.engines, os.Stdout)
	case w.prometheus != "" && w.hosts > 0 && w.interval >= time.Second && w.during > 0:
		err = run(ctx, w)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// run measures in a folder of its own.
func run(ctx context.Context, w wish) error {
	folder := w.keep
	if folder == "" {
		made, err := os.MkdirTemp("", "umascope-scale-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(made)
		folder = made
	}
	s, err := start(ctx, w, folder)
	defer s.stop()
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d machines are up; %s until measuring begins, which takes %s\n", w.hosts, w.warm, w.during)
	if err := wait(ctx, w.warm); err != nil {
		return err
	}
	before, err := s.look()
	if err != nil {
		return err
	}
	if err := wait(ctx, w.during); err != nil {
		return err
	}
	after, err := s.look()
	if err != nil {
		return err
	}
	return s.report(ctx, os.Stdout, before, after)
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
