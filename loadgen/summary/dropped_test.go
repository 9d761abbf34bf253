package summary

import (
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/summary/testrun"
)

// The line is one, whatever was dropped: thirty of them would push the results off the screen.
func TestDroppedSeriesAreOneLine(t *testing.T) {
	for name, c := range map[string]struct {
		dropped []map[string]int
		want    string
	}{
		"nothing":    {[]map[string]int{{}, {}}, ""},
		"one family": {[]map[string]int{{"uma_cgroup_memory_stat_bytes": 31}, {}}, "telemetry: dropped (series limit): 31 series of spark-1; 31 of them uma_cgroup_memory_stat_bytes"},
		"two machines": {[]map[string]int{{"uma_cgroup_memory_stat_bytes": 31, "uma_cgroup_io_operations_total": 2}, {"uma_cgroup_memory_stat_bytes": 7}},
			"telemetry: dropped (series limit): 7 series of spark-2, 33 series of spark-1; 38 of them uma_cgroup_memory_stat_bytes"},
	} {
		in := two(t, testrun.Linked(), testrun.Linked())
		for i, dropped := range c.dropped {
			in.Telemetry.Source([]string{"spark-1", "spark-2"}[i]).Dropped = dropped
		}
		var lines []string
		for _, w := range summarize(t, in, testrun.Steady(40)...).Warnings {
			if strings.Contains(w, "series limit") || strings.Contains(w, "uma_cgroup") {
				lines = append(lines, w)
			}
		}
		if got := strings.Join(lines, "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
