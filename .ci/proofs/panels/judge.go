package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// run judges drawings, and writes the table of their figures.
func run(emptyFile string, drawings io.Reader, table io.Writer) (faults []string, err error) {
	text, err := os.ReadFile(emptyFile)
	if err != nil {
		return nil, err
	}
	reasons, err := parseReasons(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", emptyFile, err)
	}
	all, err := readDrawings(drawings)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no drawings")
	}
	j := judgement{reasons: reasons, needed: map[place]bool{}, rows: map[rowKey]*row{}}
	for _, d := range all {
		j.judge(d)
	}
	j.unneeded()
	j.undrawn(all)
	j.write(table)
	return j.faults, nil
}

// place is a panel in a state.
type place struct{ state, dashboard, panel string }

// parseReasons reads why panels may be empty: a line each of states (by commas), dashboard, panel and reason, between tabs.
func parseReasons(text []byte) (map[place]string, error) {
	reasons := map[place]string{}
	for n, line := range bytes.Split(text, []byte("\n")) {
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		columns := strings.Split(string(line), "\t")
		if len(columns) != 4 || slices.Contains(columns, "") {
			return nil, fmt.Errorf("line %d: want states, dashboard, panel and reason, between tabs", n+1)
		}
		for state := range strings.SplitSeq(columns[0], ",") {
			at := place{state, columns[1], columns[2]}
			if reasons[at] != "" {
				return nil, fmt.Errorf("line %d: %v has a reason already", n+1, at)
			}
			reasons[at] = columns[3]
		}
	}
	return reasons, nil
}

type judgement struct {
	reasons map[place]string
	needed  map[place]bool // reasons of panels that were empty
	rows    map[rowKey]*row
	faults  []string
}

func (j *judgement) fault(d drawing, format string, args ...any) {
	j.faults = append(j.faults, d.where()+": "+fmt.Sprintf(format, args...))
}

// judge adds the faults of a drawing, and its figures.
func (j *judgement) judge(d drawing) {
	r := j.row(d)
	r.drawings++
	r.panels = max(r.panels, len(d.Panels))
	for _, p := range d.Problems {
		r.errors++
		j.fault(d, "%s", p)
	}
	for _, v := range d.Variables {
		if v.Error != "" {
			r.errors++
			j.fault(d, "variable %s: %s", v.Name, v.Error)
		}
	}
	if len(d.Panels) == 0 {
		j.fault(d, "no panel was drawn")
	}
	for _, p := range d.Panels {
		j.panel(d, p, r)
	}
}

func (j *judgement) panel(d drawing, p panel, r *row) {
	if p.Error != "" {
		r.errors++
		j.fault(d, "%s: %s", p.Title, p.Error)
	}
	for _, q := range p.Queries {
		r.queries++
		switch {
		case q.Error != "":
			r.errors++
			j.fault(d, "%s: %s: %s", p.Title, q.Error, q.Expr)
		case q.Series > 0:
			r.answered++
		}
	}
	if p.Blank {
		r.blank++
		j.fault(d, "%s is blank", p.Title)
	}
	if len(p.Cut) > 0 {
		r.cut++
		j.fault(d, "%s cuts %q", p.Title, p.Cut)
	}
	if p.Empty {
		r.empty[p.Title] = true
		at := place{d.State, d.Dashboard, p.Title}
		j.needed[at] = true
		if !p.saysWhy() {
			j.fault(d, "%s is empty and shows no reason of its own: %q", p.Title, p.Words)
		}
		if j.reasons[at] == "" {
			j.fault(d, "%s is empty (%s): this state has no reason for it in empty.tsv", p.Title, p.NoValue)
		}
	}
}

// unneeded adds the reasons of panels that were never empty.
func (j *judgement) unneeded() {
	for at := range j.reasons {
		if !j.needed[at] {
			j.faults = append(j.faults, fmt.Sprintf("%s, %s: %s was never empty: its line in empty.tsv is not needed", at.state, at.dashboard, at.panel))
		}
	}
	slices.Sort(j.faults)
}

// undrawn adds the values that a variable offers when a dashboard is opened and that were chosen in no drawing.
func (j *judgement) undrawn(all []drawing) {
	type value struct{ dashboard, variable, value string }
	offered, drawn := map[value]bool{}, map[value]bool{}
	for _, d := range all {
		for _, v := range d.Variables {
			for _, one := range v.values() {
				drawn[value{d.Dashboard, v.Name, one}] = true
			}
			for _, one := range v.Options {
				if len(d.Chosen) == 0 && !v.Hidden {
					offered[value{d.Dashboard, v.Name, one}] = true
				}
			}
		}
	}
	for v := range offered {
		if !drawn[v] {
			j.faults = append(j.faults, fmt.Sprintf("%s: value %q of variable %s was never drawn", v.dashboard, v.value, v.variable))
		}
	}
	slices.Sort(j.faults)
}

// rowKey orders rows: states as they were drawn, in each the dashboards by name.
type rowKey struct {
	order            int
	state, dashboard string
}

type row struct {
	title                                                   string
	drawings, panels, queries, answered, errors, blank, cut int
	empty                                                   map[string]bool
}

func (j *judgement) row(d drawing) *row {
	order := len(j.rows)
	for key := range j.rows {
		if key.state == d.State {
			order = min(order, key.order)
		}
	}
	key := rowKey{order, d.State, d.Dashboard}
	if j.rows[key] == nil {
		j.rows[key] = &row{title: d.Title, empty: map[string]bool{}}
	}
	return j.rows[key]
}

// write writes the table.
func (j *judgement) write(w io.Writer) {
	fmt.Fprint(w, "| State | Dashboard | Drawings | Panels | Queries | With data | Empty, with a reason | Errors | Blank | Cut |\n| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: |\n")
	keys := slices.SortedFunc(maps.Keys(j.rows), func(a, b rowKey) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.dashboard, b.dashboard))
	})
	for _, key := range keys {
		r := j.rows[key]
		fmt.Fprintf(w, "| %s | %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", key.state, r.title, r.drawings, r.panels, r.queries, r.answered, len(r.empty), r.errors, r.blank, r.cut)
	}
}
