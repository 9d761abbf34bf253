// Package importer reads what other benchmarks wrote of their runs and makes run folders of it, which
// are read like our own.
//
// Nothing of such a run was measured here. Every figure stays its tool's word, by the tool's own
// definition, apart from what is measured; what a file does not say is not there. Each format states
// the versions of the tool and the code that writes its files, and warns where its words mean something
// else than ours. Files are somebody else's: bounded, refused as a whole where they are damaged, and
// every text in them is made fit to print.
package importer

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Format is a form of results that is understood.
type Format struct {
	Name string
	// Help says what is read, in a line.
	Help string
	// read returns the runs of a file, at least one.
	read func(*file) ([]Result, error)
}

// Formats lists them in the order of the help.
func Formats() []Format {
	return []Format{
		benchmarkSpark(), trtllmLog(), vllm(), aiperf(), genaiBench(), guidellm(), vllmMultiTurn(), sparkHarness(),
	}
}

// Find returns the format of a name.
func Find(name string) (Format, error) {
	var names []string
	for _, f := range Formats() {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Format{}, fmt.Errorf("%q is none of %s", name, strings.Join(names, ", "))
}

// Result is a run of a foreign tool.
type Result struct {
	// Key tells the run from all others of its tool, by the tool's own word: mostly its time. Namer is who
	// chose it, if that is not the format: a run of which there are files of two formats is one run.
	Key, Namer string
	// StartedAt orders runs; EndedAt is zero where it is not known.
	StartedAt, EndedAt time.Time
	// Labels tell arms apart; what the file does not say is not there.
	Labels map[string]string
	// Settings are those of the tool that decide what it measures.
	Settings map[string]string
	// Program is the tool, Version its own or that of the engine that it ran.
	Program, Version string
	// Model, Engine and URL are of what answered.
	Model, Engine, EngineVersion, URL string
	ExitCode                          *int
	// Stopped is why its figures must not be used; empty is nothing. EndKnown says that the file would tell.
	Stopped  string
	EndKnown bool
	// Values are the tool's figures, Memory what the engine says of its own.
	Values []enginelog.Value
	Memory *rundir.EngineReport
	// Start, Max and End are temperatures of the GPU, by the tool.
	StartCelsius, MaxCelsius, EndCelsius *float64
	// Warnings are where the tool's words mean something else than ours.
	Warnings []string
}

// longestLabel bounds the value of a label, as --label does.
const longestLabel = 256

// label adds a label if there is a value.
func (r *Result) label(name, value string) {
	if value = printable(value, longestLabel); value == "" {
		return
	}
	if r.Labels == nil {
		r.Labels = map[string]string{}
	}
	r.Labels[name] = value
}

// setting adds a setting if there is a value.
func (r *Result) setting(name, value string) {
	if value = printable(value, longestLabel); value == "" {
		return
	}
	if r.Settings == nil {
		r.Settings = map[string]string{}
	}
	r.Settings[name] = value
}

// largest bounds what is taken for a figure: above, whole numbers are no longer exact.
const largest = 1 << 53

// add enters a figure in base units. What is absent, negative or too large is none.
func (r *Result) add(name enginelog.Name, statistic string, value *float64, factor float64) {
	if value == nil || !(*value >= 0 && *value*factor <= largest) {
		return
	}
	v := enginelog.NewValue(name, statistic, *value*factor)
	if v.Unit == enginelog.Bytes {
		v.Value = math.Round(v.Value) // there is no half of one
	}
	r.Values = append(r.Values, v)
}

// Warnings lists what the results say of themselves, each thing once.
func Warnings(results []Result) []string {
	var all []string
	for _, r := range results {
		for _, w := range r.Warnings {
			if !slices.Contains(all, w) {
				all = append(all, w)
			}
		}
	}
	return all
}

// String is the name, as --format takes it.
func (f Format) String() string { return f.Name }
