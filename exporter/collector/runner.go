package collector

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// DefaultTimeout is the default time that a collector may take.
	DefaultTimeout = 10 * time.Second

	// shortestDeadline is the minimum deadline of a collection, however short the timeout of the scrape that started
	// it: other scrapes may join it, and must not be cut short.
	shortestDeadline = 2 * time.Second
)

// RunnerSettings are the settings of a Runner; every zero value has a default.
type RunnerSettings struct {
	// Timeout bounds every collector and every scrape, DefaultTimeout when 0.
	Timeout time.Duration
	// Build is shown on every page.
	Build Build
	// Logger receives every change of a collector's condition once. Nil disables logging.
	Logger *slog.Logger
}

// Build identifies the exporter's build.
type Build struct{ Version, Revision, GoVersion string }

// Runner runs collectors for scrapes. Its rules:
//
//   - Scrapes that overlap share one collection if they want the same collectors, and every
//     collector that both want if they do not.
//   - A collector runs in a goroutine of its own with a batch of its own; a panic costs that
//     collector only. It is asked to end shortly before the collection's deadline, so that what
//     it has read by then is served.
//   - A collector that has not ended at the deadline has failed and is not started again until
//     it ends; its batch is thrown away.
//   - A scrape waits for its collectors or for its own deadline, then serves what is ready.
type Runner struct {
	host       Host
	options    Options
	settings   RunnerSettings
	health     families
	discovery  *discovery   // nil where it is off
	collectors []*collector // in the order of the specs

	mu       sync.Mutex
	inFlight map[string]*collection // by collectors requested; a collection without a waiting scrape is not joined
}

// collector is a spec at work. Its fields below the blank line are guarded by Runner.mu.
type collector struct {
	spec     Spec
	collect  Collect
	families families

	running     *run // the run whose goroutine has not returned
	latest      *run // the last that has settled
	lastSuccess time.Time
	condition   string   // as last logged
	lacking     []string // names of unmet needs, as last logged
}

// run is one run of one collector.
type run struct {
	collector *collector
	started   time.Time
	ended     time.Time // to be read after settled
	// settled is closed when the outcome is final: the collector returned or its deadline passed.
	settled chan struct{}
	outcome Outcome // to be read after settled
}

func (r *run) isSettled() bool {
	select {
	case <-r.settled:
		return true
	default:
		return false
	}
}

// collection is one run of each requested collector. Those that start with it read the same sample.
type collection struct {
	runs    []*run // parallel to the requested collectors
	waiting int    // scrapes; guarded by Runner.mu
}

// NewRunner creates a runner with the collectors of specs for the host.
func NewRunner(host Host, options Options, specs []Spec, settings RunnerSettings) *Runner {
	settings.Timeout = cmp.Or(settings.Timeout, DefaultTimeout)
	settings.Logger = cmp.Or(settings.Logger, slog.New(slog.DiscardHandler))
	if host.Now == nil {
		host.Now = time.Now
	}
	r := &Runner{host: host, options: options, settings: settings,
		health: newFamilies(healthMetrics()), discovery: newDiscovery(host, options.Sources), inFlight: make(map[string]*collection)}
	for _, spec := range specs {
		spec.Needs = slices.DeleteFunc(slices.Clone(spec.Needs), func(n Need) bool { return n.Asked != nil && !n.Asked(host, options) })
		r.collectors = append(r.collectors, &collector{
			spec: spec, collect: spec.Open(host, options), families: newFamilies(spec.Metrics),
		})
	}
	return r
}

// Names lists the collectors in order.
func (r *Runner) Names() []string {
	names := make([]string, len(r.collectors))
	for i, c := range r.collectors {
		names[i] = c.spec.Name
	}
	return names
}

// Scrape collects from the collectors named, from all when none is, until all have ended or ctx has, at most for
// Timeout. Its error names an unknown collector and lists the valid ones.
func (r *Runner) Scrape(ctx context.Context, names ...string) (*Scrape, error) {
	return r.scrape(ctx, false, names)
}

