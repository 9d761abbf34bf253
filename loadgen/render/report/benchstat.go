package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
)

// measurement is a figure of a run in the units of benchstat.
type measurement struct {
	unit   string
	higher bool // true if more is better
	value  *float64
}

// Benchstat writes a run in the format of Go benchmarks (golang.org/design/14313-benchmark-format): a line for each
// label, then one result with all figures. benchstat reads the concatenated files of several runs, one sample a run:
//
//	cat runs/*/results.txt | benchstat -col arm -
//
// The number of iterations is that of the requests that ended ok; a run without any has no result. Whether the run is
// valid is a key as well: benchstat -filter valid:true. So is whether its engine was simulated: such runs are in a
// table of their own.
func Benchstat(w io.Writer, s summary.Summary) error {
	var b strings.Builder
	// Not a key: keys separate tables, and every run has another name. benchstat skips lines that are not keys.
	fmt.Fprintf(&b, "# run %s\n", render.Printable(s.Run))
	for _, name := range slices.Sorted(maps.Keys(s.Labels)) {
		key(&b, name, s.Labels[name])
	}
	key(&b, "model", s.Model.ID)
	key(&b, "valid", strconv.FormatBool(s.Valid))
	key(&b, "simulated", strconv.FormatBool(s.Model.Simulated))
	result := fmt.Sprintf("BenchmarkLoad/scenario=%s %d", word(s.Scenario), s.Requests[openai.StatusOK])
	for _, m := range measurements(s) {
		if m.value == nil {
			continue
		}
		better := "lower"
		if m.higher {
			better = "higher"
		}
		fmt.Fprintf(&b, "Unit %s better=%s\n", m.unit, better)
		result += " " + strconv.FormatFloat(*m.value, 'g', -1, 64) + " " + m.unit
	}
	if s.Requests[openai.StatusOK] > 0 {
		b.WriteString(result + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// measurements returns the figures that runs are compared by. Times end in sec and amounts in bytes, which benchstat
// scales.
func measurements(s summary.Summary) []measurement {
	lower := func(unit string, value *float64) measurement { return measurement{unit, false, value} }
	higher := func(unit string, value *float64) measurement { return measurement{unit, true, value} }
	all := []measurement{
		higher("requests/s", s.Throughput.RequestsPerSecond),
		higher("output-tokens/s", s.Throughput.OutputTokensPerSecond),
		higher("input-tokens/s", s.Throughput.InputTokensPerSecond),
	}
	if s.SteadyState != nil {
		all = append(all, higher("steady-output-tokens/s", s.SteadyState.Throughput.OutputTokensPerSecond))
	}
	for _, r := range latencyRows(s.Latency) {
		name := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(r.name+fromText(r.from))), " ", "-")
		all = append(all, lower(name+"-mean-sec", r.values.Mean), lower(name+"-p50-sec", r.values.P50), lower(name+"-p99-sec", r.values.P99))
	}
	if s.Goodput != nil {
		all = append(all, higher("good-requests/s", s.Goodput.RequestsPerSecond))
	}
	if m := s.Memory; m != nil && m.Live() {
		all = append(all, lower("memory-occupied-without-kv-bytes", m.OccupiedWithoutKV), lower("memory-unavailable-peak-bytes", m.UnavailablePeak))
	}
	if e := s.Energy; e != nil && e.Live() {
		_, perToken := s.EnergyOfAll()
		all = append(all, lower("J/output-token", perToken))
	}
	return all
}

// key writes a configuration line. Keys begin in lower case and have neither upper case nor space.
func key(b *strings.Builder, name, value string) {
	name = strings.ToLower(word(name))
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		name = "label-" + name
	}
	fmt.Fprintf(b, "%s: %s\n", name, render.Printable(value))
}

// word converts text to one word of the format: spaces, colons and unprintable characters become _.
func word(text string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == ':' || r == '\ufffd' {
			return '_'
		}
		return r
	}, render.Printable(text))
}
