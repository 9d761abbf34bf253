// Package timeline is the part of a Prometheus that a simulation needs: pages are scraped, rules are evaluated and
// questions are answered at times that the caller gives. A simulated machine has a clock of its own, so nothing here
// asks the wall clock.
package timeline

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	_ "github.com/prometheus/prometheus/promql"
	_ "github.com/prometheus/prometheus/rules"
	_ "github.com/prometheus/prometheus/tsdb"
)

// Config is what a store is made of.
type Config struct {
	// Dir is where samples are kept. It is made, and must hold nothing yet: samples of two simulations do not mix.
	Dir string
	// Rules are files of rules, evaluated in this order.
	Rules []RuleFile
	// Log is told what goes wrong inside, nil for nobody.
	Log *slog.Logger
}

// RuleFile is a file of rules as Prometheus reads it.
type RuleFile struct {
	Name    string
	Content []byte
}

// Store keeps samples and what the rules have found in them. All may be called at any time.
type Store struct{}

// Target is a page to be scraped, with the labels that its job gives.
type Target struct {
	Handler     http.Handler
	Path        string
	Job, Host   string
	HonorLabels bool // the labels of the page win over those of the job
}

// Firing is an alert from when it fired.
type Firing struct {
	Alert, Severity string
	Labels          map[string]string
	// Pending is when its condition began to hold, From when it fired, Until when it was over: zero if it fires still.
	Pending, From, Until time.Time
	Summary, Description string
}

// Series is the answer to a question over some time.
type Series struct {
	Labels map[string]string
	Points []Point
}

// Point is a value at a time.
type Point struct {
	At    time.Time
	Value float64
}

// Open makes an empty store.
func Open(Config) (*Store, error) { return nil, errors.ErrUnsupported }

// Scrape takes a page at a time, as Prometheus does.
func (s *Store) Scrape(context.Context, Target, time.Time) error { return errors.ErrUnsupported }

// Evaluate evaluates what is due of the rules up to a time.
func (s *Store) Evaluate(context.Context, time.Time) error { return errors.ErrUnsupported }

// Firings are all alerts that have fired so far, in the order of time.
func (s *Store) Firings() []Firing { return nil }

// Range asks for values over some time.
func (s *Store) Range(_ context.Context, query string, from, to time.Time, step time.Duration) ([]Series, error) {
	return nil, errors.ErrUnsupported
}

// Handler answers as the part of Prometheus' HTTP API does that dashboards are drawn with.
func (s *Store) Handler() http.Handler { return http.NotFoundHandler() }

// Close ends the store. What it has kept stays in its folder.
func (s *Store) Close() error { return nil }
