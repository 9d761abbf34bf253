package spec

import (
	"strconv"
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

// Phases are the phases, in order.
func Phases() []string {
	return []string{PhaseLoad, PhaseReady, PhaseWarmup, PhaseMeasure, PhaseStop}
}

// Log describes the log of an engine and of its benchmarks.
type Log struct {
	// Source is the text of the engine that writes the lines, "" if they are known from logs only.
	Source string
	// Help describes the input in one line.
	Help string
	// First is the phase in which the program starts; empty if the log does not show phases.
	First string

	Marks    []Mark
	Figures  []Figure
	Versions []string // labels in front of a version
	Reduced  *Reduction
	Restarts []string // lines at which an engine begins: figures before them belong to another one
	Contexts string   // begins a part with its own buffers; empty if there is none
}

// Mark is a text with which a line begins a phase.
type Mark struct {
	Text  string
	Whole bool // the text is the whole line, apart from space
	// From is the phase in which the text counts; empty means any phase before the one that it begins.
	From string
	To   string
}

// Figure is a number in a line: after the labels, which occur in this order, and before its unit. Labels are searched
// as plain text, because a pattern language on every line of a verbose program costs more than all the rest.
type Figure struct {
	Of        Quantity
	Statistic string
	After     []string
	Leads     bool   // the first label begins the line
	Unit      string // text after the number; empty matches any
	Factor    float64
	Sum       bool // of several lines; else the last one counts
	// Each: the last line of a device in one context counts, and the devices are added.
	Each bool
	// Device selects lines by the word before the first label; nil selects all.
	Device func(string) bool
}

// Reduction is a line that reduces the used part of an earlier figure: so many of so many.
type Reduction struct {
	Of       Quantity
	From, To Figure
}

// Tiers is what the log of an engine has of the tiers of its KV cache below the device. 0 is unknown. Sizes are
// per worker.
type Tiers struct {
	// KVBM is true if a KV block manager started.
	KVBM bool
	// HostBytes is the host tier of an engine's own offloading, DiskBytes the file of KVBM's disk tier.
	HostBytes, DiskBytes float64
	// BlockBytes and TokenBytes are the sizes of a block of KVBM and of a token in it.
	BlockBytes, TokenBytes float64
	// Files is true if an engine's own offloading has a tier of files, which has no limit of its own.
	Files bool
	// Filter is the state of KVBM's disk filter; nil if the log does not show it.
	Filter *bool

	// ValueBytes is the size of a value, of the worker that starts.
	ValueBytes float64
	// Unfiltered is set if the manager that starts has no filter.
	Unfiltered bool
}

// Factors to base units. GiB is what the engines mean by GiB and also by GB; each engine's package gives the source for
// that.
const (
	GiB          = 1 << 30
	MiB          = 1 << 20
	Milliseconds = 1e-3
	One          = 1
)

// Mean is the name of the statistic.
const Mean = "mean"

// Largest bounds the figures that are accepted: above it, whole numbers are no longer exact.
const Largest = 1 << 53

// LeadingNumber cuts a plain number such as 113.65, 223,152 or 1.0526E+15 from the front of a text. It accepts no sign:
// the figures cannot be negative, and a printed negative, such as the memory of weights after other processes
// freed memory, is meaningless.
func LeadingNumber(text string) (number, rest string) {
	digit := func(i int) bool { return i < len(text) && text[i] >= '0' && text[i] <= '9' }
	i := 0
	for digit(i) || i > 0 && i < len(text) && text[i] == ',' && digit(i+1) {
		i++
	}
	if i > 0 && i < len(text) && text[i] == '.' && digit(i+1) {
		for i++; digit(i); i++ {
		}
	}
	if i > 0 && i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		j := i + 1
		if j < len(text) && (text[j] == '+' || text[j] == '-') {
			j++
		}
		if digit(j) {
			for i = j; digit(i); i++ {
			}
		}
	}
	return text[:i], text[i:]
}

// NumberAfter returns the number after a label; 0 if the line has none.
func NumberAfter(line, label string) float64 {
	_, rest, _ := strings.Cut(line, label)
	return Leading(rest)
}

// Leading returns the number at the beginning of a text; 0 if there is none.
func Leading(text string) float64 {
	number, _ := LeadingNumber(text)
	value, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
	if err != nil || value > Largest {
		return 0
	}
	return value
}

// ServingReport returns the figures of the table that ends the serving benchmarks of several engines, all of one origin, in
// milliseconds and tokens:
//
//	============ Serving Benchmark Result ============
//	Output token throughput (tok/s):         172.32
//	P99 TTFT (ms):                           4210.07
func ServingReport() []Figure {
	figures := []Figure{
		{Of: Requests, After: []string{"Successful requests:"}, Factor: One},
		{Of: FailedRequests, After: []string{"Failed requests:"}, Factor: One},
		{Of: DurationSeconds, After: []string{"Benchmark duration (s):"}, Factor: One},
		{Of: InputTokens, After: []string{"Total input tokens:"}, Factor: One},
		{Of: OutputTokens, After: []string{"Total generated tokens:"}, Factor: One},
		{Of: RequestsPerSecond, After: []string{"Request throughput (req/s):"}, Factor: One},
		{Of: InputTokensPerSecond, After: []string{"Input token throughput (tok/s):"}, Factor: One},
		{Of: OutputTokensPerSecond, After: []string{"Output token throughput (tok/s):"}, Factor: One},
		{Of: TotalTokensPerSecond, After: []string{"Total token throughput (tok/s):"}, Factor: One},
		{Of: TotalTokensPerSecond, After: []string{"Total Token throughput (tok/s):"}, Factor: One}, // vLLM before 0.11
		{Of: Concurrency, After: []string{"Concurrency:"}, Factor: One},
	}
	statistics := []struct{ label, statistic string }{
		{"Mean ", Mean}, {"Median ", "p50"}, {"P25 ", "p25"}, {"P50 ", "p50"}, {"P75 ", "p75"}, {"P90 ", "p90"}, {"P95 ", "p95"}, {"P99 ", "p99"},
	}
	for _, row := range []struct {
		of    Quantity
		label string
	}{{TTFTSeconds, "TTFT (ms):"}, {TPOTSeconds, "TPOT (ms):"}, {ITLSeconds, "ITL (ms):"}, {E2ESeconds, "E2EL (ms):"}, {E2ESeconds, "E2E Latency (ms):"}} {
		for _, s := range statistics {
			figures = append(figures, Figure{Of: row.of, Statistic: s.statistic, After: []string{s.label + row.label}, Factor: Milliseconds})
		}
	}
	return figures
}

// LogTiers are the readers of lines about tiers of all engines.
func (all Engines) LogTiers() []func(*Tiers, string) {
	var read []func(*Tiers, string)
	for _, e := range all {
		if e.LogTiers != nil {
			read = append(read, e.LogTiers)
		}
	}
	return read
}

// Empty reports whether the log has no line about tiers.
func (t Tiers) Empty() bool { return t == Tiers{} }
