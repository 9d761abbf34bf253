package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/figure"
)

// Options select what is compared.
type Options struct {
	// By is the label whose values are the arms. A label of a run takes precedence over its model, engine, scenario and
	// host of that name.
	By string
	// Within are the labels in which runs must agree to be compared.
	Within []string
	// Baseline is the arm that all other arms are compared with; empty selects the arm of the earliest run.
	Baseline string
	// Margins replace the margins of the table, by metric.
	Margins map[string]figure.Margin
	// Primary is the metric that decides; empty selects that of the scenario.
	Primary string
	// AllowDifferentWorkload compares runs of different workloads, with a warning.
	AllowDifferentWorkload bool
	Columns                []Column
	// Seed is the seed of the bootstrap.
	Seed uint64
}

// Column is an optional column of a comparison.
type Column string

// The optional columns.
const (
	ColumnShapiro    Column = "shapiro"    // Shapiro-Wilk test of normality of an arm
	ColumnBonferroni Column = "bonferroni" // p values adjusted by Bonferroni
	ColumnBH         Column = "bh"         // p values adjusted by Benjamini-Hochberg
	ColumnBCa        Column = "bca"        // 95 % bootstrap interval (BCa) of the difference of the means
)

// Columns returns all optional columns.
func Columns() []Column { return []Column{ColumnShapiro, ColumnBonferroni, ColumnBH, ColumnBCa} }

// ParseColumn reads the name of a column.
func ParseColumn(text string) (Column, error) {
	return terminal.OneOf(Columns()...)(text)
}

func (o Options) wants(column Column) bool { return slices.Contains(o.Columns, column) }

// margin returns the largest difference of a metric that does not matter.
func (o Options) margin(m figure.Figure) figure.Margin {
	if given, ok := o.Margins[m.Name]; ok {
		return given
	}
	return m.Margin
}

// check refuses options that are invalid for any runs.
func (o Options) check() error {
	if o.By == "" {
		return fmt.Errorf("--by: name the label whose values are to be compared")
	}
	for i, name := range o.Within {
		switch {
		case name == "":
			return fmt.Errorf("--within: a label has no name")
		case name == o.By:
			return fmt.Errorf("--within %s: that is what --by compares", name)
		case slices.Contains(o.Within[:i], name):
			return fmt.Errorf("--within: %s is named twice", name)
		}
	}
	for name, m := range o.Margins {
		if _, known := figure.FindCompared(name); !known {
			return unknownMetric("--margin", name)
		}
		if m.Value <= 0 || m.Relative && m.Value >= 1 {
			return fmt.Errorf("--margin %s: want more than nothing and, of a share, less than 100 %%", name)
		}
	}
	if o.Primary != "" {
		if _, known := figure.FindCompared(o.Primary); !known {
			return unknownMetric("--primary", o.Primary)
		}
	}
	return nil
}

func unknownMetric(flag, name string) error {
	return fmt.Errorf("%s: %q is no metric; near it are %s", flag, name, strings.Join(Near(name), ", "))
}

// Near returns the metrics whose names share most words with a name, at most five; well-known ones if none shares any.
func Near(name string) []string {
	words := strings.Split(strings.ToLower(name), "_")
	common := func(m figure.Figure) int {
		n := 0
		for _, word := range strings.Split(m.Name, "_") {
			if slices.Contains(words, word) {
				n++
			}
		}
		return n
	}
	all := figure.Compared()
	slices.SortStableFunc(all, func(a, b figure.Figure) int { return common(b) - common(a) })
	if common(all[0]) == 0 {
		return []string{figure.OutputTokensPerSecond, figure.TimeToFirstToken, figure.TimePerOutputToken, figure.MemoryOccupiedWithoutKV, "gpu_end_celsius"}
	}
	var names []string
	for _, m := range all[:min(5, len(all))] {
		names = append(names, m.Name)
	}
	return names
}
