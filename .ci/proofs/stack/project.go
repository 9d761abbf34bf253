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

// up starts a profile as people do.
func (p *proof) up(ctx context.Context, c checkout, of profile) (string, error) {
	began := time.Now()
	out, stderr, err := p.docker.in(c.compose()).output(ctx, "./up", of.name)
	if err != nil {
		return strings.TrimSpace(out), err
	}
	var said string
	for line := range strings.Lines(out) { // compose's progress is on both
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

// healthy says whether exactly the services of a profile run, all of them healthy and none of them started again.
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

// lastWords is what a container said last, and what its health check did.
func (p *proof) lastWords(ctx context.Context, c container) string {
	out, stderr, _ := p.docker.output(ctx, "docker", "logs", "--tail", "3", strings.TrimPrefix(c.Name, "/"))
	words := strings.TrimSpace(out + stderr)
	if c.State.Health != nil && len(c.State.Health.Log) > 0 {
		words += " | health check: " + strings.TrimSpace(c.State.Health.Log[len(c.State.Health.Log)-1].Output)
	}
	return words
}

// down ends a profile with its data, and looks what is left of it: nothing.
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

// keepLogs writes what every service of a profile said into the folder that is kept, if one is.
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
		_ = os.WriteFile(filepath.Join(p.keep, of.name+"-"+c.service()+".log"), []byte(out+stderr), 0o644) // logs are for people who look for a cause
	}
}
