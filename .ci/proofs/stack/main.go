// Stack proves the compose stack on a real Docker engine:
//
//	go run . -tools FOLDER -bases FOLDER
//
// or .ci/proofs/stack/prove, which builds and makes both first, and starts this in namespaces of its own, so that it is
// isolated from the other programs of the machine and ends as a whole.
//
// It starts an engine, builds the project's images from their Dockerfiles, and runs the profiles as users do, by
// compose/up, in a copy of the checkout. Images that need a registry are made here under the same names, with the same
// configuration (bases.go); the table at the end lists how they differ.
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

// files are the checkout to prove, and the tools.
type files struct {
	tools    string // a folder of programs: prometheus, promtool, alertmanager, amtool, grafana, docker-compose
	bases    string // a folder of archives, one for each base image
	checkout string
}

func main() {
	// The engine gets a signal when the thread that has started it ends (engine.go). The main goroutine stays on the
	// main thread, which lasts as long as the process.
	runtime.LockOSThread()
	var f files
	flag.StringVar(&f.tools, "tools", "", "folder of the programs that images are made of")
	flag.StringVar(&f.bases, "bases", "", "folder of the root file systems of base images")
	flag.StringVar(&f.checkout, "checkout", "../../..", "root of the checkout")
	keep := flag.String("keep", "", "folder for the logs of all services, kept afterwards")
	limit := flag.Duration("limit", 20*time.Minute, "longest time that all of it may take")
	data := flag.String("data", "", "folder for images and the build cache, kept from pass to pass for whoever works on this; a new one if not given")
	try := flag.Bool("try", false, "only start an engine and end it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	if err := run(ctx, f, *keep, *data, *try); err != nil {
		fmt.Fprintln(os.Stderr, "stack:", err)
		os.Exit(1)
	}
}

// run runs all steps in a folder of its own. Its path is short, because of the sockets in it.
func run(ctx context.Context, f files, keep, data string, try bool) (err error) {
	folder, err := os.MkdirTemp("/tmp", "umascope-stack-")
	if err != nil {
		return err
	}
	e := newEngine(folder, data)
	defer func() { err = errors.Join(err, e.stop(), os.RemoveAll(folder)) }()
	if try {
		return e.start(ctx)
	}
	p := &proof{files: f, folder: folder, keep: keep, engine: e, docker: e.client(f.tools), out: os.Stdout}
	p.prove(ctx)
	p.table()
	return p.verdict()
}
