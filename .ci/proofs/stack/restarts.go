package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// kept is the data that a restart must preserve.
type kept struct {
	samples float64 // of one series, that Prometheus has stored
	runs    []string
	starts  int // of Grafana, by its own data
}

// restarts restarts one service after the other, and checks after each that no data was lost.
func (p *proof) restarts(ctx context.Context, c checkout, of profile) {
	id, err := makeSilence(ctx)
	if !p.do(ctx, of.name+": a silence, to be kept", func(context.Context) (string, error) { return id, err }) {
		return
	}
	for _, service := range of.services {
		p.do(ctx, of.name+": a restart of "+service+" loses nothing", func(ctx context.Context) (string, error) {
			return p.restart(ctx, c, of, service, id)
		})
	}
}

func (p *proof) restart(ctx context.Context, c checkout, of profile, service, silence string) (string, error) {
	before, err := p.whatIsKept(ctx, of, silence)
	if err != nil {
		return "", fmt.Errorf("before: %w", err)
	}
	began := time.Now()
	if err := p.docker.in(c.compose()).quiet(ctx, "compose", "--profile", of.name, "restart", "--timeout", "40", service); err != nil {
		return "", err
	}
	stopped := time.Since(began)
	// Health checks come every 15 s.
	if err := until(ctx, 90*time.Second, func(ctx context.Context) error { return p.healthy(ctx, of) }); err != nil {
		return "", err
	}
	var after kept
	err = until(ctx, 45*time.Second, func(ctx context.Context) error {
		if after, err = p.whatIsKept(ctx, of, silence); err != nil {
			return err
		}
		return before.lost(after, strings.HasSuffix(service, "grafana"))
	})
	return fmt.Sprintf("restarted in %.0f s; samples %.0f, then %.0f; runs %d, then %d; the silence; Grafana's data", stopped.Seconds(),
		before.samples, after.samples, len(before.runs), len(after.runs)), err
}

// lost returns an error for data that is gone.
func (before kept) lost(after kept, grafana bool) error {
	var problems []error
	if after.samples < before.samples {
		problems = append(problems, fmt.Errorf("of %.0f samples %.0f are left", before.samples, after.samples))
	}
	for _, run := range before.runs {
		if !slices.Contains(after.runs, run) {
			problems = append(problems, fmt.Errorf("run %s is gone", run))
		}
	}
	starts := before.starts
	if grafana {
		starts++
	}
	if after.starts != starts {
		problems = append(problems, fmt.Errorf("data of Grafana tell of %d starts, and should of %d", after.starts, starts))
	}
	return errors.Join(problems...)
}

// whatIsKept reads each service's data; the silence has to be part of it.
func (p *proof) whatIsKept(ctx context.Context, of profile, silence string) (k kept, err error) {
	// Of Prometheus' own page: every profile has it. It is 1 whenever Prometheus could scrape itself.
	if k.samples, err = number(ctx, `count_over_time(up{job="prometheus"}[1h])`); err != nil {
		return k, err
	}
	page, err := ask(ctx, http.MethodGet, resultsURL+"/metrics", nil, nil)
	if err != nil {
		return k, err
	}
	k.runs = runsOn(string(page))
	var one struct{ Status struct{ State string } }
	if _, err := ask(ctx, http.MethodGet, alertmanagerURL+"/api/v2/silence/"+silence, nil, &one); err != nil {
		return k, err
	}
	if one.Status.State != "active" {
		return k, fmt.Errorf("the silence is %q", one.Status.State)
	}
	var s shown
	_, err = ask(ctx, http.MethodGet, grafanaURL+"/stand-in/data", nil, &s)
	k.starts = s.Starts
	return k, err
}

// runsOn returns the runs on a page of results.
func runsOn(page string) []string {
	var runs []string
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "uma_run_info{") {
			continue
		}
		if _, rest, ok := strings.Cut(line, `run="`); ok {
			name, _, _ := strings.Cut(rest, `"`)
			runs = append(runs, name)
		}
	}
	slices.Sort(runs)
	return slices.Compact(runs)
}

// makeSilence makes a silence that matches no alert.
func makeSilence(ctx context.Context) (id string, err error) {
	body := map[string]any{
		"matchers":  []map[string]any{{"name": "alertname", "value": "NothingOfThisName", "isRegex": false, "isEqual": true}},
		"startsAt":  time.Now().Format(time.RFC3339),
		"endsAt":    time.Now().Add(time.Hour).Format(time.RFC3339),
		"createdBy": "proof", "comment": "is kept over a restart",
	}
	var made struct{ SilenceID string }
	_, err = ask(ctx, http.MethodPost, alertmanagerURL+"/api/v2/silences", body, &made)
	return made.SilenceID, err
}
