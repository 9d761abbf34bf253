//go:build proof

package demo

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"
)

// timelineConfig configures a store.
type timelineConfig struct {
	// Dir is the folder of the samples. It is created, and must be empty: samples of two simulations do not mix.
	Dir string
	// Rules are files of rules; those that are due at the same time are evaluated in this order.
	Rules []ruleFile
	// Interval is the default evaluation interval of groups, 0 for 15 s.
	Interval time.Duration
	// Log receives the messages of Prometheus' parts; nil discards them.
	Log *slog.Logger
}

// ruleFile is a file of rules in the format of Prometheus.
type ruleFile struct {
	Name    string
	Content []byte
}

// Limits of what is kept and of the cost of a query. Days of a simulation at forty times the speed are months.
const (
	retention     = 14 * 24 * time.Hour
	mostBytes     = 512 << 20
	mostSamples   = 20_000_000
	queryTimeout  = time.Minute
	lookback      = 5 * time.Minute // that of Prometheus
	usualInterval = 15 * time.Second
)

// timeline is a Prometheus for the proofs of dashboards and alerts: it scrapes pages, evaluates rules and answers queries
// at times that the caller passes. Storage, query engine, rules and the parsing of pages are Prometheus' own.
//
// It keeps samples, and the alerts that rules have fired on them. It is safe for concurrent use.
//
// Clocks of machines may differ: samples are kept by series, and every series is of one machine. A machine may be up to
// an hour behind the one that is furthest; older samples are rejected with an error.
type timeline struct {
	// life is held for reading by every call, so that Close waits for them.
	life   sync.RWMutex
	closed bool

	database *tsdb.DB
	engine   *promql.Engine
	parser   parser.Parser

	mu    sync.Mutex
	taken map[string]*taken // state of the last scrape, by target

	rules ruleStore
}

// errClosed is the error of every call after Close.
var errClosed = errors.New("the timeline is closed")

// openTimeline makes an empty store.
func openTimeline(config timelineConfig) (*timeline, error) {
	if err := emptyFolder(config.Dir); err != nil {
		return nil, err
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Interval == 0 {
		config.Interval = usualInterval
	}
	s := &timeline{taken: map[string]*taken{}, parser: parser.NewParser(parser.Options{})}
	s.engine = promql.NewEngine(promql.EngineOpts{
		Logger: config.Log, MaxSamples: mostSamples, Timeout: queryTimeout, LookbackDelta: lookback,
		NoStepSubqueryIntervalFn: func(int64) int64 { return config.Interval.Milliseconds() },
		EnableAtModifier:         true, EnableNegativeOffset: true, Parser: s.parser,
	})
	groups, err := readRules(config, s)
	if err != nil {
		return nil, err
	}
	s.rules.groups = groups
	options := tsdb.DefaultOptions()
	options.RetentionDuration, options.MaxBytes = retention.Milliseconds(), mostBytes
	if s.database, err = tsdb.Open(config.Dir, config.Log, nil, options, nil); err != nil {
		return nil, fmt.Errorf("timeline in %s: %w", config.Dir, err)
	}
	return s, nil
}

// emptyFolder makes a folder, or checks that it is empty.
func emptyFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("timeline in %s: %w", folder, cause(err))
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("timeline in %s: %w", folder, cause(err))
	}
	if len(entries) > 0 {
		return fmt.Errorf("timeline in %s: the folder is not empty, and a simulation begins with nothing", folder)
	}
	return nil
}

// use keeps the store open until done is called.
func (s *timeline) use() (done func(), err error) {
	s.life.RLock()
	if s.closed {
		s.life.RUnlock()
		return nil, errClosed
	}
	return s.life.RUnlock, nil
}

// Close ends the store once all calls have returned. Its samples stay in its folder, which a Prometheus can open.
func (s *timeline) Close() error {
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return errors.Join(s.engine.Close(), s.database.Close())
}
