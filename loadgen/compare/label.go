package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// own returns the fields of a run that can be used like labels.
func (r *Run) own() map[string]string {
	return map[string]string{"model": r.Model, "engine": r.Engine, "scenario": r.Scenario, "host": r.Host}
}

// Label returns the value of a label, or of the field of that name; empty if there is none.
func (r *Run) Label(name string) string {
	if value := r.Labels[name]; value != "" {
		return value
	}
	return r.own()[name]
}

// labelNames returns the names of all labels of the runs.
func labelNames(runs []*Run) []string {
	names := map[string]bool{}
	for _, r := range runs {
		for name, value := range r.own() {
			if value != "" {
				names[name] = true
			}
		}
		for name, value := range r.Labels {
			if value != "" {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// checkLabel fails if no run has the label.
func checkLabel(flag, name string, runs []*Run) error {
	for _, r := range runs {
		if r.Label(name) != "" {
			return nil
		}
	}
	return fmt.Errorf("%s: no run has a label %q; there are %s", flag, name, strings.Join(labelNames(runs), ", "))
}

// distinctOf returns a property of runs, each value once and in the order of the runs; runs without it are skipped.
func distinctOf(runs []*Run, of func(*Run) string) []string {
	var values []string
	for _, r := range runs {
		if value := of(r); value != "" && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values
}

// shared reports whether two lists have a value in common.
func shared(a, b []string) bool {
	return slices.ContainsFunc(a, func(value string) bool { return slices.Contains(b, value) })
}

// naturally orders values of a label: numbers by size, before words.
func naturally(a, b string) int {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	switch {
	case errX == nil && errY == nil:
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	case errX == nil:
		return -1
	case errY == nil:
		return 1
	}
	return cmp.Compare(a, b)
}
