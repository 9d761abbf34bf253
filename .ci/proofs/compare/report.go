package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// report prints a row for each exporter. Ratios are of medians, to the first exporter.
func report(out io.Writer, exporters []*exporter) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "exporter\twall ms: min\tmedian\tmax\tCPU ms: min\tmedian\tmax\tmean\tRSS MiB\thighest\tseries\tbytes\twall ratio\tCPU ratio\tCPU ratio of means\t")
	first := exporters[0]
	for _, e := range exporters {
		wall, cpu := spread(e.walls), spread(e.cpus)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.1f\t%.1f\t%d\t%d\t%.2f\t%.2f\t%.2f\t\n", e.name,
			ms(wall.least), ms(wall.median), ms(wall.most), ms(cpu.least), ms(cpu.median), ms(cpu.most), ms(cpu.mean),
			float64(e.residentKiB)/1024, float64(e.highestKiB)/1024, e.series, e.bytes,
			ratio(wall.median, spread(first.walls).median), ratio(cpu.median, spread(first.cpus).median), ratio(cpu.mean, spread(first.cpus).mean))
	}
	table.Flush()
}

func ms(d time.Duration) string { return fmt.Sprintf("%.3f", float64(d.Nanoseconds())/1e6) }

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

type spreadOf struct{ least, median, most, mean time.Duration }

func spread(values []time.Duration) spreadOf {
	sorted := slices.Sorted(slices.Values(values))
	var sum time.Duration
	for _, value := range sorted {
		sum += value
	}
	n := len(sorted)
	return spreadOf{sorted[0], (sorted[(n-1)/2] + sorted[n/2]) / 2, sorted[n-1], sum / time.Duration(n)}
}
