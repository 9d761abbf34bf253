package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
)

// proof is one pass through all steps, with its results.
type proof struct {
	files  files
	folder string
	out    io.Writer

	stage *stage
	steps []step
	used  map[string]bool // of the listed reasons for missing data
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
	fmt.Fprintf(p.out, "%-8s %6.1f s  %s\n", one.result(), one.took.Seconds(), name)
	return err == nil
}

func (s step) result() string {
	if s.err != nil {
		return "FAILED"
	}
	return "ok"
}

// prove runs all steps in order. The alerts take a minute or two by their rules, which are not changed, so that they
// are provoked early and checked late, with the runs between.
func (p *proof) prove(ctx context.Context) {
	p.stage = newStage(p.files, p.folder)
	if !p.do(ctx, "machines, engine, Prometheus and Alertmanager are up", p.stage.start) {
		return
	}
	alarms := newAlarms(p.stage)
	p.do(ctx, "every target answers that should", p.stage.targetsAnswer)
	p.do(ctx, "provoked: heat, and a process killed for memory", alarms.provokeEarly)
	p.do(ctx, "four runs of two arms, compared and served", p.stage.runs)
	p.do(ctx, "a run goes on while the rest is looked at", p.stage.beginLongRun)
	p.do(ctx, "provoked: memory of two machines", alarms.provokeMemory)
	p.do(ctx, "host series are joined with runs", p.stage.joined)
	p.do(ctx, "histograms of uma-load are stored in their native form", p.stage.nativeHistograms)
	p.do(ctx, "finished runs and comparisons are there", p.stage.results)
	p.do(ctx, "heat: alert, delivery, end", alarms.heat)
	p.do(ctx, "little memory: alert, delivery, muted by a run", alarms.memoryWarned)
	p.do(ctx, "hardly any memory: alert, delivery", alarms.memoryCritical)
	p.do(ctx, "exporter down: alert, delivery, what it mutes, end", alarms.down)
	p.do(ctx, "every query of every dashboard", p.dashboards)
	p.do(ctx, "memory: what the critical alert mutes, end", alarms.memoryEnds)
	p.do(ctx, "who is told: people of nothing that is simulated", alarms.people)
	p.do(ctx, "names in rules exist, and what is said to be absent is", p.rulesNames)
	p.do(ctx, "rules were evaluated without a failure or a gap", p.stage.rulesHealthy)
}

// end stops all programs.
func (p *proof) end() {
	if p.stage != nil {
		p.stage.stop()
	}
}

// table prints the steps.
func (p *proof) table() {
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nstep\tseconds\tresult\tcounts")
	var total time.Duration
	for _, s := range p.steps {
		fmt.Fprintf(w, "%s\t%.1f\t%s\t%s\n", s.name, s.took.Seconds(), s.result(), s.note)
		total += s.took
	}
	fmt.Fprintf(w, "all\t%.1f\t\t\n", total.Seconds())
	w.Flush()
	fmt.Fprintf(p.out, "\nChanged in the copies: scraped every %s, not 5s or 30s; %s kept for %s after their end, and waits of Alertmanager of seconds;\n"+
		"addresses and paths; a route to the test before the others. Expressions, how long they must hold, and all else are the project's.\n",
		interval, strings.Join(ending(), ", "), keptFor)
}

// verdict joins the errors of the failed steps.
func (p *proof) verdict() error {
	var failed []error
	for _, s := range p.steps {
		if s.err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", s.name, s.err))
		}
	}
	return errors.Join(failed...)
}

// path is a file of this pass.
func (s *stage) path(names ...string) string {
	return filepath.Join(append([]string{s.folder}, names...)...)
}

// until repeats a check until it returns no error, for so long at most. It returns the last error.
func until(ctx context.Context, most time.Duration, ask func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	pause := time.NewTicker(200 * time.Millisecond)
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
