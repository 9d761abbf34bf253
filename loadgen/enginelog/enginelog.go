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
)

// Phases that the lines of a log can begin, in order. A log never goes back.
const (
	PhaseLoad    = "load"    // the engine starts: weights, memory of the KV cache, graphs
	PhaseReady   = "ready"   // it is ready and receives no requests
	PhaseWarmup  = "warmup"  // requests that the tool does not count
	PhaseMeasure = "measure" // the requests that it reports
	PhaseStop    = "stop"    // its report, and its end
)

func phases() []string {
	return []string{PhaseLoad, PhaseReady, PhaseWarmup, PhaseMeasure, PhaseStop}
}

// Tool is a program whose log is supported.
type Tool struct {
	Name string
	// Help describes the input in one line.
	Help string
	// First is the phase in which the program starts; empty if the log does not show phases.
	First string

	marks    []mark
	figures  []figure
	versions []string // labels in front of a version
	reduced  *reduction
	tiers    bool     // the lines of KVBM and of vLLM's own offloading are read
	restarts []string // lines at which an engine begins: figures before them belong to another one
	contexts string   // begins a part with its own buffers; empty if there is none
	// results reads a file of results that the tool writes next to its log; nil if there is no such file.
	results func(io.Reader) ([]Value, error)
}

// None is the tool whose log is not read.
const None = "none"

// Tools returns the tools in the order of the help.
func Tools() []Tool {
	return []Tool{
		trtllm(), vllm(), sglang(), llamaCPP(), genaiBench(),
		{Name: None, Help: "nothing is read: the whole command is measured"},
	}
}

// Find returns the tool with a name.
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

// String returns the name, as --extract takes it.
func (t Tool) String() string { return t.Name }

// HasResults reports whether the tool writes files of results that are supported.
func (t Tool) HasResults() bool { return t.results != nil }

// Results reads a file of results. It fails on another kind of file, or on one above the size limit.
func (t Tool) Results(file io.Reader) ([]Value, error) {
	if t.results == nil {
		return nil, fmt.Errorf("%s writes no file of results that is understood", t.Name)
	}
	return t.results(file)
}

// mark is a text with which a line begins a phase.
type mark struct {
	text  string
	whole bool // the text is the whole line, apart from space
	// from is the phase in which the text counts; empty means any phase before the one that it begins.
	from string
	to   string
}

// begins reports whether a line begins the mark's phase.
func (m mark) begins(line, now string) bool {
	if m.from != "" && m.from != now || slices.Index(phases(), now) >= slices.Index(phases(), m.to) {
		return false
	}
	if m.whole {
		return strings.TrimSpace(line) == m.text
	}
	return strings.Contains(line, m.text)
}
