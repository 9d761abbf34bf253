package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/umascope/umascope/alerts"

	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/exporter/metric"
)

// rhythm has the scrape interval and the evaluation interval of rules, on the machines' clocks.
type rhythm struct{ scraped, judged time.Duration }

// usualRhythm scrapes as often as the stack's Prometheus. The stack evaluates rules at every scrape; on a clock that is
// forty times as fast this takes half a core, so rules are evaluated less often here.
func usualRhythm() rhythm { return rhythm{scraped: 5 * time.Second, judged: 15 * time.Second} }

// hastyRhythm is for a clock on which pages and rules would take most of two cores. No rule looks back less than a
// minute.
func hastyRhythm() rhythm { return rhythm{scraped: 10 * time.Second, judged: 30 * time.Second} }

// scraper scrapes the exporters of the machines at the machines' own time, and evaluates the rules on the samples.
//
// Scrapes and evaluations do not wait for each other. A late scrape is a missing sample; late rules are harmless, since
// they are evaluated for times of the machines, whenever that happens.
type scraper struct {
	store    *timeline
	machines []*machine
	speed    float64
	rhythm   rhythm
	problem  func(string) // receives each error once

	taken map[string]time.Time // time of the last scrape by machine; owned by scrape

	mu       sync.Mutex
	reached  time.Time // the time up to which all machines are scraped
	reported map[string]bool
}

// openScraper makes one in a folder that does not exist yet. It scrapes nothing before it runs.
func openScraper(folder string, machines []*machine, speed float64, r rhythm, problem func(string)) (*scraper, error) {
	rules, err := shippedRules()
	if err != nil {
		return nil, err
	}
	store, err := openTimeline(timelineConfig{Dir: folder, Rules: rules, Interval: r.judged})
	if err != nil {
		return nil, err
	}
	return &scraper{store: store, machines: machines, speed: speed, rhythm: r, problem: problem, taken: map[string]time.Time{}, reported: map[string]bool{}}, nil
}

// shippedRules returns the shipped rules only.
func shippedRules() ([]ruleFile, error) {
	files, err := alerts.Files()
	if err != nil {
		return nil, fmt.Errorf("the rules: %w", err)
	}
	var rules []ruleFile
	for _, file := range files {
		if strings.HasSuffix(file.Name, ".yaml") { // the other files are Alertmanager's and the runbook
			rules = append(rules, ruleFile{Name: file.Name, Content: file.Content})
		}
	}
	return rules, nil
}

// run goes on until ctx ends.
func (c *scraper) run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { c.repeat(ctx, c.rhythm.scraped, c.scrape) })
	running.Go(func() { c.repeat(ctx, c.rhythm.judged, c.judge) })
	running.Wait()
}

// repeat calls a function at an interval on the clocks of the machines. A call that takes longer skips the next time,
// as in Prometheus.
func (c *scraper) repeat(ctx context.Context, interval time.Duration, what func(context.Context)) {
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

// scrape scrapes all machines at once, each at the time of its clock.
func (c *scraper) scrape(ctx context.Context) {
	var taking sync.WaitGroup
	times := make([]time.Time, len(c.machines))
	for i, m := range c.machines {
		times[i] = m.stage.host.Now().Truncate(time.Millisecond) // samples have no finer time
		if !times[i].After(c.taken[m.name]) {                    // the clock was not advanced: this machine is busy
			continue
		}
		c.taken[m.name] = times[i]
		taking.Go(func() {
			c.note(ctx, m.name, c.store.Scrape(ctx, scrapeTarget{
				Handler: m.stage.exporterHandler(), Path: exporter.DefaultTelemetryPath, Job: metric.JobExporter, Host: m.name,
			}, times[i]))
		})
	}
	taking.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reached = slices.MinFunc(times, time.Time.Compare)
}

// judge evaluates the rules up to the time that all machines have reached.
func (c *scraper) judge(ctx context.Context) {
	c.mu.Lock()
	reached := c.reached
	c.mu.Unlock()
	if !reached.IsZero() {
		c.note(ctx, "rules", c.store.Evaluate(ctx, reached))
	}
}

// note reports an error, unless it was reported before or is the end of ctx.
func (c *scraper) note(ctx context.Context, of string, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	again := c.reported[of]
	c.reported[of] = true
	c.mu.Unlock()
	if !again {
		first, _, _ := strings.Cut(err.Error(), "\n") // of several failed rules the first is enough
		c.problem("timeline: " + first)
	}
}

// catchUp is how long late rules are waited for: an interrupt must not wait long.
const catchUp = 2 * time.Second

// firings returns the alerts up to now, without the alert that always fires to show that rules are evaluated.
func (c *scraper) firings() []firing {
	ctx, cancel := context.WithTimeout(context.Background(), catchUp)
	defer cancel()
	c.judge(ctx)
	return slices.DeleteFunc(c.store.Firings(), func(f firing) bool { return f.Severity == string(alerts.None) })
}

// fires reports whether an alert has fired for a machine, as far as rules were evaluated.
func (c *scraper) fires(alert, machine string) bool {
	return slices.ContainsFunc(c.store.Firings(), func(f firing) bool {
		return f.Alert == alert && f.Labels[string(metric.LabelHost)] == machine
	})
}

// close ends the store; run must have returned.
func (c *scraper) close() error { return c.store.Close() }
