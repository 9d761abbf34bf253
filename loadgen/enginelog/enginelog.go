// Package enginelog reads the output of engines and benchmarks: the lines at which their phases begin, and the figures
// that they report about their memory and their work.
//
// All of it is a pure function of the lines. A figure is kept as its tool reports it, by the tool's own definition and
// in base units; umascope measures none of them. The text is untrusted: only numbers are read from it.
package enginelog

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// Tool is a program whose log is supported.
type Tool struct {
	Name string
	spec.Log

	// tiers read a line about tiers of the KV cache, by the wording of each engine that has them.
	tiers []func(*spec.Tiers, string)
	// results reads a file of results that the tool writes next to its log; nil if there is no such file.
	results func(io.Reader) ([]spec.Reported, error)
}

// None is the tool whose log is not read.
const None = "none"

// Tools returns the tools in the order of the help: those of the engines, then others.
func Tools(engines spec.Engines) []Tool {
	var tools []Tool
	for _, e := range engines {
		if e.Log != nil {
			tools = append(tools, Tool{Name: e.Name, Log: *e.Log, tiers: engines.LogTiers()})
		}
	}
	return append(tools, genaiBench(), Tool{Name: None, Log: spec.Log{Help: "nothing is read: the whole command is measured"}})
}

// Find returns the tool with a name.
func Find(engines spec.Engines, name string) (Tool, error) {
	var names []string
	for _, tool := range Tools(engines) {
		if tool.Name == name {
			return tool, nil
		}
		names = append(names, tool.Name)
	}
	return Tool{}, fmt.Errorf("%q is none of %s", name, strings.Join(names, ", "))
}

// String returns the name, as --extract takes it.
func (t Tool) String() string { return t.Name }

// HasResults reports whether the tool writes files of results that are supported.
func (t Tool) HasResults() bool { return t.results != nil }

// Results reads a file of results. It fails on another kind of file, or on one above the size limit.
func (t Tool) Results(file io.Reader) ([]spec.Reported, error) {
	if t.results == nil {
		return nil, fmt.Errorf("%s writes no file of results that is understood", t.Name)
	}
	return t.results(file)
}

// begins reports whether a line begins the mark's phase.
func begins(m spec.Mark, line, now string) bool {
	if m.From != "" && m.From != now || slices.Index(spec.Phases(), now) >= slices.Index(spec.Phases(), m.To) {
		return false
	}
	if m.Whole {
		return strings.TrimSpace(line) == m.Text
	}
	return strings.Contains(line, m.Text)
}
