package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
)

// reference renders the vocabulary as Markdown tables, one per subject.
func reference() []byte {
	var b strings.Builder
	b.WriteString(`<!-- Written by uma-gen from package metric; change it there. -->

# Metrics

Every series of umascope, from the vocabulary that collectors, dashboards and alerts are built from. The scrape job
adds the label ` + "`host`" + ` to all of them. A series that a machine cannot give is absent, never 0. *Sum* says over
which labels adding means something; *kept* marks what a load run keeps in its folder.
`)
	for _, subject := range metric.Subjects() {
		section(&b, subject)
	}
	section(&b, metric.Subject{Title: "Recorded by rules", Defs: metric.Recorded()})
	section(&b, metric.Subject{Title: "Series of others", Defs: metric.Foreign()})
	ledger(&b)
	return []byte(b.String())
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
func ledger(b *strings.Builder) {
	fmt.Fprintf(b, "\n## Lines of the ledger\n\nThe lines of %s add up to the pool. A line that cannot exist on a machine is absent.\n\n", code(metric.MemoryLedgerBytes.Def().Name))
	b.WriteString("| Line | Made of |\n| --- | --- |\n")
	for _, line := range metric.Ledger() {
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
