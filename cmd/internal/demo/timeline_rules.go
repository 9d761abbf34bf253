package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
)

// ruleStore has the rules and the alerts that have fired.
type ruleStore struct {
	evaluating sync.Mutex
	groups     []*group // in the order of their files

	mu      sync.Mutex
	firings map[string]*firing
}

// group is a group of rules. due is the time of its next evaluation.
type group struct {
	*rules.Group
	due time.Time
}

// loader reads rules from memory with Prometheus' parser. It records the order of groups.
type loader struct {
	files  map[string][]byte
	parser parser.Parser
	log    *slog.Logger
	order  []string
}

// Load reads the file with that name.
func (l *loader) Load(name string, ignoreUnknown bool, scheme model.ValidationScheme) (*rulefmt.RuleGroups, []error) {
	groups, errs := rulefmt.Parse(l.files[name], ignoreUnknown, scheme, l.parser, l.log)
	if len(errs) > 0 {
		return nil, errs
	}
	for _, g := range groups.Groups {
		l.order = append(l.order, rules.GroupKey(name, g.Name))
	}
	return groups, nil
}

// Parse reads an expression.
func (l *loader) Parse(expression string) (parser.Expr, error) { return l.parser.ParseExpr(expression) }

// readRules returns the groups of all files. Prometheus' manager makes them; its loop is not started.
func readRules(config timelineConfig, s *timeline) ([]*group, error) {
	load := &loader{files: map[string][]byte{}, parser: s.parser, log: config.Log}
	manager := rules.NewManager(&rules.ManagerOptions{
		ExternalURL: &url.URL{}, QueryFunc: s.instant, NotifyFunc: s.notify, Appendable: appendable{s}, Logger: config.Log,
		GroupLoader: load, Parser: s.parser,
	})
	made := map[string]*rules.Group{}
	for _, file := range config.Rules {
		if _, twice := load.files[file.Name]; twice {
			return nil, fmt.Errorf("rules %s: there are two files of that name", file.Name)
		}
		load.files[file.Name] = file.Content
		groups, errs := manager.LoadGroups(config.Interval, labels.EmptyLabels(), "", nil, false, file.Name)
		if len(errs) > 0 {
			return nil, fmt.Errorf("rules %s: %w", file.Name, errors.Join(errs...))
		}
		maps.Copy(made, groups)
	}
	var all []*group
	for _, key := range load.order {
		for _, alerting := range made[key].AlertingRules() {
			alerting.SetRestored(true) // a simulation has no earlier alerts that could still be pending
		}
		all = append(all, &group{Group: made[key]})
	}
	return all, nil
}

// appendable lets rules be made before the database that they write to.
type appendable struct{ *timeline }

// Appender returns an appender for the results of one rule.
func (a appendable) Appender(ctx context.Context) storage.Appender { return a.database.Appender(ctx) }

// instant runs the queries of rules and of their templates.
func (s *timeline) instant(ctx context.Context, expression string, at time.Time) (promql.Vector, error) {
	return rules.EngineQueryFunc(s.engine, s.database)(ctx, expression, at)
}

// Evaluate evaluates the rules up to a time: every group from the first time that is passed, once an interval, and all
// groups in the order of time. It returns the error of a rule that fails, and still evaluates the others.
//
// A late evaluation gives the same result, because the samples of its time are stored. Evaluations that are due more
// than an hour before the time are skipped: such a gap is a pause, not a delay.
//
// Rules see the samples up to the time of their evaluation. With several machines pass the time of the machine that is
// furthest behind, or rules would judge old samples of it.
func (s *timeline) Evaluate(ctx context.Context, at time.Time) error {
	done, err := s.use()
	if err != nil {
		return err
	}
	defer done()
	s.rules.evaluating.Lock()
	defer s.rules.evaluating.Unlock()
	var failed []error
	for _, g := range s.rules.groups {
		g.begin(at)
	}
	for g := s.rules.next(at); g != nil; g = s.rules.next(at) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("rules of %s at %s: %w", g.Name(), clock(g.due), err)
		}
		g.Eval(ctx, g.due)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("rules of %s at %s: %w", g.Name(), clock(g.due), err)
		}
		for _, rule := range g.Rules() {
			if err := rule.LastError(); err != nil {
				failed = append(failed, fmt.Errorf("rule %s of %s at %s: %w", rule.Name(), g.Name(), clock(g.due), err))
			}
		}
		g.due = g.due.Add(g.Interval())
	}
	return errors.Join(failed...)
}

// mostBehind is the largest delay after which an evaluation is still made.
const mostBehind = time.Hour

// begin sets when the group is due first, and skips evaluations that are too late.
func (g *group) begin(at time.Time) {
	if g.due.IsZero() {
		g.due = at
	}
	if behind := at.Sub(g.due); behind > mostBehind {
		g.due = g.due.Add((behind - mostBehind).Truncate(g.Interval()) + g.Interval())
	}
}

// next returns the group that is due first up to a time, nil if there is none.
func (b *ruleStore) next(until time.Time) *group {
	var first *group
	for _, g := range b.groups {
		if !g.due.After(until) && (first == nil || g.due.Before(first.due)) {
			first = g
		}
	}
	return first
}

// firing is one firing of an alert.
type firing struct {
	Alert, Severity string
	Labels          map[string]string
	// Pending is when its condition began to hold, From when it fired, Until when it was over: zero if it still fires.
	Pending, From, Until time.Time
	// Summary and Description are its annotations at the time it fired.
	Summary, Description string
}

// mostFirings limits the memory of a simulation that does not end; the oldest are dropped.
const mostFirings = 10_000

// notify receives, at every evaluation, the alerts that fire and those that are over.
func (s *timeline) notify(_ context.Context, expression string, alerts ...*rules.Alert) {
	s.rules.mu.Lock()
	defer s.rules.mu.Unlock()
	if s.rules.firings == nil {
		s.rules.firings = map[string]*firing{}
	}
	for _, a := range alerts {
		key := fmt.Sprint(a.FiredAt.UnixNano(), a.Labels, expression)
		f := s.rules.firings[key]
		if f == nil {
			f = &firing{
				Alert: a.Labels.Get(labels.AlertName), Severity: a.Labels.Get("severity"), Labels: a.Labels.Map(),
				Pending: a.ActiveAt.UTC(), From: a.FiredAt.UTC(),
				Summary: a.Annotations.Get("summary"), Description: a.Annotations.Get("description"),
			}
			s.rules.firings[key] = f
		}
		f.Until = a.ResolvedAt.UTC()
	}
	s.rules.forget()
}

// forget drops the oldest firings when there are too many, a tenth at a time.
func (b *ruleStore) forget() {
	if len(b.firings) <= mostFirings {
		return
	}
	keys := slices.SortedFunc(maps.Keys(b.firings), func(x, y string) int { return b.firings[x].From.Compare(b.firings[y].From) })
	for _, key := range keys[:mostFirings/10] {
		delete(b.firings, key)
	}
}

// Firings returns all alerts that have fired so far, in the order of time.
func (s *timeline) Firings() []firing {
	s.rules.mu.Lock()
	defer s.rules.mu.Unlock()
	all := make([]firing, 0, len(s.rules.firings))
	for _, f := range s.rules.firings {
		one := *f
		one.Labels = maps.Clone(f.Labels)
		all = append(all, one)
	}
	slices.SortFunc(all, func(x, y firing) int {
		if c := x.From.Compare(y.From); c != 0 {
			return c
		}
		return strings.Compare(fmt.Sprint(x.Labels), fmt.Sprint(y.Labels))
	})
	return all
}
