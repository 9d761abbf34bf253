// Engines drives a server with uma-load, reads it with uma-exporter, and compares what both report with the server's own
// counters, model list and log. See prove, which starts the servers.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "engines:", err)
		}
		os.Exit(1)
	}
}

var errUsage = errors.New("want model FOLDER TEXT, gguf FILE TEXT, drive, state, name or keep")

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	name := flags.String("server", "", "name of the server, a file of servers/")
	work := flags.String("work", "", "folder of the server's logs and of results")
	programs := flags.String("programs", "", "folder of uma-load and uma-exporter")
	results := flags.String("results", "", "file of the results that are kept")
	markdown := flags.String("page", "", "the page generated from them")
	repository := flags.String("record", "", "root of the repository whose recorded pages are rewritten; none if empty")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "model", "gguf":
		return generate(args[0], flags.Args())
	case "drive", "state", "name":
		at := slices.IndexFunc(servers(), func(s server) bool { return s.name == *name })
		if at < 0 {
			return fmt.Errorf("%q: no such server", *name)
		}
		switch s := servers()[at]; args[0] {
		case "state":
			return printState(ctx, s, *work)
		case "name":
			return printName(ctx, s, *work)
		default:
			return drive(ctx, s, *work, *programs, *repository)
		}
	case "keep":
		return keep(*results, *markdown, flags.Args())
	}
	return errUsage
}

// generate writes the model that servers get.
func generate(form string, args []string) error {
	if len(args) != 2 {
		return errUsage
	}
	text, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	if form == "model" {
		return writeModel(args[0], learn(string(text)))
	}
	return writeGGUF(args[0], learn(string(text)))
}

// printState prints the server's own counts at this moment: uma-load runs it before and after the load.
func printState(ctx context.Context, s server, folder string) error {
	w, err := look(ctx, s, folder)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(s.counts(w))
}

// printName prints the server's URL, and its name with its version as recorded answers are called.
func printName(ctx context.Context, s server, folder string) error {
	w, err := look(ctx, s, folder)
	if err != nil {
		return err
	}
	_, err = fmt.Println(s.url, s.name+"-"+s.version(w))
	return err
}

func number(s string) float64 {
	value, _ := strconv.ParseFloat(s, 64)
	return value
}

func decimal(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }

func readJSON(path string, to any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return nil
}
