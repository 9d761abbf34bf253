package summary

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
)

// driverLog returns the number of lines of the GPU driver in the kernel log during the measured phases, by kind, and by
// code for XIDs, such as "xid 79", if there were any. It is nil where the exporter does not read the log, or a border
// of the measured time has no sample.
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

// driverLogWarning is empty if the driver wrote no line, or if that is unknown.
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
