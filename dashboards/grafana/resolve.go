package grafana

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Source answers the queries of variables: a Prometheus over HTTP, or an engine in a test.
type Source struct {
	// LabelValues lists the values of a label in a time range, among the series that the selector matches, "" for all.
	LabelValues func(ctx context.Context, label, selector string, window Window) ([]string, error)
	// Instant evaluates an expression at one time.
	Instant func(ctx context.Context, expression string, at time.Time) (Answer, error)
}

// Answer is the result of an instant query.
type Answer struct {
	// Scalar reports that the result is a number and not a vector.
	Scalar  bool
	Samples []Sample
}

// Sample is one value; the text is as Prometheus writes it. A scalar has no labels.
type Sample struct {
	Labels map[string]string
	Value  string
	Time   time.Time
}

// Resolve finds the options and values of a dashboard's variables. Variables that others refer to come first, else they
// keep their order, as Grafana updates them. An error of a variable is stored in it, and the others are resolved as if
// it were empty.
func Resolve(ctx context.Context, d Dashboard, settings Settings, source Source) Scope {
	s := Scope{Settings: settings}
	waiting := slices.Clone(d.Variables)
	for len(waiting) > 0 {
		next, err := nextOf(waiting)
		variable := waiting[next]
		waiting = slices.Delete(waiting, next, next+1)
		r := Resolved{Variable: variable, Err: err}
		if err == nil {
			r.Options, r.Err = s.options(ctx, variable, source)
		}
		r.Current = r.choose(settings.Chosen)
		s.Variables = append(s.Variables, r)
	}
	slices.SortStableFunc(s.Variables, func(a, b Resolved) int { return d.position(a.Name) - d.position(b.Name) })
	return s
}

func (d Dashboard) position(name string) int {
	return slices.IndexFunc(d.Variables, func(v Variable) bool { return v.Name == name })
}

// nextOf returns the first variable that refers to no unresolved one. In a cycle of references it returns the first
// with an error: Grafana would load for ever.
func nextOf(waiting []Variable) (int, error) {
	for i, v := range waiting {
		needs := mentions(v.Query + v.Regex + v.Datasource.UID)
		if v.Kind == KindCustom || v.Kind == KindTextbox || v.Kind == KindConstant {
			needs = mentions(v.Query)
		}
		free := !slices.ContainsFunc(needs, func(m mention) bool {
			return slices.ContainsFunc(waiting, func(other Variable) bool { return other.Name == m.name })
		})
		if free {
			return i, nil
		}
	}
	return 0, errors.New("it needs a variable that needs it")
}

// options returns the options of a variable.
func (s Scope) options(ctx context.Context, v Variable, source Source) ([]Option, error) {
	switch v.Kind {
	case KindDatasource:
		return []Option{{s.Source, s.Source}}, nil
	case KindCustom, KindInterval:
		return listed(s.Written(v.Query)), nil
	case KindTextbox, KindConstant:
		return []Option{{v.Query, v.Query}}, nil
	}
	found, err := s.find(ctx, v, source)
	if err != nil {
		return nil, err
	}
	options, err := s.filtered(v, found)
	if err != nil {
		return nil, err
	}
	sortOptions(options, v.Sort)
	return options, nil
}

// filtered applies the variable's regular expression to every text: it takes the groups value and text, else the first
// group, else the whole match (metricNamesToVariableValues in scenes). With the flag g every match counts. The
// expression must be valid in Go too.
func (s Scope) filtered(v Variable, found []string) ([]Option, error) {
	pattern, every, err := s.pattern(v)
	if err != nil {
		return nil, err
	}
	var options []Option
	seen := map[string]bool{}
	for _, text := range found {
		for _, option := range match(pattern, every, text) {
			if !seen[option.Value] {
				seen[option.Value] = true
				options = append(options, option)
			}
		}
	}
	return options, nil
}

var slashed = regexp.MustCompile(`(?s)^/(.*)/([gimsuy]*)$`)

// pattern reads a variable's regular expression: between slashes with flags, or a whole text
// (stringToJsRegex in Grafana's data library).
func (s Scope) pattern(v Variable) (pattern *regexp.Regexp, every bool, err error) {
	if v.Regex == "" {
		return nil, false, nil
	}
	text := s.written(v.Regex, "regex")
	if parts := slashed.FindStringSubmatch(text); parts != nil {
		every = strings.Contains(parts[2], "g")
		text = parts[1]
		if strings.Contains(parts[2], "i") {
			text = "(?i)" + text
		}
	} else {
		text = "^" + text + "$"
	}
	pattern, err = regexp.Compile(strings.ReplaceAll(text, `\/`, "/"))
	if err != nil {
		return nil, false, fmt.Errorf("regular expression %s: %w", v.Regex, err)
	}
	return pattern, every, nil
}

func match(pattern *regexp.Regexp, every bool, text string) []Option {
	if pattern == nil {
		return []Option{{text, text}}
	}
	count := 1
	if every {
		count = -1
	}
	found := pattern.FindAllStringSubmatch(text, count)
	if len(found) == 0 {
		return nil
	}
	value, shown := named(pattern, found, "value"), named(pattern, found, "text")
	switch {
	case value != "" || shown != "":
		return []Option{{Value: either(value, shown), Text: either(shown, value)}}
	case pattern.NumSubexp() == 0:
		return []Option{{text, text}}
	}
	var options []Option
	for _, m := range found {
		options = append(options, Option{m[1], m[1]})
	}
	return options
}

func either(first, second string) string {
	if first != "" {
		return first
	}
	return second
}

// named returns the match of the group of that name.
func named(pattern *regexp.Regexp, found [][]string, group string) string {
	i := pattern.SubexpIndex(group)
	if i < 0 {
		return ""
	}
	for _, m := range found {
		if m[i] != "" {
			return m[i]
		}
	}
	return ""
}
