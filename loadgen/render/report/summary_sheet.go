package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
)

// SummarySheet returns the summary for readers: what ran, whether it is valid, the figures with a unit and a note next
// to each number, then every latency with its numbers, in seconds.
func SummarySheet(s summary.Summary) render.Sheet {
	rows := [][]any{{"run", s.Run}, {"verdict", verdictText(s)}}
	for _, reason := range s.InvalidReasons {
		rows = append(rows, []any{"invalid: " + string(reason.Code), reason.Detail})
	}
	for _, f := range runIdentity(s) {
		rows = append(rows, []any{f.Name, f.Value})
	}
	for _, h := range runFacts(s) {
		rows = append(rows, h.cells())
	}
	rows = append(rows, memoryRows(s)...)
	for _, warning := range s.Warnings {
		rows = append(rows, []any{"warning", warning})
	}
	rows = append(rows, nil, texts(append([]string{"metric", "from", "unit"}, distributionHeader("n")...)))
	for _, r := range latencyRows(s.Latency) {
		rows = append(rows, r.numbers("seconds"))
	}
	for _, r := range lengthRows(s.Tokens) {
		rows = append(rows, r.numbers("tokens"))
	}
	return render.Sheet{Name: "Summary", Header: []string{"what", "value", "unit", "note"}, Rows: render.Rows(rows)}
}

// memoryRows returns the table of memory with numbers: GiB, and percent of the pool.
func memoryRows(s summary.Summary) [][]any {
	table := measuredMemory(s)
	if table.Empty() {
		return nil
	}
	rows := [][]any{{table.Header[0], "line", "GiB", "share of the pool, %"}}
	for _, line := range poolLines(s.Memory, s.KV) {
		row := []any{line.moment, line.name, nil, nil}
		if line.bytes != nil {
			row[2] = *line.bytes / gibibytes().size
		}
		if line.share != nil {
			row[3] = 100 * *line.share
		}
		rows = append(rows, row)
	}
	return rows
}

// numbers returns the cells of a distribution as numbers, after its unit.
func (r row) numbers(unit string) []any {
	d := r.values
	cells := []any{r.name, r.from, unit, d.N}
	for _, v := range []*float64{d.Mean, d.SD, d.Min, d.P25, d.P50, d.P75, d.P90, d.P95, d.P99, d.P999, d.Max} {
		cells = append(cells, v)
	}
	return cells
}

func texts(words []string) []any {
	var cells []any
	for _, word := range words {
		cells = append(cells, word)
	}
	return cells
}

// FigureSheet returns the summary for programs: every value of summary.json with its path, such as
// latency.ttft.send.p50, one a row. A null value has no row.
func FigureSheet(s summary.Summary) (render.Sheet, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return render.Sheet{}, err
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return render.Sheet{}, err
	}
	var rows [][]any
	flatten("", value, func(path string, leaf any) { rows = append(rows, []any{path, leaf}) })
	return render.Sheet{Name: "Figures", Header: []string{"figure", "value"}, Rows: render.Rows(rows)}, nil
}

// flatten visits the leaves of a JSON value, in the order of their paths.
func flatten(path string, value any, visit func(path string, leaf any)) {
	below := func(key string) string {
		if path == "" {
			return key
		}
		return path + "." + key
	}
	switch v := value.(type) {
	case nil:
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			flatten(below(key), v[key], visit)
		}
	case []any:
		for i, element := range v {
			flatten(below(strconv.Itoa(i)), element, visit)
		}
	case string, float64, bool:
		visit(path, v)
	default:
		visit(path, fmt.Sprint(v))
	}
}

// ToolSheet returns the report of the tool for programs: a row for each figure, in base units.
func ToolSheet(s summary.Summary) render.Sheet {
	var rows [][]any
	if s.Tool != nil {
		for _, v := range s.Tool.Values {
			rows = append(rows, []any{string(v.Name), v.Statistic, v.Of, v.Value, string(v.Unit), v.From, v.Text})
		}
	}
	return render.Sheet{Name: "Reported", Header: []string{"figure", "statistic", "of", "value", "unit", "from", "text"}, Rows: render.Rows(rows)}
}
