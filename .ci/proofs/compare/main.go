// Compare runs exporters on one machine and prints the cost of a scrape of each:
//
//	go run . [-rounds 30] [-pause 1s] -- NAME URL COMMAND [ARGUMENT...] [-- NAME URL COMMAND ...]...
//
// In every round each exporter is scraped once, in random order, as Prometheus would do it: over a connection that
// stays open, with gzip accepted. The first exporter is the reference of the others.
//
// CPU time is that of the exporter's whole process, from just before its scrape to just before its next one, so that it
// includes garbage collection and other work in between.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 30, "how often each exporter is scraped")
	pause := flag.Duration("pause", time.Second, "time between two scrapes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := compare(ctx, flag.Args(), *rounds, *pause); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func compare(ctx context.Context, args []string, rounds int, pause time.Duration) error {
	exporters, err := parse(args)
	if err != nil {
		return err
	}
	for _, e := range exporters {
		defer e.stop()
		if err := e.start(ctx); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	// The first round is not counted: it opens the connections and fills what is read once.
	for round := range rounds + 1 {
		for _, i := range rand.Perm(len(exporters)) {
			if err := sleep(ctx, pause); err != nil {
				return err
			}
			if err := exporters[i].scrape(ctx, round > 0); err != nil {
				return fmt.Errorf("%s: %w", exporters[i].name, err)
			}
		}
	}
	if err := sleep(ctx, pause); err != nil {
		return err
	}
	for _, e := range exporters {
		if err := e.finish(); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	report(os.Stdout, exporters)
	return nil
}

// parse splits the arguments at "--".
func parse(args []string) ([]*exporter, error) {
	var exporters []*exporter
	for len(args) > 0 {
		end := slices.Index(args, "--")
		if end < 0 {
			end = len(args)
		}
		if end < 3 {
			return nil, fmt.Errorf("%q: want NAME URL COMMAND [ARGUMENT...]", args[:end])
		}
		exporters = append(exporters, &exporter{name: args[0], address: args[1], command: args[2:end]})
		args = args[min(end+1, len(args)):]
	}
	if len(exporters) < 2 {
		return nil, errors.New("at least two exporters, with -- between them")
	}
	return exporters, nil
}

func sleep(ctx context.Context, pause time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}
