package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// attack is the sub-command that sends plain requests with vegeta, the library, and writes its report, a request a
// line. With a rate of 0 it keeps the given number of requests in flight.
func attack(args []string) error {
	flags := flag.NewFlagSet("attack", flag.ContinueOnError)
	url := flags.String("url", "", "server")
	rate := flags.Int("rate", 0, "requests a second")
	workers := flags.Int("workers", 0, "with rate 0: requests in flight")
	duration := flags.Duration("duration", time.Second, "how long to send")
	out := flags.String("out", "", "file of what was measured")
	if err := flags.Parse(args); err != nil {
		return err
	}
	file, err := os.Create(*out)
	if err != nil {
		return err
	}
	targeter := vegeta.NewStaticTargeter(vegeta.Target{
		Method: http.MethodPost, URL: *url + "/v1/chat/completions", Header: http.Header{"Content-Type": {"application/json"}},
		Body: []byte(`{"model":"` + model + `","stream":true,"max_tokens":1,"messages":[{"role":"user","content":"token"}]}`),
	})
	options := []func(*vegeta.Attacker){vegeta.Connections(1 << 14)}
	if *rate == 0 {
		options = append(options, vegeta.Workers(uint64(*workers)), vegeta.MaxWorkers(uint64(*workers)))
	}
	pacer := vegeta.Rate{Freq: *rate, Per: time.Second}
	var all []*vegeta.Result
	for result := range vegeta.NewAttacker(options...).Attack(targeter, pacer, *duration, "") {
		all = append(all, result)
	}
	encoder, begun := json.NewEncoder(file), beginning(all, *rate)
	for _, result := range all {
		if result.Error != "" {
			return fmt.Errorf("vegeta: %s", result.Error)
		}
		if err := encoder.Encode(reportedByVegeta(result, begun, *rate)); err != nil {
			return err
		}
	}
	return file.Close()
}

// offset is when a request is due after the first: vegeta numbers them in the order in which it sends.
func offset(result *vegeta.Result, rate int) time.Duration {
	if rate == 0 {
		return 0
	}
	return time.Duration(result.Seq) * time.Second / time.Duration(rate)
}

// beginning is the latest possible start of the attack: vegeta does not report it, and no request was sent early.
func beginning(all []*vegeta.Result, rate int) time.Time {
	var begun time.Time
	for _, result := range all {
		if at := result.Timestamp.Add(-offset(result, rate)); begun.IsZero() || at.Before(begun) {
			begun = at
		}
	}
	return begun
}

// reportedByVegeta converts a result to a stream. The lag follows from its number and the rate.
func reportedByVegeta(result *vegeta.Result, begun time.Time, rate int) stream {
	s := stream{ID: result.Headers.Get(idHeader), TotalMS: milliseconds(int64(result.Latency))}
	if rate > 0 {
		s.LagMS = milliseconds(int64(result.Timestamp.Sub(begun) - offset(result, rate)))
	}
	return s
}
