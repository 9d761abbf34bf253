// Spark serves the simulated engine for other people's load clients, until a signal.
//
//	spark ADDRESS [without-prefix-cache | context=TOKENS]
//
// With a context it is a hundred times as fast, since only the order of things matters there, and holds five requests of
// that length.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/umascope/umascope/loadgen/sim"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "spark:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	usage := errors.New("want ADDRESS [without-prefix-cache | context=TOKENS]")
	if len(args) == 0 || len(args) > 2 {
		return usage
	}
	config := sim.Default()
	config.Model = "sim/simulated-8b"
	if len(args) == 2 {
		tokens, has := strings.CutPrefix(args[1], "context=")
		context, err := strconv.Atoi(tokens)
		switch {
		case args[1] == "without-prefix-cache":
			config.KV.TokensPerBlock = config.MaxModelTokens // only whole blocks are found again
		case has && err == nil:
			config.MaxModelTokens, config.KVCacheTokens = context, 5*context+config.KV.TokensPerBlock
			config.PrefillTokensPerSecond *= 100
			config.DecodeBase /= 10
			config.DecodePerSequence /= 10
		default:
			return usage
		}
	}
	engine, err := sim.New(config)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server := &http.Server{Addr: args[0], Handler: engine.Handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close() // answers in progress are not needed
	}()
	go func() { _ = engine.Run(ctx) }() // clients see whether it serves
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
