// The simulated engine as a program, for tests of launchers: it listens on the address of its flag.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/umascope/umascope/loadgen/sim"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "engine:", err)
		os.Exit(1)
	}
}

func serve() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: engine HOST:PORT")
	}
	config := sim.Default()
	config.DecodeBase, config.DecodePerSequence, config.PrefillTokensPerSecond = 3*time.Millisecond, 100*time.Microsecond, 60000
	engine, err := sim.New(config)
	if err != nil {
		return err
	}
	go func() { _ = engine.Run(context.Background()) }() // its only error is being started twice
	return http.ListenAndServe(os.Args[1], engine.Handler())
}
