package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
)

// referencePage is a part of the metric reference, with the subjects that it has.
type referencePage struct {
	path, title string
	subjects    []string
}

const titleRecorded, titleForeign = "Recorded by rules", "Series of others"

// referencePages lists the parts; the first begins with their contents and ends with the lines of the ledger.
func referencePages() []referencePage {
	return []referencePage{
		{"exporter/METRICS.md", "Metrics of the machine", []string{"Exporter and host", "Flight recorder", "Memory", "GPU", "Log of the GPU driver", "Cgroups", "Processes", "NVMe", "Other drives", "Thermal", "Network", "PCI Express"}},
		{"exporter/METRICS_KV.md", "Metrics of engines and KV caches", []string{"Engines", "KVBM", "cuFile"}},
		{"loadgen/METRICS.md", "Metrics of runs and comparisons", []string{"Load", "Results", "Comparisons"}},
		{"alerts/METRICS.md", "Metrics of rules, of uma-view and of other programs", []string{titleRecorded, "uma-view", titleForeign}},
	}
}

// referenceSubjects returns every subject of the vocabulary by its title.
func referenceSubjects() map[string]metric.Subject {
	all := map[string]metric.Subject{
		titleRecorded: {Title: titleRecorded, Defs: metric.Recorded()},
		titleForeign:  {Title: titleForeign, Defs: metric.Foreign()},
	}
	for _, subject := range metric.Subjects() {
		all[subject.Title] = subject
	}
	return all
}

// reference renders the vocabulary as Markdown tables, one per subject.
func reference() []file {
	pages, subjects := referencePages(), referenceSubjects()
	var files []file
	for i, page := range pages {
		var b strings.Builder
		fmt.Fprintf(&b, "<!-- Written by uma-gen from package metric; change it there. -->\n\n# %s\n\n", page.title)
		if i == 0 {
			b.WriteString(`The series of umascope, from the vocabulary that collectors, dashboards and alerts are built from. The scrape job
adds the label ` + "`host`" + ` to all of them. A series that a machine cannot give is absent, never 0. *Sum* names
the labels over which adding means something; *kept* marks what a load run keeps in its folder.

| page | subjects |
| --- | --- |
`)
			for _, other := range pages {
				fmt.Fprintf(&b, "| [%s](../%s) | %s |\n", other.title, other.path, strings.Join(other.subjects, ", "))
			}
		} else {
			b.WriteString("A part of [the metric reference](../exporter/METRICS.md), which explains the columns.\n")
		}
		for _, title := range page.subjects {
			section(&b, subjects[title])
		}
		if i == 0 {
			ledgerLines(&b)
		}
		files = append(files, file{page.path, []byte(b.String())})
	}
	return files
}

// section renders one subject.
func section(b *strings.Builder, subject metric.Subject) {
	fmt.Fprintf(b, "\n## %s\n\n", subject.Title)
	b.WriteString("| Series | Type | Unit | Labels | Meaning | Source | Sum | Kept |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, definer := range subject.Defs {
		d := definer.Def()
		kept := ""
		if d.Telemetry {
			kept = "yes"
		}
		cells := []string{code(d.Name), string(d.Kind), string(d.Unit), labelCells(d), d.Help, d.Source, sums(d), kept}
		for i, cell := range cells {
			cells[i] = escape(cell)
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
}

// ledger explains the values of the label line.
func ledgerLines(b *strings.Builder) {
	fmt.Fprintf(b, "\n## Lines of the ledger\n\nThe lines of %s add up to the pool. A line that cannot exist on a machine is absent.\n\n", code(metric.MemoryLedgerBytes.Def().Name))
	b.WriteString("| Line | Made of |\n| --- | --- |\n")
	for _, line := range ledger.Kinds() {
		fmt.Fprintf(b, "| %s | %s |\n", code(line.Name), escape(line.Formula))
	}
}

func code(text string) string { return "`" + text + "`" }

// labelCells lists the labels of a family.
func labelCells(d metric.Def) string {
	names := d.LabelNames()
	for i, name := range names {
		names[i] = code(name)
	}
	return strings.Join(names, ", ")
}

// sums describes over which labels a sum is meaningful.
func sums(d metric.Def) string {
	if d.Sum.Refuses(d.Labels) != "" {
		return "never"
	}
	var refused []string
	for _, label := range d.Labels {
		others := slices.DeleteFunc(slices.Clone(d.Labels), func(l metric.Label) bool { return l == label })
		if d.Sum.Refuses(others) != "" {
			refused = append(refused, code(string(label)))
		}
	}
	if len(refused) == 0 {
		return "yes"
	}
	return "not over " + strings.Join(refused, ", ")
}

// escape keeps a text within its cell: no cell border, no HTML.
func escape(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "\n", " ").Replace(text)
}
