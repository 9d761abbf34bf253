package demo

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/umascope/umascope/loadgen/render"
)

// alertsSection has the curves of the machine with the events, and all alerts: a row for an alert on a machine, however
// often it fired there.
func alertsSection(h Heat) []render.Block {
	figure := heatFigure(h)
	table := render.Table{Header: []string{"alert", "severity", "machine", "times", "first pending", "first fired", "last over", "it says"}, Words: []int{1, 2, 7}}
	var runbooks []Link
	for _, row := range byMachine(h.Firings) {
		first := row[0]
		table.Add(first.Alert, first.Severity, cmp.Or(first.Host, "a comparison of runs"), fmt.Sprint(len(row)), timeOfDay(first.Pending), timeOfDay(first.From), over(row), first.Summary)
		if link := (Link{first.Alert, first.Runbook}); !slices.Contains(runbooks, link) {
			runbooks = append(runbooks, link)
		}
	}
	why := missing(h.Section, len(h.Firings) > 0 || figure.Drawn())
	if len(h.Firings) == 0 && figure.Drawn() && why == "" {
		why = "no alert has fired"
	}
	blocks := []render.Block{
		section("alerts", "What the alerts said"),
		text(fmt.Sprintf("uma-view scraped the machines and evaluated the alert rules with Prometheus’ own code. Their durations are a %dth of those that are shipped: a minute is two seconds.", timeFactor)),
		absent(why), fault(h.Fault), render.Figures{figure}, table,
	}
	if len(runbooks) > 0 {
		blocks = append(blocks, render.Small("What to do when one fires:"), links(runbooks))
	}
	return append(blocks, links(h.Links))
}

// byMachine groups firings by alert, severity and machine, in the order of the first of each group.
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

// over tells when the last of some firings was over.
func over(firings []Firing) string {
	if slices.ContainsFunc(firings, func(f Firing) bool { return f.Until.IsZero() }) {
		return "fires still"
	}
	return timeOfDay(slices.MaxFunc(firings, func(a, b Firing) int { return a.Until.Compare(b.Until) }).Until)
}