func (r *Runner) scrape(ctx context.Context, brief bool, names []string) (*Scrape, error) {
	wanted, err := r.pick(names)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.settings.Timeout)
	defer cancel()
	began := time.Now()
	key := keyOf(wanted)
	shared := r.join(ctx, key, wanted, brief)
	defer r.leave(key, shared)
	for _, one := range shared.runs {
		select {
		case <-one.settled:
		case <-ctx.Done():
		}
	}
	return r.page(shared, wanted, began), nil
}

// Recent returns the outcomes of the collectors named as scrapes do, but takes those of any scrape that ended less than age
// ago in place of reading again. GPUs are read briefly: the collector of GPUs, whose page would lack values, is none of those
// to name.
func (r *Runner) Recent(ctx context.Context, age time.Duration, names ...string) ([]Outcome, error) {
	wanted, err := r.pick(names)
	if err != nil {
		return nil, err
	}
	var recent []Outcome
	var old []string
	r.mu.Lock()
	for _, c := range wanted {
		if c.latest != nil && time.Since(c.latest.ended) < age {
			recent = append(recent, c.latest.outcome)
		} else {
			old = append(old, c.spec.Name)
		}
	}
	r.mu.Unlock()
	if len(old) == 0 {
		return recent, nil
	}
	scrape, err := r.scrape(ctx, true, old)
	if err != nil {
		return nil, err
	}
	return append(recent, scrape.Outcomes...), nil
}

// pick returns the collectors named, in the order of the specs and each once.
func (r *Runner) pick(names []string) ([]*collector, error) {
	for _, name := range names {
		if !slices.Contains(r.Names(), name) {
			return nil, fmt.Errorf("no collector %q; there are: %s", name, strings.Join(r.Names(), ", "))
		}
	}
	if len(names) == 0 {
		return r.collectors, nil
	}
	var wanted []*collector
	for _, c := range r.collectors {
		if slices.Contains(names, c.spec.Name) {
			wanted = append(wanted, c)
		}
	}
	return wanted, nil
}

func keyOf(wanted []*collector) string {
	names := make([]string, len(wanted))
	for i, c := range wanted {
		names[i] = c.spec.Name
	}
	return strings.Join(names, ",")
}

// join joins the collection that other scrapes of the same collectors wait for, or starts one.
func (r *Runner) join(ctx context.Context, key string, wanted []*collector, brief bool) *collection {
	r.mu.Lock()
	defer r.mu.Unlock()
	if shared, waitedFor := r.inFlight[key]; waitedFor {
		shared.waiting++
		return shared
	}
	fresh := &collection{waiting: 1}
	idle := slices.DeleteFunc(slices.Clone(wanted), func(c *collector) bool { return c.running != nil })
	sample := NewSample(r.host, r.options)
	sample.discovery, sample.brief = r.discovery, brief
	r.start(idle, sample, r.deadline(ctx))
	for _, c := range wanted {
		fresh.runs = append(fresh.runs, c.running)
	}
	r.inFlight[key] = fresh
	return fresh
}

// leave leaves the collection; after the last scrape has left it is not shared further, because its values would be
// older than the next scrape.
func (r *Runner) leave(key string, shared *collection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	shared.waiting--
	if shared.waiting == 0 {
		delete(r.inFlight, key)
	}
}

// deadline returns the deadline of a collection that starts now for a scrape that ends with ctx.
func (r *Runner) deadline(ctx context.Context) time.Time {
	now := time.Now()
	wait := r.settings.Timeout
	if end, bounded := ctx.Deadline(); bounded {
		wait = min(wait, max(end.Sub(now), shortestDeadline))
	}
	return now.Add(wait)
}

// page assembles the finished outcomes.
func (r *Runner) page(shared *collection, wanted []*collector, began time.Time) *Scrape {
	r.mu.Lock()
	defer r.mu.Unlock()
	scrape := &Scrape{Mode: r.host.Mode, build: r.settings.Build, healthFamilies: r.health}
	for i, one := range shared.runs {
		c := wanted[i]
		outcome := Outcome{Spec: c.spec, State: Failed, Duration: time.Since(one.started),
			Err: fmt.Errorf("not ready after %v", time.Since(began).Round(time.Millisecond))}
		if one.isSettled() {
			outcome = one.outcome
		}
		outcome.LastSuccess = c.lastSuccess
		scrape.Outcomes = append(scrape.Outcomes, outcome)
	}
	return scrape
}
