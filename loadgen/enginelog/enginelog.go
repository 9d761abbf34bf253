// Package enginelog reads what engines and benchmarks print: where their phases begin, and the figures
// that they state of their memory and their work.
//
// Everything here is a pure function of the lines. A figure is kept as its tool reports it, by the
// tool's own definition and in base units; none of them is a measurement of ours. What a line says is
// believed to be a number and nothing more: the text is somebody else's.
package enginelog

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Phases that the lines of a log can begin, in the order in which they come. A log never goes back.
const (
	PhaseLoad    = "load"    // the engine starts: weights, memory of the KV cache, graphs
	PhaseReady   = "ready"   // it is ready, and nothing is asked of it
	PhaseWarmup  = "warmup"  // requests that the tool does not count
	PhaseMeasure = "measure" // the requests that it reports
	PhaseStop    = "stop"    // its report, and its end
)

func phases() []string {
	return []string{PhaseLoad, PhaseReady, PhaseWarmup, PhaseMeasure, PhaseStop}
}

// Tool is a program whose log is understood.
type Tool struct {
	Name string
	// Help says what is read, in a line.
	Help string
	// First is the phase in which the program starts; empty if its phases cannot be told.
	First string

	marks    []mark
	figures  []figure
	versions []string // labels that a version follows
	reduced  *reduction
	restarts []string // beginnings of an engine: what was read before them is of another one
	contexts string   // begins what has buffers of its own; empty is none
	// results reads a file of results that the tool writes beside its log; nil if none is known.
	results func(io.Reader) ([]Value, error)
}

// None reads nothing: the tool whose log is not understood.
const None = "none"

// Tools lists the tools in the order of the help.
func Tools() []Tool {
	return []Tool{
		trtllm(), vllm(), sglang(), llamaCPP(), genaiBench(),
		{Name: None, Help: "nothing is read: the whole command is measured"},
	}
}

// Find returns the tool of a name.
func Find(name string) (Tool, error) {
	var names []string
	for _, tool := range Tools() {
		if tool.Name == name {
			return tool, nil
		}
		names = append(names, tool.Name)
	}
	return Tool{}, fmt.Errorf("%q is none of %s", name, strings.Join(names, ", "))
}

// String is the name, as --extract takes it.
func (t Tool) String() string { return t.Name }

// HasResults says whether the tool writes files of results that are understood.
func (t Tool) HasResults() bool { return t.results != nil }

// Results reads a file of results. It fails on a file that is none, or larger than a bound.
func (t Tool) Results(file io.Reader) ([]Value, error) {
	if t.results == nil {
		return nil, fmt.Errorf("%s writes no file of results that is understood", t.Name)
	}
	return t.results(file)
}

// mark is a text by which a line begins a phase.
type mark struct {
	text  string
	whole bool // the text is the whole line, beside space
	// from is the phase in which the text counts; empty is any before the one that it begins.
	from string
	to   string
}

// begins says whether a line begins the mark's phase.
func (m mark) begins(line, now string) bool {
	if m.from != "" && m.from != now || slices.Index(phases(), now) >= slices.Index(phases(), m.to) {
		return false
	}
	if m.whole {
		return strings.TrimSpace(line) == m.text
	}
	return strings.Contains(line, m.text)
}
