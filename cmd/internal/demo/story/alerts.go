package story

import (
	"fmt"
	"slices"
	"time"

	"github.com/umascope/umascope/loadgen/chart"
)

// heatView is what alerts said.
type heatView struct {
	Absent, Fault string
	Figure        *chart.Figure
	// Machines has what an alert said of a machine in one row, however often it did.
	Machines grid
	// Firings has each by itself where that says more than Machines. Information are those that nobody has to act on.
	Firings, Information grid
	Runbooks             []Link
	Links                []Link
}

// informational is the severity of alerts that nobody has to act on.
const informational = "info"

func newHeat(h Heat) heatView {
	each := grid{Header: []string{"alert", "severity", "machine", "of it", "pending from", "fired", "over", "it says"}, words: []int{1, 2, 3, 7}}
	v := heatView{
		Figure: heatFigure(h), Links: h.Links, Fault: h.Fault, Firings: each, Information: each,
		Machines: grid{Header: []string{"alert", "severity", "machine", "times", "first pending", "first fired", "last over", "it says"}, words: []int{1, 2, 7}},
	}
	acted := slices.DeleteFunc(slices.Clone(h.Firings), func(f Firing) bool { return f.Severity == informational })
	rows := byMachine(acted)
	for _, row := range rows {
		first := row[0]
		v.Machines.add("", first.Alert, first.Severity, first.Host, fmt.Sprint(len(row)), clock(earliest(row, Firing.pending)), clock(earliest(row, Firing.fired)), over(latest(row)), first.Summary)
	}
	for _, f := range h.Firings {
		switch {
		case f.Severity == informational:
			v.Information.add("", f.cells()...)
		case len(rows) < len(acted) || slices.ContainsFunc(acted, func(f Firing) bool { return f.About != "" }):
			v.Firings.add("", f.cells()...)
		}
		if link := (Link{f.Alert, f.Runbook}); f.Runbook != "" && !slices.Contains(v.Runbooks, link) {
			v.Runbooks = append(v.Runbooks, link)
		}
	}
	v.Absent = missing(h.Section, len(h.Firings) > 0 || v.Figure != nil)
	if len(h.Firings) == 0 && v.Figure != nil && v.Absent == "" {
		v.Absent = "no alert has fired"
	}
	return v
}

func (f Firing) pending() time.Time { return f.Pending }
func (f Firing) fired() time.Time   { return f.From }

func (f Firing) cells() []string {
	return []string{f.Alert, f.Severity, f.Host, f.About, clock(f.Pending), clock(f.From), over(f.Until), f.Summary}
}

func over(until time.Time) string {
	if until.IsZero() {
		return "fires still"
	}
	return clock(until)
}

// byMachine are the firings of an alert of one severity on one machine together, in the order in which the first of each came:
// those that look at runs fire again for every run.
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

// latest is when the last of them was over; zero while one fires still.
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
