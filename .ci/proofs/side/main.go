// Side belongs to the proof of cells beside llama-benchy: servers that stamp the truth of each request, and the judge of
// what both clients report.
//
//	side serve FAULT ADDRESS TRUTH             serves until a signal: none, early-role, four, failures or no-cache
//	side pass URL ADDRESS TRUTH                stamps what it passes on to a server and back, until a signal
//	side cost FILE COMMAND...                  runs a command and writes what it took: CPU time and peak memory
//	side judge [FLAGS] FOLDER...               judges the sessions of servers and prints a table
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "side:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 4 && args[0] == "serve":
		handler, err := newServer(args[1])
		if err != nil {
			return err
		}
		return serve(args[2], args[3], handler, &handler.truth)
	case len(args) == 4 && args[0] == "pass":
		handler, err := newPass(args[1])
		if err != nil {
			return err
		}
		return serve(args[2], args[3], handler, &handler.truth)
	case len(args) > 2 && args[0] == "cost":
		return measureCost(args[1], args[2:])
	case len(args) > 1 && args[0] == "judge":
		return judge(os.Stdout, args[1:])
	}
	return errors.New("want serve, pass, cost or judge, see the head of main.go")
}

// serve serves until a signal and writes the truth last, so that it costs the clients nothing.
func serve(address, file string, handler http.Handler, all *truth) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	listening := http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = listening.Close() })
	if err := listening.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return all.write(file)
}
