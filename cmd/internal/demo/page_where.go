package demo

import (
	"strings"

	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/render/comparison"
)

// where is the section on what occupies the memory.
func where(p Page) []render.Block {
	ledgers, cache := ledgerFigures(p.Campaigns), cacheFigure(p.Campaigns)
	return []render.Block{
		section("where", "Where the GiB went"),
		text("The exporter splits the one memory pool into lines that add up. What differs between the arms stands in them:"),
		absent(missing(Section{}, len(ledgers) > 0)), ledgers,
		text("No line of a ledger says which file lies in the page cache. The simulator knows it, and shows what the line page_cache was:"),
		absent(missing(Section{}, cache.Drawn())), render.Figures{cache},
		text("GPU memory on such a machine is charged to no cgroup: the limit of the container, 64 GiB, does not see it. Alert ContainerLimitUncovered below says so."),
	}
}

// ledgerFigures are the charts of the ledger of all comparisons, as on their own pages.
func ledgerFigures(campaigns []Campaign) (all render.Figures) {
	for _, c := range campaigns {
		if c.Comparison == nil {
			continue
		}
		for _, f := range comparison.Figures(*c.Comparison) {
			if strings.Contains(f.Name, "where-the-memory-differs") {
				f.Title = c.Name + ": " + f.Title + " (simulated)"
				all = append(all, f.Figure)
			}
		}
	}
	return all
}
