package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/chart"
)

// table is a heading row and rows; the first column is text, the others are figures.
type table struct {
	Header []string
	Rows   [][]string
}

type facts []fact

func (f facts) cells() [][]string {
	var rows [][]string
	for _, x := range f {
		rows = append(rows, []string{x.name, x.value})
	}
	return rows
}

// identity is what ran.
func (s Summary) identity() facts {
	f := facts{{"scenario", s.Scenario}}
	if s.Model.ID != "" { // nobody says which one a recorded command uses
		f = append(f, fact{"model", s.Model.ID})
	}
	known := f
	for _, name := range slices.Sorted(maps.Keys(s.Labels)) {
		named := fact{name, s.Labels[name]}
		if slices.Contains(known, named) {
			continue
		}
		if slices.ContainsFunc(known, func(k fact) bool { return k.name == name }) {
			named.name = "label " + name
		}
		f = append(f, named)
	}
	return f
}

// rows are the lengths that are known.
func (t Tokens) rows() []row {
	var rows []row
	if t.Input != nil {
		rows = append(rows, row{"input", "", t.Input})
	}
	if t.Output != nil {
		rows = append(rows, row{"output", "", t.Output})
	}
	return rows
}

func distributionHeader(first ...string) []string {
	return append(first, "mean", "sd", "min", "p25", "p50", "p75", "p90", "p95", "p99", "p99.9", "max")
}

// cells are the columns of distributionHeader, n first.
func (d *Distribution) cells(format func(float64) string) []string {
	cells := []string{fmt.Sprint(d.N)}
	for _, v := range []*float64{d.Mean, d.SD, d.Min, d.P25, d.P50, d.P75, d.P90, d.P95, d.P99, d.P999, d.Max} {
		cells = append(cells, chart.Optional(v, format))
	}
	return cells
}

func distributionRows(rows []row, format func(float64) string) [][]string {
	var cells [][]string
	for _, r := range rows {
		cells = append(cells, append([]string{strings.TrimSpace(r.name + fromText(r.from))}, r.values.cells(format)...))
	}
	return cells
}

func fromText(from string) string {
	if from == "" {
		return ""
	}
	return " from " + from
}

// table has the ledger's lines with a column for each moment that was observed.
func (at LedgerAt) table() table {
	moments := []struct {
		name  string
		lines map[string]float64
	}{{"start", at.Start}, {"ready", at.Ready}, {"peak", at.Peak}}
	t := table{Header: []string{"memory ledger"}}
	names := map[string]bool{}
	for _, moment := range moments {
		if moment.lines != nil {
			t.Header = append(t.Header, moment.name)
		}
		for name := range moment.lines {
			names[name] = true
		}
	}
	for _, name := range inLedgerOrder(names) {
		row := []string{name}
		for _, moment := range moments {
			if moment.lines == nil {
				continue
			}
			text := chart.None
			if v, ok := moment.lines[name]; ok {
				text = chart.FormatBytes(v)
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// phaseTable has a row for each phase.
func (s Summary) phaseTable() table {
	t := table{Header: []string{"phase", "start", "end", "requests", "output tokens per second", "mean TTFT", "p50 TTFT"}}
	switch {
	case s.Tool != nil:
		t.Header = t.Header[:3] // its requests are not ours to count
	case s.Latency == nil || s.Latency.TTFT == nil:
		t.Header = t.Header[:5]
	}
	for _, name := range s.phaseOrder() {
		p := s.Phases[name]
		first := p.firstToken()
		row := []string{
			name, chart.FormatSeconds(p.Start), chart.FormatSeconds(p.End), Summary{Requests: p.Requests}.requestCounts(),
			chart.Optional(p.Throughput.OutputTokensPerSecond, chart.Digits), chart.Optional(first.Mean, chart.FormatSeconds), chart.Optional(first.P50, chart.FormatSeconds),
		}
		t.Rows = append(t.Rows, row[:len(t.Header)])
	}
	return t
}

// firstToken is the time to the first token from send; empty if the phase has none.
func (p PhaseSummary) firstToken() Distribution {
	if p.Latency == nil || p.Latency.TTFT == nil || p.Latency.TTFT.Send == nil {
		return Distribution{}
	}
	return *p.Latency.TTFT.Send
}

// table has how long clocks were held down, by reason.
func (t *Thermal) table() table {
	if t == nil || len(t.ThrottleSeconds) == 0 {
		return table{}
	}
	rows := table{Header: []string{"clock held down by", "for"}}
	for _, reason := range slices.Sorted(maps.Keys(t.ThrottleSeconds)) {
		rows.Rows = append(rows.Rows, []string{reason, chart.FormatSeconds(t.ThrottleSeconds[reason])})
	}
	return rows
}

// phaseOrder lists the phases by when they began.
func (s Summary) phaseOrder() []string {
	return slices.SortedFunc(maps.Keys(s.Phases), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Phases[a].Start, s.Phases[b].Start), cmp.Compare(a, b))
	})
}
