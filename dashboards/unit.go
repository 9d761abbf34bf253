package dashboards

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/units"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

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
		{Base: metric.Count, PerSecond: true}:   units.CountsPerSecond,
		{Base: metric.TokensPerSecond}:          "suffix: tokens/s", // Grafana has no unit for tokens; a suffix defines a unit
		{Base: metric.RequestsPerSecond}:        units.RequestsPerSecond,
		{Base: metric.CountPerSecond}:           units.CountsPerSecond,
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
