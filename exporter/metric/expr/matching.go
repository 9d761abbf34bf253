package expr

import (
	"errors"
	"slices"

	"github.com/umascope/umascope/exporter/metric"
)

// Matching defines which series of two sides match. The zero value: those with equal labels.
type Matching struct {
	on     bool // in these labels
	labels []metric.Label
	group  string // group_left, group_right or ""
	lent   []metric.Label
}

// On pairs series that agree in these labels.
func On(labels ...metric.Label) Matching { return Matching{on: true, labels: labels} }

// GroupLeft lets several series of the left side share one of the right, which lends them labels.
func (m Matching) GroupLeft(lent ...metric.Label) Matching {
	m.group, m.lent = "group_left", lent
	return m
}

// GroupRight lets several series of the right side share one of the left, which lends them labels.
func (m Matching) GroupRight(lent ...metric.Label) Matching {
	m.group, m.lent = "group_right", lent
	return m
}

// written is the matching, with a space before it.
func (m Matching) written() []part {
	if !m.on {
		return nil
	}
	written := list(" on (", m.labels, ")")
	if m.group != "" {
		written = append(written, list(" "+m.group+" (", m.lent, ")")...)
	}
	return written
}

// oneMatching is the matching given, if any.
func oneMatching(given []Matching) (Matching, error) {
	switch len(given) {
	case 0:
		return Matching{}, nil
	case 1:
		return given[0], nil
	default:
		return given[0], errors.New("an operator takes one matching")
	}
}

// checkMatching refuses labels that a side does not have and matchings where none can be.
func checkMatching(c class, m Matching, e, other Expr) error {
	switch {
	case !m.on && m.group == "":
		return nil
	case !m.on:
		return errors.New(m.group + " needs On")
	case e.scalar || other.scalar:
		return errScalar("a matching")
	case c == membership && m.group != "":
		return errors.New(m.group + " has no place in a set operation")
	}
	var refusals []error
	lender := other
	if m.group == "group_right" {
		lender = e
	}
	for _, side := range []Expr{e, other} {
		refusals = append(refusals, side.lacks(m.labels))
	}
	return errors.Join(append(refusals, lender.lacks(m.lent))...)
}

// lacks refuses labels that the expression does not have.
func (e Expr) lacks(labels []metric.Label) error {
	for _, label := range labels {
		if !e.HasLabel(label) {
			return &RefusedError{Metric: e.families(), Label: label, Reason: "matched by a label that it does not have"}
		}
	}
	return nil
}

// resultLabels follows Prometheus: a one-to-one operation keeps what it is matched on, a
// grouped one the labels of the many plus those lent, a set operation those of the left side.
func resultLabels(c class, operator string, e, other Expr, m Matching) []metric.Label {
	switch {
	case other.scalar:
		return e.labels
	case e.scalar:
		return other.labels
	case operator == "or":
		return union(e.labels, other.labels)
	case c == membership, !m.on:
		return e.labels
	case m.group == "group_left":
		return union(e.labels, m.lent)
	case m.group == "group_right":
		return union(other.labels, m.lent)
	default:
		return m.labels
	}
}

// union is the labels of both lists, each once, sorted.
func union(a, b []metric.Label) []metric.Label {
	both := slices.Concat(a, b)
	slices.Sort(both)
	return slices.Compact(both)
}
