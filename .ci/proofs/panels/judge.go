package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// run judges drawings, and writes the table of their figures.
func run(emptyFile, longFile string, drawings io.Reader, table io.Writer) (faults []string, err error) {
	reasons, err := readExcuses(emptyFile, parseReasons)
	if err != nil {
		return nil, err
	}
	long, err := readExcuses(longFile, parseLong)
	if err != nil {
		return nil, err
	}
	all, err := readDrawings(drawings)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no drawings")
	}
	j := judgement{reasons: reasons, long: long, needed: map[place]bool{}, rows: map[rowKey]*row{}, found: map[place]*finding{}}
	for _, d := range all {
		j.judge(d)
	}
	j.write(table)
	return slices.Concat(j.findings(), j.unneeded(), undrawn(all)), nil
}

type judgement struct {
	reasons map[place]reason
	needed  map[place]bool // reasons of panels that were empty
	long    []*longText
	rows    map[rowKey]*row
	found   map[place]*finding
}

// finding is a fault that several drawings of a state may have: the first is shown.
type finding struct {
	text     string
	drawings int
}

// fault adds a fault of one kind, of a panel or of the whole drawing.
func (j *judgement) fault(d drawing, of, kind, format string, args ...any) {
	at := place{d.State, d.Dashboard, of + " " + kind}
	if j.found[at] == nil {
		j.found[at] = &finding{text: d.where() + ": " + strings.TrimSpace(of+" "+fmt.Sprintf(format, args...))}
	}
	j.found[at].drawings++
}

func (j *judgement) findings() []string {
	var all []string
	for _, f := range j.found {
		if f.drawings > 1 {
			f.text += fmt.Sprintf(" (in %d drawings)", f.drawings)
		}
		all = append(all, f.text)
	}
	return slices.Sorted(slices.Values(all))
}

// judge adds the faults of a drawing, and its figures.
func (j *judgement) judge(d drawing) {
	r := j.row(d)
	r.drawings++
	r.panels = max(r.panels, len(d.Panels))
	for _, p := range d.Problems {
		r.errors++
		j.fault(d, "", p, "%s", p)
	}
	for _, v := range d.Variables {
		if v.Error != "" {
			r.errors++
			j.fault(d, "variable "+v.Name, "failed", "failed: %s", v.Error)
		}
	}
	if len(d.Panels) == 0 {
		j.fault(d, "", "panels", "no panel was drawn")
	}
	for _, p := range d.Panels {
		j.panel(d, p, r)
	}
}

func (j *judgement) panel(d drawing, p panel, r *row) {
	if p.Error != "" {
		r.errors++
		j.fault(d, p.Title, "failed", "failed: %s", p.Error)
	}
	for _, q := range p.Queries {
		r.queries++
		switch {
		case q.Error != "":
			r.errors++
			j.fault(d, p.Title, "query", "got %s for %s", q.Error, q.Expr)
		case q.Series > 0:
			r.answered++
		}
	}
	if p.Blank {
		r.blank[p.Title] = true
		j.fault(d, p.Title, "blank", "is blank")
	}
	if cut := slices.DeleteFunc(p.Cut, j.mayBeCut); len(cut) > 0 {
		r.cut[p.Title] = true
		j.fault(d, p.Title, "cut", "cuts %q", cut)
	}
	if p.Empty {
		r.empty[p.Title] = true
		at := place{d.State, d.Dashboard, p.Title}
		j.needed[at] = true
		if !p.saysWhy() {
			j.fault(d, p.Title, "silent", "is empty and shows no reason of its own: %q", p.Words)
		}
		if j.reasons[at] == (reason{}) {
			j.fault(d, p.Title, "empty", "is empty (%s): this state has no reason for it in empty.tsv", p.NoValue)
		}
	}
}

func (j *judgement) mayBeCut(text string) bool {
	for _, l := range j.long {
		if l.pattern.MatchString(text) {
			l.needed = true
			return true
		}
	}
	return false
}

// unneeded are the reasons of panels that were never empty and of texts that were never cut.
func (j *judgement) unneeded() []string {
	var faults []string
	for at, why := range j.reasons {
		if !j.needed[at] && !why.timing {
			faults = append(faults, fmt.Sprintf("%s, %s: %s was never empty: its line in empty.tsv is not needed", at.state, at.dashboard, at.panel))
		}
	}
	for _, l := range j.long {
		if !l.needed {
			faults = append(faults, fmt.Sprintf("no text of the pattern %s was cut: its line in long.tsv is not needed", l.pattern))
		}
	}
	slices.Sort(faults)
	return faults
}

// undrawn are the values that a variable offers when a dashboard is opened and that were chosen in no drawing.
func undrawn(all []drawing) []string {
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
	var faults []string
	for v := range offered {
		if !drawn[v] {
			faults = append(faults, fmt.Sprintf("%s: value %q of variable %s was never drawn", v.dashboard, v.value, v.variable))
		}
	}
	slices.Sort(faults)
	return faults
}

// rowKey orders rows: states as they were drawn, in each the dashboards by name.
type rowKey struct {
	order            int
	state, dashboard string
}

type row struct {
	title                                       string
	drawings, panels, queries, answered, errors int
	empty, blank, cut                           map[string]bool // titles of panels
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
		j.rows[key] = &row{title: d.Title, empty: map[string]bool{}, blank: map[string]bool{}, cut: map[string]bool{}}
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
		fmt.Fprintf(w, "| %s | %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", key.state, r.title, r.drawings, r.panels, r.queries, r.answered, len(r.empty), r.errors, len(r.blank), len(r.cut))
	}
}
