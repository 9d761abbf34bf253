package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
)

// selector is a series selector of an expression, without its time.
type selector struct {
	name   string
	values map[string]string // what its matchers name, by label, = and =~ alike
	text   string
}

// selectorsOf lists the choices of an expression.
func selectorsOf(expression string) ([]selector, error) {
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		return nil, err
	}
	var all []selector
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if vector, ok := node.(*parser.VectorSelector); ok {
			all = append(all, selectorOf(vector))
		}
		return nil
	})
	return all, nil
}

func selectorOf(vector *parser.VectorSelector) selector {
	s := selector{name: vector.Name, values: map[string]string{}}
	var matchers []string
	for _, matcher := range vector.LabelMatchers {
		matchers = append(matchers, matcher.String())
		s.values[matcher.Name] = matcher.Value
	}
	s.text = "{" + strings.Join(matchers, ",") + "}"
	return s
}

// exists reports whether a series that a selector matches exists or has existed.
func (s *stage) exists(ctx context.Context, selector string) (bool, error) {
	var series []map[string]string
	if _, err := s.prometheus.get(ctx, "/api/v1/series", url.Values{"match[]": {selector}, "limit": {"1"}}, &series); err != nil {
		return false, fmt.Errorf("%s: %w", selector, err)
	}
	return len(series) > 0, nil
}

// absence is series that are absent here, with the reason: all of a name, or those with a value of a label.
type absence struct {
	series, label, value, why string
	chance                    bool // decides whether they are here
}

func (a absence) covers(s selector) bool {
	return a.series == s.name && (a.label == "" || s.values[a.label] == a.value)
}

func (a absence) selector() string {
	if a.label == "" {
		return fmt.Sprintf("{__name__=%q}", a.series)
	}
	return fmt.Sprintf("{__name__=%q,%s=~%q}", a.series, a.label, a.value)
}

// excuse returns the listed absence of an expression's series, if there is one.
func (s *stage) excuse(ctx context.Context, expression string) (found absence, any bool, err error) {
	read, err := selectorsOf(expression)
	if err != nil {
		return absence{}, false, err
	}
	for _, one := range read {
		for _, listed := range absent() {
			if !listed.covers(one) {
				continue
			}
			there, err := s.exists(ctx, one.text)
			if err != nil {
				return absence{}, false, err
			}
			if !there {
				return listed, true, nil
			}
		}
	}
	return absence{}, false, nil
}
