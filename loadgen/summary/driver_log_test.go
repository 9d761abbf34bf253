package summary

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/summary/testrun"
)

// Errors of the driver during a run are counted by kind and stand among its warnings; those of before do not, and nothing
// is said where nobody counts.
func TestLinesOfTheDriverDuringARunAreItsWarnings(t *testing.T) {
	logged := func(xids func(at float64) int) testrun.Page {
		return testrun.Page{Per: func(at float64) string {
			return fmt.Sprintf("uma_gpu_driver_log_lines_total{kind=\"xid\"} %d\numa_gpu_driver_log_lines_total{kind=\"out_of_memory\"} 3\n"+
				"uma_gpu_driver_log_xid_lines_total{xid=\"79\"} %d\numa_gpu_driver_log_xid_lines_total{xid=\"31\"} 4\n", xids(at), xids(at))
		}}
	}
	s := summarize(t, machine(t, logged(func(at float64) int { return map[bool]int{true: 5, false: 7}[at < 9] })), testrun.Steady(40)...)
	if got, want := s.Machines[0].DriverLog, map[string]float64{"xid": 2, "xid 79": 2, "out_of_memory": 0}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	const warning = "telemetry of spark: the driver of the GPU wrote errors to the kernel log while the run measured: xid 2, xid 79 2"
	if !strings.Contains(strings.Join(s.Warnings, "\n"), warning) || !s.Valid {
		t.Errorf("warnings %q", s.Warnings)
	}
	for name, page := range map[string]testrun.Page{"before": logged(func(at float64) int { return map[bool]int{true: 5, false: 7}[at < 2] }), "nothing counted": {}} {
		s := summarize(t, machine(t, page), testrun.Steady(40)...)
		if strings.Contains(strings.Join(s.Warnings, "\n"), "kernel log") || name == "nothing counted" && s.Machines[0].DriverLog != nil {
			t.Errorf("%s: %v, warnings %q", name, s.Machines[0].DriverLog, s.Warnings)
		}
	}
}
