package alerts

import (
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// Routing decides on the notices of alerts as Alertmanager does with the configuration of this package.
type Routing struct{ config routing }

// Waiting times of notices, which are those of the configuration.
const (
	GroupWait   = groupWait   // before the first notice
	RepeatAfter = repeatState // while an alert fires, unless Repeat is longer
)

// NewRouting returns the routing of all groups.
func NewRouting() Routing { return Routing{newRouting(Groups(), expr.Names{})} }

// Repeat returns after which time people are notified again of an alert with these labels while it fires, 0 if they are
// not notified at all, such as of the watchdog.
func (r Routing) Repeat(labels map[string]string) time.Duration {
	chosen := r.config.Route
	if i := slices.IndexFunc(chosen.Routes, func(one route) bool { return one.Matchers.match(labels) }); i >= 0 {
		chosen = chosen.Routes[i]
	}
	switch {
	case chosen.Receiver != receiverPeople:
		return 0
	case chosen.RepeatInterval == duration(repeatResult):
		return repeatResult
	}
	return repeatState
}

// Mutes reports whether an alert with the labels of source mutes another while it fires. One that is a source and a target
// of a rule is not muted by another such one.
func (r Routing) Mutes(source, target map[string]string) bool {
	return slices.ContainsFunc(r.config.InhibitRules, func(rule inhibit) bool {
		both := func(labels map[string]string) bool {
			return rule.SourceMatchers.match(labels) && rule.TargetMatchers.match(labels)
		}
		differs := func(name string) bool { return source[name] != target[name] }
		return rule.SourceMatchers.match(source) && rule.TargetMatchers.match(target) && !slices.ContainsFunc(rule.Equal, differs) && !(both(source) && both(target))
	})
}

// matcher selects alerts by one label: its value is one of some, or none of them. A label that is missing is empty.
type matcher struct {
	label  metric.Label
	values []string // constants of this project, which need no escaping
	not    bool
}

func match(label metric.Label, value string) matcher {
	return matcher{label: label, values: []string{value}}
}

func matchNot(label metric.Label, value string) matcher {
	return matcher{label: label, values: []string{value}, not: true}
}

func matchOneOf(label metric.Label, values ...string) matcher {
	return matcher{label: label, values: values}
}

// String returns the matcher as Alertmanager reads it.
func (m matcher) String() string {
	operator := "="
	switch {
	case m.not:
		operator = "!="
	case len(m.values) > 1:
		operator = "=~"
	}
	return string(m.label) + operator + `"` + strings.Join(m.values, "|") + `"`
}

// MarshalYAML implements yaml.Marshaler.
func (m matcher) MarshalYAML() (any, error) { return m.String(), nil }

// matchers all have to match.
type matchers []matcher

func (all matchers) match(labels map[string]string) bool {
	return !slices.ContainsFunc(all, func(m matcher) bool { return slices.Contains(m.values, labels[string(m.label)]) == m.not })
}
