package exporter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/umascope/umascope/exporter/collector"
)

// doctor prints the state of every collector, as this command reads the machine, and what a running exporter cannot
// read: it has rights of its own. It succeeds even if sources are missing.
func (l *commandLine) doctor(ctx context.Context, stdout io.Writer) error {
	link := l.linkTo != "" || l.linkListen != ""
	switch {
	case link && l.memoryBandwidth:
		return badInput("--memory-bandwidth: not together with --link or --link-listen: one measurement at a time")
	case link:
		return l.doctorLink(ctx, stdout)
	case l.memoryBandwidth:
		return l.doctorBandwidth(ctx, stdout)
	}
	running, err := newRunningExporter(l.exporterURL, l.httpConfig)
	if err != nil {
		return err
	}
	e, closeHost, err := l.openForPeople()
	if err != nil {
		return err
	}
	defer closeHost()
	scrape, err := e.runner.Scrape(ctx)
	if err != nil {
		return err
	}
	diagnosis := diagnosis{scrape: scrape}
	switch {
	case scrape.Mode == collector.Live:
		diagnosis.running, diagnosis.runningErr = running.explanation(ctx)
		if diagnosis.runningErr != nil && l.explicitURL {
			return fmt.Errorf("--url %w", diagnosis.runningErr)
		}
	case l.explicitURL:
		return badInput("--url: a running exporter is not compared with a recording")
	}
	return diagnosis.write(stdout)
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
	return diagnosis{scrape: scrape, runningErr: errNoExporter}.write(w)
}

// diagnosis is what doctor prints.
type diagnosis struct {
	scrape     *collector.Scrape
	running    explanation // by an exporter that another process runs on this machine
	runningErr error       // errNoExporter if none runs
}

func (d diagnosis) write(w io.Writer) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "uma-exporter %s\n%s\n", readBuild(), modeSentence(d.scrape.Mode, thisMachine))
	if d.scrape.Mode == collector.Live {
		fmt.Fprintln(&out, d.whose())
	}
	for _, outcome := range d.scrape.Outcomes {
		fmt.Fprintln(&out)
		printOutcome(&out, outcome)
	}
	if d.running.Exporter != "" {
		d.printRunning(&out)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// whose is the sentence on whose rights are shown.
func (d diagnosis) whose() string {
	const shell = "This is about your shell"
	switch {
	case d.running.Exporter != "":
		return shell + "; what the running exporter cannot read is at the end."
	case d.runningErr == nil || errors.Is(d.runningErr, errNoExporter):
		return shell + ": an exporter that starts otherwise, such as a service, has other rights."
	}
	return shell + "; a running exporter could not be asked: " + oneLine(d.runningErr.Error())
}

func (d diagnosis) printRunning(out io.Writer) {
	fmt.Fprintf(out, "\nThe exporter at %s\n", d.running.Exporter)
	if len(d.running.Unknown) == 0 {
		fmt.Fprintln(out, "  lacks nothing")
	}
	for _, sentence := range d.running.Unknown {
		fmt.Fprintf(out, "  %s\n", printable(sentence))
	}
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
	if finding := findingOf(o); finding != "" {
		fmt.Fprintf(out, "         finds  %s\n         costs  %s\n         fix    %s\n", finding, handoverCost, handoverFix)
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
		fmt.Fprintf(out, "         lacks  %s\n         costs  %s\n         fix    %s\n", need.Name, need.Cost, need.Fix)
	}
}

// findingOf is what a collector found wrong with the machine; "" if nothing.
func findingOf(o collector.Outcome) string {
	if o.Spec.Name != "memory" || o.Sample == nil {
		return ""
	}
	reading, err := o.Sample.Memory(endedContext())
	if err != nil { // the outcome has the reason
		return ""
	}
	return handoverFinding(reading)
}

// rounded formats a duration for display.
func rounded(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// costOf describes what is missing from the page.
func costOf(o collector.Outcome) string {
	if o.State == collector.Absent {
		return fmt.Sprintf("its %d metrics are not on the page", len(o.Spec.Metrics))
	}
	return fmt.Sprintf("what it had not read when it failed, of %d metrics, is not on the page", len(o.Spec.Metrics))
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
