package story

import (
	"fmt"

	"github.com/umascope/umascope/loadgen/chart"
	"github.com/umascope/umascope/loadgen/compare"
)

// where is what the memory went to.
type where struct {
	LedgerAbsent, BooksAbsent, LimitsAbsent, LimitsFault string
	Ledger, Cache                                        *chart.Figure
	LedgerTable, Parts, Limits                           grid
}

func newWhere(p Page) where {
	w := where{
		Ledger: ledgerFigure(p.Campaigns), Cache: cacheFigure(p.Campaigns),
		LedgerTable: ledgerTable(p.Campaigns), Parts: partsTable(p.Campaigns), Limits: limitsTable(p.Limits),
	}
	w.LedgerAbsent = missing(Section{}, w.Ledger != nil)
	w.BooksAbsent = missing(Section{}, w.Cache != nil)
	w.LimitsAbsent, w.LimitsFault = missing(p.Limits.Section, len(w.Limits.Rows) > 0), p.Limits.Fault
	return w
}

// ledgerTable has a column for each moment of each campaign.
func ledgerTable(campaigns []Campaign) grid {
	all := compared(campaigns)
	g := grid{Header: []string{"line of the ledger"}}
	for _, c := range all {
		for _, m := range moments {
			g.Header = append(g.Header, c.Name+": "+m.name)
		}
	}
	names, _, _ := ledgerLines(all)
	for _, line := range names {
		cells := []string{line}
		for _, c := range all {
			p, _ := pairOf(c)
			for _, m := range moments {
				bytes, seen := m.of(p.LedgerDifference)[line]
				if !seen {
					cells = append(cells, chart.None)
					continue
				}
				cells = append(cells, signed(compare.UnitBytes, bytes))
			}
		}
		g.add("", cells...)
	}
	return g
}

// partsTable has the simulator's books by arm.
func partsTable(campaigns []Campaign) grid {
	g := grid{Header: []string{"what was in use", "campaign", "baseline", "other arm", "difference", "n"}, words: []int{1}}
	for _, c := range campaigns {
		pair, there := pairOf(c)
		if !there {
			continue
		}
		g.Header[2], g.Header[3] = pair.A, pair.B
		for _, r := range parts(c, pair) {
			g.add("", r.name, c.Name, compare.UnitBytes.Text(r.a), compare.UnitBytes.Text(r.b), signed(compare.UnitBytes, r.b-r.a), fmt.Sprintf("%d starts", r.n))
		}
	}
	return g
}

// limitsTable sets what a limit counts beside what its container holds.
func limitsTable(l Limits) grid {
	g := grid{Header: []string{"machine", "container", "machine clock", "limit", "charged", "GPU memory, not charged", "both"}, words: []int{1}}
	for _, c := range l.Containers {
		class := ""
		if c.LimitBytes > 0 && c.ChargedBytes+c.HeldBytes > c.LimitBytes {
			class = "doubt"
		}
		limit := "none"
		if c.LimitBytes > 0 {
			limit = compare.UnitBytes.Text(c.LimitBytes)
		}
		g.add(class, c.Host, middleOut(c.Cgroup), clock(c.At), limit, compare.UnitBytes.Text(c.ChargedBytes), compare.UnitBytes.Text(c.HeldBytes), compare.UnitBytes.Text(c.ChargedBytes+c.HeldBytes))
	}
	return g
}

// longestCgroup is how many letters of a cgroup are shown; that of a container is a number of 64.
const longestCgroup = 40

// middleOut shortens a name by its middle: both ends tell names apart.
func middleOut(name string) string {
	letters := []rune(name)
	if len(letters) <= longestCgroup {
		return name
	}
	return string(letters[:longestCgroup/2]) + "…" + string(letters[len(letters)-longestCgroup/2:])
}
