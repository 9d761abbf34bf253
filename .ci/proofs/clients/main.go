// Clients belongs to the measurement of load clients: the server that records when it wrote each event, and a client that does nothing but
// read.
//
//	clients serve ADDRESS TRUTH FIRST GAP TOKENS    serves until a signal, then writes the ground truth, a stream a line
//	clients read URL RATE REQUESTS TOKENS           sends at fixed intervals, and prints a stream a line
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 6 && args[0] == "serve":
		first, err := time.ParseDuration(args[3])
		gap, gapErr := time.ParseDuration(args[4])
		tokens, tokensErr := strconv.Atoi(args[5])
		return errors.Join(err, gapErr, tokensErr, serve(args[1], args[2], newServer(first, gap, tokens)))
	case len(args) == 5 && args[0] == "read":
		rate, err := strconv.ParseFloat(args[2], 64)
		requests, requestsErr := strconv.Atoi(args[3])
		tokens, tokensErr := strconv.Atoi(args[4])
		if err := errors.Join(err, requestsErr, tokensErr); err != nil {
			return err
		}
		r := newReader(args[1], tokens, requests)
		r.sendAll(requests, time.Duration(float64(time.Second)/rate))
		return r.write(os.Stdout)
	}
	return errors.New("want serve or read, see the head of main.go")
}

func milliseconds(nanoseconds int64) float64 { return float64(nanoseconds) / 1e6 }
