package summary

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
)

// driverLog is how many lines of the GPU's driver the kernel log got while the run measured, by kind, and of XIDs by code, such as
// "xid 79", where there were any. Nil where the exporter does not read the log, or a border of the measured time is missing.
func (r *reading) driverLog() map[string]float64 {
	if r.still() || !r.whole || len(r.windows) == 0 {
		return nil
	}
	var lines map[string]float64
	take := func(family metric.Definer, name func(labels map[string]string) string, zeros bool) {
		for _, series := range r.source.Find(family) {
			grown, ok := deltaOver(series, r.windows)
			if !ok || grown.Delta == 0 && !zeros {
				continue
			}
			if lines == nil {
				lines = map[string]float64{}
			}
			lines[name(series.Labels)] += grown.Delta
		}
	}
	take(metric.DriverLogLinesTotal, func(labels map[string]string) string { return labels[string(metric.LabelKind)] }, true)
	take(metric.DriverLogXIDLinesTotal, func(labels map[string]string) string { return "xid " + labels[string(metric.LabelXID)] }, false)
	return lines
}

// driverLogWarning is empty where the driver wrote nothing, or that is not known.
func (m Machine) driverLogWarning() string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(m.DriverLog)) {
		if n := m.DriverLog[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %.0f", strings.ReplaceAll(kind, "_", " "), n))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "the driver of the GPU wrote errors to the kernel log while the run measured: " + strings.Join(parts, ", ")
}
