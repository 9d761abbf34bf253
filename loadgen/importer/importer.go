// Package importer reads the result files of other benchmarks and makes run folders from them, which are read like
// uma-load's own.
//
// umascope measured none of it. Every figure is kept as the tool reports it, by the tool's own definition and separate
// from measured figures; figures that a file lacks are absent. Of a file with the moments of every request the figures
// are computed, by umascope's definitions. Each format names the versions of the tool and the code
// that writes its files, and warns where the tool's terms differ from umascope's. Files are untrusted: their size is
// limited, a damaged file is refused as a whole, and every text in them is made printable.
package importer

import (
	"math"
	"slices"
	"time"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Format is a supported format of results.
type Format struct {
	Name string
	// Help describes the files in one line.
	Help string
	// files returns the files of a folder of results; nil if the tool has none.
	files func(folder string) ([]string, error)
	// read returns the runs of a file, at least one.
	read func(*file) ([]Result, error)
}

// Formats returns the formats in the order of the help.
func Formats() []Format {
	return []Format{
		benchmarkSpark(), trtllmLog(), vllm(), aiperf(), genaiBench(), guidellm(), vllmMultiTurn(), sparkHarness(),
		llamaBenchy(), sparkrun(),
	}
}

// Find returns the format with a name.
func Find(name string) (Format, error) { return terminal.Named(Formats(), Format.String, name) }

// Result is a run of another tool.
type Result struct {
	// Key identifies the run among all others of its tool, by the tool's own value: mostly its time. Namer is the tool
	// that chose the key, if it is not the format's: files of two formats about one run give one run.
	Key, Namer string
	// StartedAt orders runs; EndedAt is zero if it is unknown.
	StartedAt, EndedAt time.Time
	// Labels distinguish arms; labels that the file lacks are absent.
	Labels map[string]string
	// Settings are the tool's settings that decide what it measures.
	Settings map[string]string
	// Program is the tool, Version its version or that of the engine that it ran.
	Program, Version string
	// Model, Engine and URL are those of the server.
	Model, Engine, EngineVersion, URL string
	ExitCode                          *int
	// Stopped is why its figures must not be used; empty if they may. EndKnown is true if the file would show such a
	// reason.
	Stopped  string
	EndKnown bool
	// Values are the tool's figures, Memory the engine's figures for its own memory.
	Values []spec.Reported
	Memory *rundir.EngineReport
	// LatencySeconds is the latency of the network that the tool probed, by LatencyMode; nil if it did not.
	LatencySeconds *float64
	LatencyMode    string
	// Requests are the requests of the run, in the phases Phases, if its file has them: figures are then computed from
	// them, and Values is empty.
	Requests []openai.Record
	Phases   []rundir.Span
	// Start, Max and End are temperatures of the GPU, as the tool reports them.
	StartCelsius, MaxCelsius, EndCelsius *float64
	// Warnings describe where the tool's terms differ from umascope's.
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

// largest bounds the figures that are accepted: above it, whole numbers are no longer exact.
const largest = 1 << 53

// add adds a figure in base units. It drops an absent, negative or too large value.
func (r *Result) add(name spec.Quantity, statistic string, value *float64, factor float64) {
	if value == nil || !(*value >= 0 && *value*factor <= largest) {
		return
	}
	v := enginelog.NewValue(name, statistic, *value*factor)
	if v.Unit == spec.UnitBytes {
		v.Value = math.Round(v.Value) // a count is a whole number
	}
	r.Values = append(r.Values, v)
}

// total is a figure of a whole run, in its base unit.
type total struct {
	name  spec.Quantity
	value *float64
}

// totals adds figures that have no statistic.
func (r *Result) totals(all []total) {
	for _, of := range all {
		r.add(of.name, "", of.value, 1)
	}
}

// Warnings returns the warnings of the results, each once.
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

// String returns the name, as --format takes it.
func (f Format) String() string { return f.Name }
