package summary

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/telemetry"
)

// droppedSeries returns a line about the series that the limit of each source dropped; empty if there are none. The
// telemetry file counts them by family.
func droppedSeries(log *telemetry.Log) string {
	if log == nil {
		return ""
	}
	var sources []string
	families := map[string]int{}
	for _, source := range log.Sources {
		n := 0
		for family, series := range source.Dropped {
			n += series
			families[family] += series
		}
		if n > 0 {
			sources = append(sources, fmt.Sprintf("%d series of %s", n, source.Name))
		}
	}
	if len(sources) == 0 {
		return ""
	}
	names := slices.Sorted(maps.Keys(families))
	largest := slices.MaxFunc(names, func(a, b string) int { return families[a] - families[b] })
	return fmt.Sprintf("telemetry: dropped (series limit): %s; %d of them %s", strings.Join(sources, ", "), families[largest], largest)
}
