package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// profile is a part of the stack that is started by itself.
type profile struct {
	name     string
	services []string // that run, sorted
}

// up starts a profile as users do.
func (p *proof) up(ctx context.Context, c checkout, of profile) (string, error) {
	began := time.Now()
	out, stderr, err := p.docker.in(c.compose()).output(ctx, "./up", of.name)
	if err != nil {
		return strings.TrimSpace(out), err
	}
	var said string
	for line := range strings.Lines(out) { // compose writes its progress to both
		if !strings.HasPrefix(line, "#") && strings.TrimSpace(line) != "" {
			said += line
		}
	}
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "up: ") || strings.Contains(line, "NVIDIA") {
			said += line
		}
	}
	return fmt.Sprintf("compose/up %s, %.0f s; it says:\n%s", of.name, time.Since(began).Seconds(), marked("| ", strings.TrimSpace(said))), p.healthy(ctx, of)
}

// healthy returns an error unless exactly the services of a profile run, all of them healthy and without a restart.
func (p *proof) healthy(ctx context.Context, of profile) error {
	all, err := p.docker.containers(ctx)
	if err != nil {
		return err
	}
	var names []string
	var problems []error
	for _, c := range all {
		names = append(names, c.service())
		state := c.State.Status
		if c.State.Health != nil {
			state = c.State.Health.Status
		}
		if state != "healthy" || c.RestartCount > 0 {
			problems = append(problems, fmt.Errorf("%s is %s, after %d ends: %s", c.service(), state, c.RestartCount, p.lastWords(ctx, c)))
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, of.services) {
		problems = append(problems, fmt.Errorf("services are %q, and should be %q", names, of.services))
	}
	return errors.Join(problems...)
}

// lastWords returns the end of a container's log, and the output of its health check.
func (p *proof) lastWords(ctx context.Context, c container) string {
	out, stderr, _ := p.docker.output(ctx, "docker", "logs", "--tail", "3", strings.TrimPrefix(c.Name, "/"))
	words := strings.TrimSpace(out + stderr)
	if c.State.Health != nil && len(c.State.Health.Log) > 0 {
		words += " | health check: " + strings.TrimSpace(c.State.Health.Log[len(c.State.Health.Log)-1].Output)
	}
	return words
}

// down ends a profile with its data, and checks that all of it is gone.
func (p *proof) down(ctx context.Context, c checkout, of profile) (string, error) {
	before, err := p.docker.everything(ctx)
	if err != nil {
		return "", err
	}
	p.keepLogs(ctx, of)
	if err := p.docker.in(c.compose()).quiet(ctx, "compose", "--profile", of.name, "down", "--volumes", "--timeout", "40"); err != nil {
		return "", err
	}
	left, err := p.docker.everything(ctx)
	if err != nil {
		return "", err
	}
	listening, err := listeners()
	if err != nil {
		return "", err
	}
	for _, l := range listening {
		if !l.ours(p) {
			left = append(left, "a listener at "+l.String())
		}
	}
	if len(left) > 0 {
		return "", fmt.Errorf("left are %s", strings.Join(left, ", "))
	}
	return fmt.Sprintf("of %s nothing is left", strings.Join(before, ", ")), nil
}

// keepLogs writes the log of every service of a profile into the folder to keep, if there is one.
func (p *proof) keepLogs(ctx context.Context, of profile) {
	if p.keep == "" || os.MkdirAll(p.keep, 0o755) != nil {
		return
	}
	all, err := p.docker.containers(ctx)
	if err != nil {
		return
	}
	for _, c := range all {
		out, stderr, _ := p.docker.output(ctx, "docker", "logs", "--timestamps", strings.TrimPrefix(c.Name, "/"))
		_ = os.WriteFile(filepath.Join(p.keep, of.name+"-"+c.service()+".log"), []byte(out+stderr), 0o644) // an error is ignored: logs only help to find a cause
	}
}
