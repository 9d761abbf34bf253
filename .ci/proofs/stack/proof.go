package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// proof is one pass through all steps, with its results.
type proof struct {
	files  files
	folder string
	keep   string
	engine *engine
	docker docker
	out    io.Writer

	inbox *inbox
	steps []step
}

// step is a line of the table.
type step struct {
	name string
	took time.Duration
	note string
	err  error
}

// do runs a step and reports whether it succeeded. A failed step does not prevent the following ones.
func (p *proof) do(ctx context.Context, name string, what func(context.Context) (string, error)) bool {
	if ctx.Err() != nil {
		p.steps = append(p.steps, step{name: name, err: fmt.Errorf("not tried: %w", context.Cause(ctx))})
		return false
	}
	began := time.Now()
	note, err := what(ctx)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w (%w)", err, context.Cause(ctx))
	}
	one := step{name, time.Since(began), note, err}
	p.steps = append(p.steps, one)
	fmt.Fprintf(p.out, "%2d %-7s %6.1f s  %s\n", len(p.steps), one.result(), one.took.Seconds(), name)
	for line := range strings.Lines(one.details()) {
		fmt.Fprintf(p.out, "   %s\n", strings.TrimRight(line, "\n"))
	}
	return err == nil
}

func (s step) result() string {
	if s.err != nil {
		return "FAILED"
	}
	return "ok"
}

// details returns the lines below a step: its note and the error of a failed one.
func (s step) details() string {
	if s.err != nil {
		return strings.TrimSpace(s.note + "\n" + s.err.Error())
	}
	return s.note
}

// prove runs all steps in order: the requirements of all profiles, the simulated stack, then that of this machine.
func (p *proof) prove(ctx context.Context) {
	if !p.do(ctx, "a Docker engine of its own runs, and nothing else is in it", p.engineRuns) ||
		!p.do(ctx, "base images and those of others, made here under the names that the project uses", p.makeBases) {
		return
	}
	checkout, err := copyCheckout(ctx, p.files.checkout, p.path("umascope"))
	if !p.do(ctx, "a copy of the checkout", func(context.Context) (string, error) { return checkout.note, err }) {
		return
	}
	if !p.do(ctx, "the project's images, from their Dockerfiles", func(ctx context.Context) (string, error) { return p.build(ctx, checkout) }) {
		return
	}
	p.do(ctx, "each image says what it is, and runs as nobody without anything else", p.imagesTell)
	p.simulation(ctx, checkout)
	p.measured(ctx, checkout)
}

// table prints the steps.
func (p *proof) table() {
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\n\tstep\tseconds\tresult")
	var total time.Duration
	for i, s := range p.steps {
		fmt.Fprintf(w, "%d\t%s\t%.1f\t%s\n", i+1, s.name, s.took.Seconds(), s.result())
		total += s.took
	}
	fmt.Fprintf(w, "\tall\t%.1f\t\n", total.Seconds())
	w.Flush()
	fmt.Fprint(p.out, "\nNot proven here:\n", notProven)
}

// notProven lists what these steps cannot prove.
const notProven = `- Grafana: what ran is a stand-in that reads the same files at the same paths as the same user and asks every query. No page was drawn.
- the images of Prometheus and Alertmanager: what ran are their programs, built from their modules (Alertmanager's is older than the one that
  compose.yaml names), with the users, entry points and folders of the published images.
- the base images: Debian as debootstrap makes it, with this machine's Go. Sizes of the exporter's image are those of that Debian.
- a GPU, the NVIDIA runtime and CDI; arm64.
`

// verdict joins the errors of the failed steps.
func (p *proof) verdict() error {
	var failed []error
	for i, s := range p.steps {
		if s.err != nil {
			failed = append(failed, fmt.Errorf("step %d, %s: %w", i+1, s.name, s.err))
		}
	}
	return errors.Join(failed...)
}

// until repeats a check until it returns no error, for so long at most. It returns the last error.
func until(ctx context.Context, most time.Duration, ask func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	pause := time.NewTicker(500 * time.Millisecond)
	defer pause.Stop()
	for {
		err := ask(limited)
		if err == nil {
			return nil
		}
		select {
		case <-limited.Done():
			return fmt.Errorf("not within %v: %w", most, err)
		case <-pause.C:
		}
	}
}
