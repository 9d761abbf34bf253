//go:build proof

package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
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

// ruleStore has the rules.
type ruleStore struct {
	evaluating sync.Mutex
	groups     []*group // in the order of their files
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
		ExternalURL: &url.URL{}, QueryFunc: s.instant, NotifyFunc: func(context.Context, string, ...*rules.Alert) {}, Appendable: appendable{s}, Logger: config.Log,
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
