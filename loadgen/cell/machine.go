package cell

import (
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/render"
)

// Watts returns the mean power of all GPUs in the batches; nil where it was not measured.
func (r Row) Watts() *float64 {
	if r.Used == nil || r.Used.Joules == nil || !(r.Used.Seconds > 0) {
		return nil
	}
	return new(*r.Used.Joules / r.Used.Seconds)
}

// TokensPerJoule returns the output tokens of the batches over the energy of all GPUs in them; nil where one of them is
// unknown, or the energy is not that of these tokens.
func (r Row) TokensPerJoule() *float64 {
	if r.Used == nil || r.Used.Joules == nil || !r.Used.PerToken || !(*r.Used.Joules > 0) {
		return nil
	}
	tokens := 0
	for _, batch := range r.Batches {
		for _, request := range batch {
			switch {
			case request.Status != openai.StatusOK:
			case request.TokensOut == nil:
				return nil
			default:
				tokens += *request.TokensOut
			}
		}
	}
	return new(float64(tokens) / *r.Used.Joules)
}

// MemoryLeft returns the least memory in bytes that a GPU could still have had in the batches; nil where it is unknown.
func (r Row) MemoryLeft() *float64 {
	if r.Used == nil {
		return nil
	}
	return r.Used.MemoryLeft
}

// machineColumn is a column of a table of cells that a machine has to be measured for.
type machineColumn struct {
	name, meaning string
	of            func(Row) *float64
	format        func(float64) string
}

// machineColumns returns those columns that any of the rows has a figure for.
func machineColumns(rows []Row) []machineColumn {
	return slices.DeleteFunc([]machineColumn{
		{"GPU W", "the mean power of all GPUs", Row.Watts, format.Digits},
		{"tokens/J", "output tokens over the energy of all GPUs", Row.TokensPerJoule, format.Digits},
		{"memory left", "the least that was available in the pool, or on a GPU with memory of its own", Row.MemoryLeft, format.Bytes},
	}, func(c machineColumn) bool {
		return !slices.ContainsFunc(rows, func(r Row) bool { return c.of(r) != nil })
	})
}

func (c machineColumn) text(r Row) string {
	v := c.of(r)
	if v == nil {
		return format.None
	}
	return c.format(*v)
}

// machineLegend explains the columns of the machine and names their source; empty without any.
func (p part) machineLegend() string {
	columns := machineColumns(p.rows)
	if len(columns) == 0 {
		return ""
	}
	var meanings, sources []string
	for _, c := range columns {
		meanings = append(meanings, c.name+" is "+c.meaning)
	}
	for _, r := range p.rows {
		if r.Used == nil {
			continue
		}
		source := r.Used.Source
		if !r.Used.Live() {
			source += " (" + r.Used.Mode + ")"
		}
		if !slices.Contains(sources, source) {
			sources = append(sources, source)
		}
	}
	return fmt.Sprintf("%s, by %s, over whole batches: from the first request sent to the end of the last answer, prompts and answers together.", strings.Join(meanings, ", "), strings.Join(sources, ", "))
}

// machineTable has the figures of the machine in a table of their own, a line for each row, where there is no room beside
// the others; nil without any.
func (p part) machineTable() render.Block {
	columns := machineColumns(p.rows)
	if len(columns) == 0 {
		return nil
	}
	t := render.Table{Header: []string{"cell"}}
	for _, c := range columns {
		t.Header = append(t.Header, c.name)
	}
	for _, r := range p.rows {
		line := []string{r.name(several(p.rows))}
		for _, c := range columns {
			line = append(line, c.text(r))
		}
		t.Add(line...)
	}
	return t
}

// name returns the name of a row with both its halves.
func (r Row) name(withConcurrency bool) string {
	prefill, decode := r.names(withConcurrency)
	if r.Context {
		return strings.Replace(prefill, "ctx_pp", "ctx", 1)
	}
	half, _, _ := strings.Cut(prefill, " ")
	return half + " " + decode
}
