package demo

import (
	"fmt"
	"slices"
	"time"

	"github.com/umascope/umascope/loadgen/render"
)

// fired has the tables of alerts.
type fired struct {
	Heat
	Figure render.Figure
	// Machines has all firings of an alert on one machine in one row.
	Machines render.Table
	// Firings has one row per firing, where that shows more than Machines. Information has the alerts that need no
	// action.
	Firings, Information render.Table
	Runbooks             []Link
}

// informational is the severity of alerts that need no action.
const informational = "info"

func newHeat(h Heat) fired {
	each := render.Table{Header: []string{"alert", "severity", "machine", "of it", "pending from", "fired", "over", "it says"}, Words: []int{1, 2, 3, 7}}
	v := fired{
		Heat: h, Figure: heatFigure(h), Firings: each, Information: each,
		Machines: render.Table{Header: []string{"alert", "severity", "machine", "times", "first pending", "first fired", "last over", "it says"}, Words: []int{1, 2, 7}},
	}
	acted := slices.DeleteFunc(slices.Clone(h.Firings), func(f Firing) bool { return f.Severity == informational })
	rows := byMachine(acted)
	for _, row := range rows {
		first := row[0]
		v.Machines.Add(first.Alert, first.Severity, first.Host, fmt.Sprint(len(row)), timeOfDay(earliest(row, Firing.pending)), timeOfDay(earliest(row, Firing.fired)), over(latest(row)), first.Summary)
	}
	for _, f := range h.Firings {
		switch {
		case f.Severity == informational:
			v.Information.Add(f.cells()...)
		case len(rows) < len(acted) || slices.ContainsFunc(acted, func(f Firing) bool { return f.About != "" }):
			v.Firings.Add(f.cells()...)
		}
		if link := (Link{f.Alert, f.Runbook}); f.Runbook != "" && !slices.Contains(v.Runbooks, link) {
			v.Runbooks = append(v.Runbooks, link)
		}
	}
	v.Absent = missing(h.Section, len(h.Firings) > 0 || v.Figure.Drawn())
	if len(h.Firings) == 0 && v.Figure.Drawn() && v.Absent == "" {
		v.Absent = "no alert has fired"
	}
	return v
}

func (v fired) blocks() []render.Block {
	blocks := []render.Block{
		section("alerts", "What the alerts said", "machine clock"),
		text("Samples of the machines were stored at the machines’ own time, and the unmodified alert rules were evaluated there by Prometheus’ own code. An alert about runs looks at the newest one, and knows nothing of their order: where it and a comparison above differ, the comparison holds."),
		absent(v.Absent), fault(v.Fault), render.Figures{v.Figure}, v.Machines,
		render.Details{Summary: fmt.Sprintf("Each by itself: %d", len(v.Firings.Rows)), Blocks: []render.Block{v.Firings}},
		render.Details{Summary: fmt.Sprintf("For information only: %d", len(v.Information.Rows)), Blocks: []render.Block{v.Information}},
	}
	if len(v.Runbooks) > 0 {
		blocks = append(blocks, render.Small("What to do when one fires:"), links(v.Runbooks))
	}
	return append(blocks, links(v.Links))
}

func (f Firing) pending() time.Time { return f.Pending }
func (f Firing) fired() time.Time   { return f.From }

func (f Firing) cells() []string {
	return []string{f.Alert, f.Severity, f.Host, f.About, timeOfDay(f.Pending), timeOfDay(f.From), over(f.Until), f.Summary}
}

func over(until time.Time) string {
	if until.IsZero() {
		return "fires still"
	}
	return timeOfDay(until)
}

// byMachine groups firings by alert, severity and machine, in the order of the first of each group: alerts on runs fire
// again for every run.
func byMachine(firings []Firing) [][]Firing {
	var rows [][]Firing
	for _, f := range firings {
		i := slices.IndexFunc(rows, func(row []Firing) bool {
			return row[0].Alert == f.Alert && row[0].Severity == f.Severity && row[0].Host == f.Host
		})
		if i < 0 {
			i, rows = len(rows), append(rows, nil)
		}
		rows[i] = append(rows[i], f)
	}
	return rows
}

func earliest(firings []Firing, of func(Firing) time.Time) time.Time {
	least := of(firings[0])
	for _, f := range firings[1:] {
		if t := of(f); t.Before(least) {
			least = t
		}
	}
	return least
}

// latest returns when the last of them was over; zero while one still fires.
func latest(firings []Firing) time.Time {
	most := firings[0].Until
	for _, f := range firings {
		if f.Until.IsZero() {
			return time.Time{}
		}
		if f.Until.After(most) {
			most = f.Until
		}
	}
	return most
}
