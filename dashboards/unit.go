package dashboards

import (
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/units"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// mixedCounts is the unit of rates of different things on one axis.
const mixedCounts = "suffix: /s"

// countedUnit is the unit of the rate of a counter, by what it counts: the last word of its name.
func countedUnit(d metric.Def) string {
	words := strings.Split(strings.TrimSuffix(d.Name, "_total"), "_")
	switch noun := words[len(words)-1]; noun {
	case "requests":
		return units.RequestsPerSecond
	case "completed": // reads or writes of a drive
		return units.IOOpsPerSecond
	default:
		return "suffix: " + noun + "/s"
	}
}

// counted reports whether a unit is one of countedUnit. Two of them share an axis as counts.
func counted(unit string) bool {
	return unit == units.RequestsPerSecond || unit == units.IOOpsPerSecond || unit == mixedCounts || strings.HasSuffix(unit, "/s") && strings.HasPrefix(unit, "suffix: ")
}

// grafanaUnit returns Grafana's name of a unit. Bytes are in powers of 1024, as the kernel and CUDA count them; seconds
// per second are a share of time.
func grafanaUnit(unit expr.Unit) (string, error) {
	table := map[expr.Unit]string{
		{Base: metric.Bytes}:                    units.BytesIEC,
		{Base: metric.Bytes, PerSecond: true}:   units.BytesPerSecondIEC,
		{Base: metric.BytesPerSecond}:           units.BytesPerSecondIEC,
		{Base: metric.Seconds}:                  units.Seconds,
		{Base: metric.Seconds, PerSecond: true}: units.PercentUnit,
		{Base: metric.Celsius}:                  units.Celsius,
		{Base: metric.Watts}:                    units.Watt,
		{Base: metric.Joules}:                   units.Joule,
		{Base: metric.Joules, PerSecond: true}:  units.Watt,
		{Base: metric.Hertz}:                    units.Hertz,
		{Base: metric.Ratio}:                    units.PercentUnit,
		{Base: metric.Count}:                    units.Short,
		{Base: metric.Count, PerSecond: true}:   mixedCounts,
		{Base: metric.TokensPerSecond}:          "suffix: tokens/s", // Grafana has no unit for tokens; a suffix defines a unit
		{Base: metric.RequestsPerSecond}:        units.RequestsPerSecond,
		{Base: metric.CountPerSecond}:           mixedCounts,
		{Base: metric.Correlation}:              units.NoUnit,
		{Base: metric.OfMetric}:                 units.NoUnit,    // its name ends with it
		{Base: metric.Timestamp}:                "dateTimeAsIso", // which wants milliseconds: expr.Milliseconds
		{Base: metric.Quotient}:                 "suffix: ×",
		{Base: metric.Deviations}:               "suffix: σ",
		{Base: metric.Index}:                    units.NoUnit,
		{Base: metric.State}:                    units.NoUnit,
		{Base: metric.Info}:                     units.NoUnit,
	}
	name, known := table[unit]
	if !known {
		return "", fmt.Errorf("no Grafana unit for %s", unit)
	}
	return name, nil
}
