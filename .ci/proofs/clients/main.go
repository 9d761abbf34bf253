// Clients compares load clients on one machine against one server that records when it wrote each event: the cost of
// each client, and the errors of its figures.
//
//	go build -o /tmp/clients . && go build -C ../../.. -o /tmp/uma-load ./cmd/uma-load
//	/tmp/clients -uma-load /tmp/uma-load -server-core 1 -client-core 2 -many-cores 3-10 streams open closed burst
//
// Experiments: streams (CPU of an event, memory, accuracy), truth (the figures of every installed client and the ground
// truth), definitions (the same with a server that separates the definitions), open (arrivals by the clock), closed
// (requests and connections a second), burst (requests at the same moment), sampler (the telemetry of uma-load).
//
// Without -uma-load it runs only the bare reader, and vegeta, which is linked in. It takes clients in Python from the
// interpreter of -python, if they are installed; they need a -tokenizer folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// lab is the machine with its programs.
type lab struct {
	self, address                     string
	serverCore, clientCore, manyCores string // as taskset takes them; empty: any
	umaLoad, umaExporter              string
	python, multiTurn, tokenizer      string
	out                               string
	repeats, streams                  int
	window                            time.Duration
}

// experiment is an experiment with its name.
type experiment struct {
	name string
	run  func(context.Context, *lab) error
}

func experiments() []experiment {
	return []experiment{
		{"streams", accuracy}, {"truth", truthOfAll}, {"definitions", definitions}, {"open", openLoop}, {"closed", closedLoop}, {"burst", burst}, {"sampler", sampler},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	// Sub-commands that this program starts itself, so that server and client are separate processes.
	if len(args) > 0 {
		switch args[0] {
		case "serve":
			return serve(args[1:])
		case "read":
			return read(args[1:])
		case "attack":
			return attack(args[1:])
		}
	}
	l, names, err := parse(args)
	if err != nil {
		return err
	}
	l.describe(ctx)
	for _, e := range experiments() {
		if slices.Contains(names, e.name) {
			if err := e.run(ctx, l); err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
		}
	}
	return nil
}

func parse(args []string) (*lab, []string, error) {
	l := &lab{}
	flags := flag.NewFlagSet("clients", flag.ContinueOnError)
	flags.StringVar(&l.address, "address", "127.0.0.1:18400", "where the server listens")
	flags.StringVar(&l.serverCore, "server-core", "", "core of the server")
	flags.StringVar(&l.clientCore, "client-core", "", "core of a client")
	flags.StringVar(&l.manyCores, "many-cores", "", "cores of a client made of several processes")
	flags.StringVar(&l.umaLoad, "uma-load", "", "path of uma-load")
	flags.StringVar(&l.umaExporter, "uma-exporter", "", "path of uma-exporter, for sampler")
	flags.StringVar(&l.python, "python", "", "Python that has the other clients")
	flags.StringVar(&l.multiTurn, "multi-turn", "", "path of vLLM's benchmark_serving_multi_turn.py")
	flags.StringVar(&l.tokenizer, "tokenizer", "", "folder of a tokenizer for the clients in Python")
	flags.StringVar(&l.out, "out", "out", "folder for what the clients write")
	flags.IntVar(&l.repeats, "repeats", 5, "runs of each client")
	flags.IntVar(&l.streams, "streams", 1000, "streams at the same time")
	flags.DurationVar(&l.window, "window", 6*time.Second, "how long CPU time is looked at")
	if err := flags.Parse(args); err != nil {
		return nil, nil, err
	}
	var known []string
	for _, e := range experiments() {
		known = append(known, e.name)
	}
	for _, name := range flags.Args() {
		if !slices.Contains(known, name) {
			return nil, nil, fmt.Errorf("experiment %q: want %s", name, strings.Join(known, ", "))
		}
	}
	if flags.NArg() == 0 {
		return nil, nil, errors.New("no experiment: want " + strings.Join(known, ", "))
	}
	var err error
	if l.self, err = os.Executable(); err != nil {
		return nil, nil, err
	}
	return l, flags.Args(), os.MkdirAll(l.out, 0o755)
}
