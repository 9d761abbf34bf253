package report

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/umascope/umascope/loadgen/chart"
	"github.com/umascope/umascope/loadgen/extract"
	"github.com/umascope/umascope/loadgen/sheet"
)

// ToolReport is what a recorded command said of itself. None of it was measured here, and none of it
// stands in a row with what was.
type ToolReport struct {
	// Program is the command's name, without its arguments.
	Program string `json:"program"`
	// Extractor is what read its log, and Version what that says of the engine or the tool.
	Extractor string `json:"extractor"`
	Version   string `json:"version,omitempty"`
	// File is the file of results of a tool that ran elsewhere; empty of a command that was recorded.
	File string `json:"file,omitempty"`
	// ExitCode is what the command returned, or 128 and the signal that ended it; absent of one that
	// never ran, and where a file of results does not say.
	ExitCode *int `json:"exit_code,omitempty"`
	// Ranks is how many ranks its engine has; figures of memory are then those of the first.
	Ranks  int             `json:"ranks,omitempty"`
	Values []extract.Value `json:"values"`
}

// table has a row for each figure, in the order of the vocabulary; statistics of one quantity follow
// each other.
func (t *ToolReport) table() table {
	if t == nil || len(t.Values) == 0 {
		return table{}
	}
	rows := table{Header: []string{"as reported by " + t.Program, "value", "where", "of"}}
	if !slices.ContainsFunc(t.Values, func(v extract.Value) bool { return v.Of != "" }) {
		rows.Header = rows.Header[:3]
	}
	place := map[extract.Name]int{}
	for i, q := range extract.Quantities() {
		place[q.Name] = i
	}
	values := slices.Clone(t.Values)
	slices.SortStableFunc(values, func(a, b extract.Value) int {
		return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(place[a.Name], place[b.Name]))
	})
	for _, v := range values {
		row := []string{named(v), formatValue(v), v.From, v.Of}
		rows.Rows = append(rows.Rows, row[:len(rows.Header)])
	}
	return rows
}

// named is a figure with its statistic, if it has one: "time to first token, p99".
func named(v extract.Value) string {
	if v.Statistic == "" {
		return v.Meaning
	}
	return v.Meaning + ", " + v.Statistic
}

func formatValue(v extract.Value) string {
	switch v.Unit {
	case extract.Bytes:
		return chart.FormatBytes(v.Value)
	case extract.Seconds:
		return chart.FormatSeconds(v.Value)
	case extract.PerSecond:
		return chart.Digits(v.Value) + " /s"
	default:
		return chart.Digits(v.Value)
	}
}

// facts say what the command was.
func (t *ToolReport) facts() facts {
	f := facts{{"command", t.Program}}
	if t.File != "" {
		f = facts{{"imported result of", t.Program}, {"file", t.File}}
	}
	switch {
	case t.ExitCode != nil:
		f = append(f, fact{"exit code", strconv.Itoa(*t.ExitCode)})
	case t.File == "":
		f = append(f, fact{"exit code", "it never ran"})
	}
	switch {
	case t.Version == "":
	case t.File != "":
		f = append(f, fact{"version", t.Version})
	default:
		f = append(f, fact{"version, by its log", t.Version})
	}
	return f
}

// EngineOf is what a log that was read says of an engine's memory; nil if it says nothing. What one of
// several ranks says is not all of what the engine holds.
func EngineOf(log *extract.Reading, source string) *EngineReport {
	if log.Ranks() > 1 {
		return nil
	}
	e := EngineReport{
		Peak: log.Value(extract.PeakBytes), NonTorch: log.Value(extract.NonTorchBytes),
		KV: log.Value(extract.KVBytes), KVTokens: log.Value(extract.KVTokens),
		Weights: log.Value(extract.WeightsBytes), Compute: log.Value(extract.ComputeBytes), HostCompute: log.Value(extract.HostComputeBytes), Source: source,
	}
	if e == (EngineReport{Source: source}) {
		return nil
	}
	return &e
}

// kv is the capacity of the KV cache by the engine's log, for a machine on which no page tells it. A
// machine of another time has another cache.
func (in Input) kv(r *reading) *KV {
	e := in.Engine
	if e == nil || e.KV == nil && e.KVTokens == nil || r.still() || !in.measures(r.source.Name) {
		return nil
	}
	return &KV{CapacityBytes: e.KV, CapacityTokens: e.KVTokens, Source: e.Source}
}

// ToolSheet is what the tool reported for programs: a row for each figure, in base units.
func ToolSheet(s Summary) sheet.Sheet {
	var rows [][]any
	if s.Tool != nil {
		for _, v := range s.Tool.Values {
			rows = append(rows, []any{string(v.Name), v.Statistic, v.Of, v.Value, string(v.Unit), v.From, v.Text})
		}
	}
	return sheet.Sheet{Name: "Reported", Header: []string{"figure", "statistic", "of", "value", "unit", "from", "text"}, Rows: sheet.Rows(rows)}
}
