package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
)

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
	for _, f := range figure.All().Columns(figure.InBench) {
		value := f.Get(&s)
		if value == nil || f.Origin != nil && !f.Origin(&s).Live() {
			continue
		}
		fmt.Fprintf(&b, "Unit %s better=%s\n", f.Bench.Heading, f.Direction)
		result += " " + strconv.FormatFloat(*value, 'g', -1, 64) + " " + f.Bench.Heading
	}
	if s.Requests[openai.StatusOK] > 0 {
		b.WriteString(result + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
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
