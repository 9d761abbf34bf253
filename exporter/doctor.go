package exporter

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/umascope/umascope/exporter/collector"
)

// doctor prints the state of every collector. It succeeds even if sources are missing.
func (l *commandLine) doctor(ctx context.Context, stdout io.Writer) error {
	e, closeHost, err := l.openForPeople()
	if err != nil {
		return err
	}
	defer closeHost()
	return e.Doctor(ctx, stdout)
}

// openForPeople opens the host for a command that explains it, so that a missing source is no error.
func (l *commandLine) openForPeople() (*Exporter, func() error, error) {
	opened, err := l.openHost(false)
	if err != nil {
		return nil, nil, err
	}
	e, err := New(opened.Host, Settings{Options: l.options, CollectTimeout: l.collectTimeout, HideOwnMetrics: true})
	if err != nil {
		return nil, nil, inputError{err}
	}
	return e, opened.close, nil
}

// Doctor prints each collector, the needs that are not met, what you lose and how to fix it.
func (e *Exporter) Doctor(ctx context.Context, w io.Writer) error {
	scrape, err := e.runner.Scrape(ctx)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "uma-exporter %s\n%s\n", readBuild(), modeSentence(scrape.Mode, thisMachine))
	for _, outcome := range scrape.Outcomes {
		fmt.Fprintln(&out)
		printOutcome(&out, outcome)
	}
	_, err = w.Write(out.Bytes())
	return err
}

func printOutcome(out io.Writer, o collector.Outcome) {
	fmt.Fprintf(out, "%-8s %-6s %8v  %s\n", o.Spec.Name, o.State, rounded(o.Duration), o.Spec.Help)
	if o.Err != nil {
		fmt.Fprintf(out, "         why    %s\n", oneLine(o.Reason()))
	}
	if o.State != collector.OK {
		fmt.Fprintf(out, "         costs  %s\n", costOf(o))
	}
	for _, note := range o.Notes {
		fmt.Fprintf(out, "         reads  %s\n", oneLine(note))
	}
	for _, socket := range socketsOf(o) {
		fmt.Fprintf(out, "         socket %s\n", socket)
	}
	for i, met := range o.Met {
		if met {
			fmt.Fprintf(out, "         has    %s\n", o.Spec.Needs[i].Name)
		}
	}
	for _, need := range o.Unmet() {
		fmt.Fprintf(out, "         lacks  %s\n         costs  %s\n         mend   %s\n", need.Name, need.Cost, need.Mend)
	}
}

// rounded formats a duration for display.
func rounded(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// costOf describes what is missing from the page.
func costOf(o collector.Outcome) string {
	if o.State == collector.Absent {
		return fmt.Sprintf("its %d families are not on the page", len(o.Spec.Metrics))
	}
	return fmt.Sprintf("what it had not read when it failed, of %d families, is not on the page", len(o.Spec.Metrics))
}

// thisMachine is the machine that a program which reads a host is on.
const thisMachine = "this machine"

// modeSentence labels figures of another machine or time than those of a machine, now.
func modeSentence(mode collector.Mode, machine string) string {
	switch mode {
	case collector.Live:
		return "mode live: figures of " + machine + ", now"
	case collector.Replay:
		return "mode REPLAY: figures of a recording, not of " + machine + " now"
	case collector.Constructed:
		return "mode CONSTRUCTED: values put together by hand, not measured"
	default:
		return "mode SIMULATED: figures of a simulated machine, not measured"
	}
}
