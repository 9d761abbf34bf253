package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/umascope/umascope/alerts"
	"github.com/umascope/umascope/cmd/internal/demo/timeline"
	"github.com/umascope/umascope/exporter"
)

// By the machines' clocks: every is how often they are scraped, as the stack's Prometheus does, and judged how often rules
// are evaluated. It does that at every scrape; on a clock that is forty times as fast that takes half a core.
const (
	every  = 5 * time.Second
	judged = 15 * time.Second
)

// Jobs, as the stack's Prometheus names them.
const (
	exporterJob = "uma-exporter"
	resultsJob  = "uma-results"
)

// chronicle keeps what the exporters of machines say, at the machines' own time, and has the rules judge it there.
type chronicle struct {
	store    *timeline.Store
	machines []*machine
	speed    float64
	problem  func(string) // is told what goes wrong, once each

	taken map[string]time.Time // when a machine was scraped last, by its name; of round

	mu     sync.Mutex
	others []timeline.Target // that are no machines
	told   map[string]bool
}

// openChronicle makes one in a folder that is not there yet. Nothing is kept before it runs.
func openChronicle(folder string, machines []*machine, speed float64, problem func(string)) (*chronicle, error) {
	rules, err := shippedRules()
	if err != nil {
		return nil, err
	}
	store, err := timeline.Open(timeline.Config{Dir: folder, Rules: rules, Interval: judged})
	if err != nil {
		return nil, err
	}
	return &chronicle{store: store, machines: machines, speed: speed, problem: problem, taken: map[string]time.Time{}, told: map[string]bool{}}, nil
}

// shippedRules are the rules as they are shipped, and none besides.
func shippedRules() ([]timeline.RuleFile, error) {
	files, err := alerts.Files()
	if err != nil {
		return nil, fmt.Errorf("the rules: %w", err)
	}
	var rules []timeline.RuleFile
	for _, file := range files {
		if strings.HasSuffix(file.Name, ".yaml") { // the others are Alertmanager's and the runbook
			rules = append(rules, timeline.RuleFile{Name: file.Name, Content: file.Content})
		}
	}
	return rules, nil
}

// run goes on until ctx ends. A round that takes longer than the time between two lets the next one wait, as Prometheus
// does: there are fewer samples then, and every one is of its time.
func (c *chronicle) run(ctx context.Context) {
	ticker := time.NewTicker(time.Duration(float64(every) / c.speed))
	defer ticker.Stop()
	for {
		c.round(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// add has another page scraped from now on, at the time of the machine that is furthest.
func (c *chronicle) add(other timeline.Target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.others = append(c.others, other)
}

// round takes all pages at once and has the rules judge the time that all machines have reached.
func (c *chronicle) round(ctx context.Context) {
	var taking sync.WaitGroup
	times := make([]time.Time, len(c.machines))
	for i, m := range c.machines {
		times[i] = m.stage.host.Now()
		if !times[i].After(c.taken[m.name]) { // its clock was not moved on: this machine is busy
			continue
		}
		c.taken[m.name] = times[i]
		taking.Go(func() {
			c.note(ctx, m.name, c.store.Scrape(ctx, timeline.Target{
				Handler: m.stage.exporterHandler(), Path: exporter.DefaultTelemetryPath, Job: exporterJob, Host: m.name,
			}, times[i]))
		})
	}
	c.mu.Lock()
	others := slices.Clone(c.others)
	c.mu.Unlock()
	for _, other := range others {
		taking.Go(func() {
			c.note(ctx, other.Job+" of "+other.Host, c.store.Scrape(ctx, other, slices.MaxFunc(times, time.Time.Compare)))
		})
	}
	taking.Wait()
	c.note(ctx, "rules", c.store.Evaluate(ctx, slices.MinFunc(times, time.Time.Compare)))
}

// note tells of what has gone wrong with something, unless it is known, or the end that was asked for.
func (c *chronicle) note(ctx context.Context, of string, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	again := c.told[of]
	c.told[of] = true
	c.mu.Unlock()
	if !again {
		first, _, _ := strings.Cut(err.Error(), "\n") // of several rules one is enough
		c.problem("timeline: " + first)
	}
}

// firings are the alerts so far. That rules are evaluated at all, which one shows by firing always, is no news here.
func (c *chronicle) firings() []timeline.Firing {
	return slices.DeleteFunc(c.store.Firings(), func(f timeline.Firing) bool { return f.Severity == string(alerts.None) })
}

// close ends the store; nobody may run any more.
func (c *chronicle) close() error { return c.store.Close() }
