//go:build proof

package demo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
)

// scrapeTarget is a page to be scraped, with the labels that its job gives. Job and host name it.
type scrapeTarget struct {
	Handler     http.Handler
	Path        string
	Job, Host   string
	HonorLabels bool // the labels of the page win over those of the job
}

func (t scrapeTarget) String() string { return t.Job + " of " + t.Host }

// labels returns the labels of the job. In Prometheus they always have an instance; here it is the machine.
func (t scrapeTarget) labels() []labels.Label {
	return []labels.Label{{Name: model.JobLabel, Value: t.Job}, {Name: "host", Value: t.Host}, {Name: model.InstanceLabel, Value: t.Host}}
}

// label adds the labels of the job to a series of the page. A label of the page that conflicts is renamed, as in
// Prometheus.
func (t scrapeTarget) label(own labels.Labels) labels.Labels {
	built := labels.NewBuilder(own)
	for _, l := range t.labels() {
		there := own.Get(l.Name)
		if there != "" && t.HonorLabels {
			continue
		}
		built.Set(l.Name, l.Value)
		for name := model.ExportedLabelPrefix + l.Name; there != ""; name = model.ExportedLabelPrefix + name {
			if built.Get(name) == "" {
				built.Set(name, there)
				break
			}
		}
	}
	return built.Labels()
}

// up returns the series that reports whether a target has answered.
func (t scrapeTarget) up() labels.Labels {
	return labels.New(append(t.labels(), labels.Label{Name: model.MetricNameLabel, Value: "up"})...)
}

// taken is the state that the last scrape of a target has left.
type taken struct {
	mu      sync.Mutex
	at      time.Time
	series  map[string]known
	symbols *labels.SymbolTable
}

// known is a series of the last scrape.
type known struct {
	labels labels.Labels
	ref    storage.SeriesRef
}

// Scrape scrapes a page at a time, as Prometheus does: series that are gone end there, and up reports whether the
// target has answered. A target without an answer, or with a page that cannot be read whole, is an error, and no sample
// of that page is kept.
func (s *timeline) Scrape(ctx context.Context, from scrapeTarget, at time.Time) error {
	done, err := s.use()
	if err != nil {
		return err
	}
	defer done()
	last := s.last(from)
	last.mu.Lock()
	defer last.mu.Unlock()
	if at = at.Truncate(time.Millisecond); !at.After(last.at) { // samples have no finer time
		return fmt.Errorf("%s: a scrape at %s, where the last one was at %s", from, clock(at), clock(last.at))
	}
	samples, err := s.page(ctx, from, last)
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", from, ctx.Err()) // canceled: the target may be up, so that no sample is stored
	}
	if err == nil {
		err = s.keep(ctx, from, last, samples, at)
	}
	if err == nil {
		return nil
	}
	if lost := s.lose(ctx, from, last, at); lost != nil {
		return fmt.Errorf("%s: %w; nor can it be kept that it is down: %w", from, err, lost)
	}
	return fmt.Errorf("%s: %w", from, err)
}

// clock formats a time of a machine in the resolution of scrapes.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// last returns the state of a target.
func (s *timeline) last(from scrapeTarget) *taken {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := from.up().String()
	if s.taken[key] == nil {
		s.taken[key] = &taken{symbols: labels.NewSymbolTable()}
	}
	return s.taken[key]
}

// page fetches and parses a page.
func (s *timeline) page(ctx context.Context, from scrapeTarget, last *taken) ([]pageSample, error) {
	page, contentType, err := fetch(ctx, from.Handler, from.Path)
	if err != nil {
		return nil, err
	}
	samples, err := read(page, contentType, last.symbols)
	if err != nil {
		return nil, fmt.Errorf("its page cannot be read: %w", err)
	}
	return samples, nil
}

// keep stores the samples of a page, all or none.
func (s *timeline) keep(ctx context.Context, from scrapeTarget, last *taken, samples []pageSample, at time.Time) error {
	appender, series := s.database.Appender(ctx), make(map[string]known, len(samples))
	var err error
	for _, one := range samples {
		one.series = from.label(one.series)
		name := string(one.series.Bytes(nil))
		if _, twice := series[name]; twice {
			err = fmt.Errorf("its page has %s twice", one.series)
			break
		}
		kept := known{labels: one.series, ref: last.series[name].ref}
		if kept.ref, err = put(appender, kept, one, at); err != nil {
			err = fmt.Errorf("%s at %s: %w", one.series, clock(at), err)
			break
		}
		series[name] = kept
	}
	if err != nil {
		return errors.Join(err, appender.Rollback())
	}
	return s.finish(appender, from, last, series, 1, at)
}

// put appends a sample.
func put(appender storage.Appender, to known, one pageSample, at time.Time) (storage.SeriesRef, error) {
	if one.whole != nil || one.fractions != nil {
		return appender.AppendHistogram(to.ref, to.labels, at.UnixMilli(), one.whole, one.fractions)
	}
	return appender.Append(to.ref, to.labels, at.UnixMilli(), one.value)
}

// lose ends all series of a target that has not answered.
func (s *timeline) lose(ctx context.Context, from scrapeTarget, last *taken, at time.Time) error {
	return s.finish(s.database.Appender(context.WithoutCancel(ctx)), from, last, nil, 0, at)
}

// finish ends the series that are gone, appends the sample of up, and commits.
func (s *timeline) finish(appender storage.Appender, from scrapeTarget, last *taken, series map[string]known, up float64, at time.Time) error {
	gone := math.Float64frombits(value.StaleNaN)
	for name, was := range last.series {
		if _, there := series[name]; there {
			continue
		}
		if _, err := appender.Append(was.ref, was.labels, at.UnixMilli(), gone); err != nil {
			return errors.Join(fmt.Errorf("the end of %s at %s: %w", was.labels, clock(at), err), appender.Rollback())
		}
	}
	if _, err := appender.Append(0, from.up(), at.UnixMilli(), up); err != nil {
		return errors.Join(fmt.Errorf("up at %s: %w", clock(at), err), appender.Rollback())
	}
	if err := appender.Commit(); err != nil {
		return err
	}
	last.at, last.series = at, series
	return nil
}
