package grafana

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var legendLabel = regexp.MustCompile(`\{\{\s*(.+?)\s*\}\}`)

// nameLabel is the label in which Prometheus keeps a series' name.
const nameLabel = "__name__"

// Legend names a series: labels are in double braces, and a label that the series lacks is left out. Without a format
// it is the series in PromQL (metricNameFromLabels in promlib).
func Legend(format string, labels map[string]string) string {
	if format == "" || format == "__auto" {
		return seriesName(labels)
	}
	return legendLabel.ReplaceAllStringFunc(format, func(found string) string {
		return labels[legendLabel.FindStringSubmatch(found)[1]]
	})
}

// EventText writes the title or text of an annotation; it replaces a label that the series lacks by the name of the
// label (renderLegendFormat in Grafana's data library).
func EventText(format string, labels map[string]string) string {
	return legendLabel.ReplaceAllStringFunc(format, func(found string) string {
		name := legendLabel.FindStringSubmatch(found)[1]
		if value := labels[name]; value != "" {
			return value
		}
		return name
	})
}

// seriesName writes a series as PromQL does, its labels by name.
func seriesName(labels map[string]string) string {
	var names []string
	for name := range labels {
		if name != nameLabel {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = name + "=" + strconv.Quote(labels[name])
	}
	if len(names) == 0 && labels[nameLabel] != "" {
		return labels[nameLabel]
	}
	return labels[nameLabel] + "{" + strings.Join(names, ", ") + "}"
}
