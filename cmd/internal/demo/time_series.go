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
	"github.com/umascope/umascope/exporter/metric"
)

// rhythm is how often, by the machines' clocks, they are scraped and rules are evaluated.
type rhythm struct{ scraped, judged time.Duration }

// usualRhythm scrapes as the stack's Prometheus does. That evaluates rules at every scrape; on a clock that is forty times
// as fast it takes half a core.
func usualRhythm() rhythm { return rhythm{scraped: 5 * time.Second, judged: 15 * time.Second} }

// hastyRhythm is for a clock that is so fast that pages and rules would take most of two cores. No rule looks back less
// than a minute.
func hastyRhythm() rhythm { return rhythm{scraped: 10 * time.Second, judged: 30 * time.Second} }

// chronicle keeps what the exporters of machines say, at the machines' own time, and has the rules judge it there.
//
// Scraping and judging do not wait for each other. A scrape that is late is a sample that is not there; rules may be
// late without harm, since they are evaluated at times of the machines, whenever that is done.
type chronicle struct {
	store    *timeline.Store
	machines []*machine
	speed    float64
	rhythm   rhythm
	problem  func(string) // is told what goes wrong, once each

	taken map[string]time.Time // when a machine was scraped last, by its name; of scrape

	mu      sync.Mutex
	reached time.Time // all machines were scraped at it, or later
	told    map[string]bool
}

// openChronicle makes one in a folder that is not there yet. Nothing is kept before it runs.
func openChronicle(folder string, machines []*machine, speed float64, r rhythm, problem func(string)) (*chronicle, error) {
	rules, err := shippedRules()
	if err != nil {
		return nil, err
	}
	store, err := timeline.Open(timeline.Config{Dir: folder, Rules: rules, Interval: r.judged})
	if err != nil {
		return nil, err
	}
	return &chronicle{store: store, machines: machines, speed: speed, rhythm: r, problem: problem, taken: map[string]time.Time{}, told: map[string]bool{}}, nil
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

// run goes on until ctx ends.
func (c *chronicle) run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { c.repeat(ctx, c.rhythm.scraped, c.scrape) })
	running.Go(func() { c.repeat(ctx, c.rhythm.judged, c.judge) })
	running.Wait()
}

// repeat does something again and again, so often by the clocks of the machines. What takes longer lets the next time
// pass, as Prometheus does.
func (c *chronicle) repeat(ctx context.Context, interval time.Duration, what func(context.Context)) {
	ticker := time.NewTicker(time.Duration(float64(interval) / c.speed))
	defer ticker.Stop()
	for {
		what(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// scrape takes the pages of all machines at once, each at the time of its clock.
func (c *chronicle) scrape(ctx context.Context) {
	var taking sync.WaitGroup
	times := make([]time.Time, len(c.machines))
	for i, m := range c.machines {
		times[i] = m.stage.host.Now().Truncate(time.Millisecond) // samples have no finer time
		if !times[i].After(c.taken[m.name]) {                    // its clock was not moved on: this machine is busy
			continue
		}
		c.taken[m.name] = times[i]
		taking.Go(func() {
			c.note(ctx, m.name, c.store.Scrape(ctx, timeline.Target{
				Handler: m.stage.exporterHandler(), Path: exporter.DefaultTelemetryPath, Job: metric.JobExporter, Host: m.name,
			}, times[i]))
		})
	}
	taking.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reached = slices.MinFunc(times, time.Time.Compare)
}

// judge has the rules evaluated up to the time that all machines have reached.
func (c *chronicle) judge(ctx context.Context) {
	c.mu.Lock()
	reached := c.reached
	c.mu.Unlock()
	if !reached.IsZero() {
		c.note(ctx, "rules", c.store.Evaluate(ctx, reached))
	}
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

// catchUp is how long rules that are late are waited for: an interrupt must not wait long.
const catchUp = 2 * time.Second

// firings are the alerts up to now. That rules are evaluated at all, which one shows by firing always, is no news here.
func (c *chronicle) firings() []timeline.Firing {
	ctx, cancel := context.WithTimeout(context.Background(), catchUp)
	defer cancel()
	c.judge(ctx)
	return slices.DeleteFunc(c.store.Firings(), func(f timeline.Firing) bool { return f.Severity == string(alerts.None) })
}

// fires says whether an alert has fired for a machine, as far as rules were evaluated.
func (c *chronicle) fires(alert, machine string) bool {
	return slices.ContainsFunc(c.store.Firings(), func(f timeline.Firing) bool {
		return f.Alert == alert && f.Labels[string(metric.LabelHost)] == machine
	})
}

// close ends the store; nobody may run any more.
func (c *chronicle) close() error { return c.store.Close() }
