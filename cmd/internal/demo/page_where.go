package demo

import (
	"fmt"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/render"
)

// where is the section on what occupies the memory.
func where(p Page) []render.Block {
	ledger, cache := ledgerFigure(p.Campaigns), cacheFigure(p.Campaigns)
	limits := limitsTable(p.Limits)
	return []render.Block{
		section("where", "Where the GiB went", "machine clock"),
		text("The exporter splits the one memory pool into lines that add up. What differs between the arms stands in them:"),
		absent(missing(Section{}, ledger.Drawn())), render.Figures{ledger},
		render.Details{Summary: "The same as a table", Blocks: []render.Block{ledgerTable(p.Campaigns)}},
		text("No line of a ledger says which file lies in the page cache. The simulator knows it, and shows what the line page_cache was:"),
		absent(missing(Section{}, cache.Drawn())), render.Figures{cache},
		render.Details{Summary: "The simulator’s books by arm, means when the KV cache was sized", Blocks: []render.Block{partsTable(p.Campaigns)}},
		render.H3("The limit of the container did not see it"),
		render.P(render.Plain("GPU memory on such a machine is charged to no cgroup. A limit, and what "), render.Code("docker stats"), render.Plain(" shows, are of the charged part alone:")),
		absent(missing(p.Limits.Section, !limits.Empty())), fault(p.Limits.Fault), limits,
	}
}

// ledgerTable has a column for each moment of each campaign.
func ledgerTable(campaigns []Campaign) render.Table {
	all := compared(campaigns)
	g := render.Table{Header: []string{"line of the ledger"}}
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
				bytes, seen := differenceOf(m.of(p.LedgerDifference), line, names)
				if !seen {
					cells = append(cells, render.None)
					continue
				}
				cells = append(cells, signed(compare.UnitBytes, bytes))
			}
		}
		g.Add(cells...)
	}
	return g
}

// partsTable has the ground truth by arm.
func partsTable(campaigns []Campaign) render.Table {
	g := render.Table{Header: []string{"what occupied it", "campaign", "baseline", "other arm", "difference", "n"}, Words: []int{1}}
	for _, c := range campaigns {
		pair, there := pairOf(c)
		if !there {
			continue
		}
		g.Header[2], g.Header[3] = pair.A, pair.B
		for _, r := range parts(c, pair) {
			g.Add(r.name, c.Name, compare.UnitBytes.Text(r.a), compare.UnitBytes.Text(r.b), signed(compare.UnitBytes, r.b-r.a), fmt.Sprintf("%d starts", r.n))
		}
	}
	return g
}

// limitsTable shows the memory that counts towards a limit next to the GPU-held memory of the container.
func limitsTable(l Limits) render.Table {
	g := render.Table{Header: []string{"machine", "container", "machine clock", "limit", "charged", "GPU memory, not charged", "both"}, Words: []int{1}}
	for _, c := range l.Containers {
		tone := render.Tone("")
		if c.LimitBytes > 0 && c.ChargedBytes+c.HeldBytes > c.LimitBytes {
			tone = render.Note
		}
		limit := "none"
		if c.LimitBytes > 0 {
			limit = compare.UnitBytes.Text(c.LimitBytes)
		}
		g.AddIn(tone, c.Host, middleOut(c.Cgroup), timeOfDay(c.At), limit, compare.UnitBytes.Text(c.ChargedBytes), compare.UnitBytes.Text(c.HeldBytes), compare.UnitBytes.Text(c.ChargedBytes+c.HeldBytes))
	}
	return g
}

// longestCgroup is how many letters of a cgroup are shown; a container ID has 64.
const longestCgroup = 40

// middleOut shortens a name in its middle, since names differ at both ends.
func middleOut(name string) string {
	letters := []rune(name)
	if len(letters) <= longestCgroup {
		return name
	}
	return string(letters[:longestCgroup/2]) + "…" + string(letters[len(letters)-longestCgroup/2:])
}
