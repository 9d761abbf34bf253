package demo

import (
	"strings"

	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/render/comparison"
)

// where is the section on what occupies the memory.
func where(p Page) []render.Block {
	ledgers, cache := figuresNamed("where-the-memory-differs", p.Campaigns), cacheFigure(p.Campaigns)
	limits := render.Table{Header: []string{"container on", "limit", "charged to it, at most", "GPU memory, charged to nothing, at most"}}
	for _, c := range p.Limits.Containers {
		limits.Add(c.Host, figure.Bytes.Text(c.Limit), figure.Bytes.Text(c.Charged), figure.Bytes.Text(c.Held))
	}
	return []render.Block{
		section("where", "Where the GiB went"),
		text("The exporter splits the one memory pool into lines that add up. What differs between the arms stands in them:"),
		absent(missing(Section{}, len(ledgers) > 0)), ledgers,
		text("No line of a ledger says which file lies in the page cache. The simulator knows it, and shows what the line page_cache was:"),
		absent(missing(Section{}, cache.Drawn())), render.Figures{cache},
		text("GPU memory on such a machine is charged to no cgroup: the limit of a container does not count it. Alert ContainerLimitUncovered below says so."),
		absent(missing(p.Limits.Section, !limits.Empty())), fault(p.Limits.Fault), limits,
	}
}

// figuresNamed are charts of all comparisons, as on their own pages.
func figuresNamed(name string, campaigns []Campaign) (all render.Figures) {
	for _, c := range campaigns {
		if c.Comparison == nil {
			continue
		}
		for _, f := range comparison.Figures(*c.Comparison) {
			if strings.Contains(f.Name, name) {
				f.Title = c.Name + ": " + f.Title + " (simulated)"
				all = append(all, f.Figure)
			}
		}
	}
	return all
}
