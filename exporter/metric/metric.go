// Package metric is the vocabulary: name, type, unit, help, source and labels of every series that umascope writes or
// reads, each exactly once.
//
// All names come from here: collectors emit these definitions, dashboards and alerts are built from them by package
// expr, and the metric reference is printed from them. The package imports only the standard library.
package metric

import (
	"slices"
	"strings"
)

// Kind is the Prometheus type of a series.
type Kind string

// The kinds in use. A series that is still growing is never a summary: quantiles of several processes cannot be added.
// A finished run has quantiles of all its requests, which do not change any more.
const (
	KindCounter   Kind = "counter"
	KindGauge     Kind = "gauge"
	KindHistogram Kind = "histogram"
	KindSummary   Kind = "summary"
)

// Def describes one metric family.
type Def struct {
	// Name is the full series name with its base unit, such as uma_memory_pool_bytes.
	Name string
	// Kind is the Prometheus type.
	Kind Kind
	// Unit is the base unit of the value; the name ends with it where the unit has a suffix.
	Unit Unit
	// Title names the value in tables of both wings, in lower case; most families have none.
	Title string
	// Help defines the value in one or two sentences. Unit and source are added by HelpText.
	Help string
	// Source names the file, driver call or measurement that the value comes from.
	Source string
	// Labels are the label names, in the order in which values are given.
	Labels []Label
	// Sum are the labels over which a sum is meaningful. The zero value: all of them.
	Sum SumRule
	// Telemetry marks a series that a load run keeps in its folder.
	Telemetry bool
}

// SumRule defines which sums over a family are meaningful.
type SumRule struct {
	never bool
	keep  []Label
}

// SumNever is the rule of temperatures, ratios, states and infos: no sum of them is meaningful.
func SumNever() SumRule { return SumRule{never: true} }

// SumKeeping is the rule of families whose sum is meaningful only while these labels are kept.
func SumKeeping(labels ...Label) SumRule { return SumRule{keep: labels} }

// Refuses returns why a sum that keeps only the labels kept would be meaningless, or "".
func (r SumRule) Refuses(kept []Label) string {
	if r.never {
		return "its values must never be summed"
	}
	for _, label := range r.keep {
		if !slices.Contains(kept, label) {
			return "it must not be summed over " + string(label)
		}
	}
	return ""
}

// sentence is the part of the help text about sums.
func (r SumRule) sentence() string {
	if r.never {
		return " Do not sum."
	}
	if len(r.keep) == 0 {
		return ""
	}
	return " Do not sum over " + joinLabels(r.keep, ", ") + "."
}

// HelpText is the HELP line: meaning, unit, source, and what must not be summed.
func (d Def) HelpText() string {
	var b strings.Builder
	b.WriteString(d.Help)
	if d.Unit != "" {
		b.WriteString(" Unit: " + string(d.Unit) + ".")
	}
	if d.Source != "" {
		b.WriteString(" Source: " + d.Source + ".")
	}
	b.WriteString(d.Sum.sentence())
	return b.String()
}

// LabelNames returns the label names as plain strings.
func (d Def) LabelNames() []string {
	names := make([]string, len(d.Labels))
	for i, label := range d.Labels {
		names[i] = string(label)
	}
	return names
}

// HasLabel reports whether the family carries the label.
func (d Def) HasLabel(label Label) bool { return slices.Contains(d.Labels, label) }

// Definer is any of Counter, Gauge, Histogram and Summary.
type Definer interface{ Def() Def }

// Counter is a family of values that only grow until their source restarts.
type Counter struct{ def Def }

// Gauge is a family of values that go up and down.
type Gauge struct{ def Def }

// Histogram is a family of distributions with classic and native buckets.
type Histogram struct {
	def     Def
	buckets []float64
}

// Summary is a family of quantiles of finished runs, by the label quantile, with their number and their sum.
type Summary struct{ def Def }

// Def returns the definition.
func (c Counter) Def() Def { return c.def }

// Def returns the definition.
func (g Gauge) Def() Def { return g.def }

// Def returns the definition.
func (h Histogram) Def() Def { return h.def }

// Def returns the definition.
func (s Summary) Def() Def { return s.def }

// Buckets returns the classic upper bounds in the unit of the family, ascending, without +Inf.
func (h Histogram) Buckets() []float64 { return slices.Clone(h.buckets) }

// NativeFactor is the growth factor asked of native histograms: schema 5, so that a
// quantile read at the middle of a bucket is within 1.1 % of the true value.
const NativeFactor = 1.0218971486541166

func counter(d Def) Counter { d.Kind = KindCounter; return Counter{d} }

func gauge(d Def) Gauge { d.Kind = KindGauge; return Gauge{d} }

func summary(d Def) Summary { d.Kind, d.Sum = KindSummary, SumNever(); return Summary{d} }

func histogram(d Def, buckets []float64) Histogram {
	d.Kind = KindHistogram
	return Histogram{d, buckets}
}

func joinLabels(labels []Label, separator string) string {
	return strings.Join(Def{Labels: labels}.LabelNames(), separator)
}
