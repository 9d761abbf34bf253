package alerts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// recorded evaluates the recordings of a group and returns what they are at the end, one line each, sorted.
func recorded(t *testing.T, recordings []Recording, series string, end time.Duration) string {
	t.Helper()
	shown := Group{Name: "shown", Recordings: recordings}
	for _, r := range recordings {
		var labels string
		for _, label := range r.As.Def().Labels {
			labels += " {{ $labels." + string(label) + " }}"
		}
		shown.Alerts = append(shown.Alerts, Alert{
			Name: "Shown", About: AboutStack, Summary: "It is there.", Runbook: Runbook{Meaning: "m", Check: "c", Action: "a"},
			Rules: []Rule{{Severity: Info, Expr: expr.Select(r.As), Description: r.As.Def().Name + labels + ` {{ $value | printf "%.6g" }}`}},
		})
	}
	rules, err := shown.rules(Settings{})
	if err != nil {
		t.Fatal(err)
	}
	book := load(t, rules)
	book.replay(t, "load 15s\n"+series, end, 15*time.Second, func(time.Duration) {})
	var lines []string
	for _, alert := range book.alerts(t) {
		lines = append(lines, alert.Annotations.Get("description"))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestFiguresOfADriveAreThoseOfIostat: 20 reads a second of 0.1 ms and 10 writes of 1 ms, shown by two exporters,
// beside a drive at rest.
func TestFiguresOfADriveAreThoseOfIostat(t *testing.T) {
	var series strings.Builder
	for _, of := range []string{`{host="spark",instance="a:1",device="nvme0n1"}`, `{host="spark",instance="a:2",device="nvme0n1"}`} {
		fmt.Fprintf(&series, "  uma_nvme_reads_completed_total%s 0+300x40\n  uma_nvme_read_time_seconds_total%s 0+0.03x40\n", of, of)
		fmt.Fprintf(&series, "  uma_nvme_writes_completed_total%s 0+150x40\n  uma_nvme_write_time_seconds_total%s 0+0.15x40\n", of, of)
		fmt.Fprintf(&series, "  uma_nvme_io_time_weighted_seconds_total%s 0+3x40\n  uma_nvme_io_time_seconds_total%s 0+1.5x40\n", of, of)
	}
	for _, name := range []string{"reads_completed", "read_time_seconds", "writes_completed", "write_time_seconds", "io_time_weighted_seconds", "io_time_seconds"} {
		fmt.Fprintf(&series, "  uma_nvme_%s_total{host=\"spark\",instance=\"a:1\",device=\"nvme1n1\"} 7x40\n", name)
	}
	want := `host_device:uma_nvme_busy_ratio:rate5m spark nvme0n1 0.1
host_device:uma_nvme_busy_ratio:rate5m spark nvme1n1 0
host_device:uma_nvme_operation_seconds:rate5m spark nvme0n1 0.0004
host_device:uma_nvme_operations_per_second:rate5m spark nvme0n1 30
host_device:uma_nvme_operations_per_second:rate5m spark nvme1n1 0
host_device:uma_nvme_queue_length:rate5m spark nvme0n1 0.2
host_device:uma_nvme_queue_length:rate5m spark nvme1n1 0
host_device:uma_nvme_read_await_seconds:rate5m spark nvme0n1 0.0001
host_device:uma_nvme_write_await_seconds:rate5m spark nvme0n1 0.001`
	if got := recorded(t, nvmeGroup().Recordings, series.String(), 10*time.Minute); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestThatAPageHasAnsweredIsForgottenWithItsRun: the page answers in the first of two runs, and the second follows
// at once.
func TestThatAPageHasAnsweredIsForgottenWithItsRun(t *testing.T) {
	const of = `host="spark",instance="l:1",job="uma-load",run=`
	series := `  uma_run_active{` + of + `"r1",arm="a",scenario="s"} 1x39 stale
  uma_run_phase{` + of + `"r1",phase="measure"} 1x39 stale
  uma_run_active{` + of + `"r2",arm="a",scenario="s"} _x40 1x60
  uma_run_phase{` + of + `"r2",phase="measure"} _x40 1x60
  uma_engine_up{host="spark",instance="a:1",source="127.0.0.1:8000/metrics"} 1x20 0x80
`
	answered := slices.DeleteFunc(exporterGroup().Recordings, func(r Recording) bool { return r.As.Def().Name != metric.EngineAnswered.Def().Name })
	const first = "host_run_source:uma_engine_up:answered spark r1 127.0.0.1:8000/metrics 1"
	if got := recorded(t, answered, series, 9*time.Minute); got != first {
		t.Errorf("in the first run: %q", got)
	}
	// A value is the present one for 5 minutes.
	if got := recorded(t, answered, series, 16*time.Minute); got != "" {
		t.Errorf("in the second run: %q", got)
	}
}
