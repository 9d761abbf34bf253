package demo

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/render"
)

// TestAnAlertThatFiresForEveryRunIsOneRowOfItsMachine: two dozen rows that say the same hide the one that does not.
func TestAnAlertThatFiresForEveryRunIsOneRowOfItsMachine(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 1, 12, minute, 0, 0, time.UTC) }
	regression := func(host string, from int, until time.Time) Firing {
		return Firing{Alert: "KVCapacityRegression", Severity: "warning", Host: host, Pending: at(from - 1), From: at(from), Until: until}
	}
	firings := []Firing{ // in the order of time
		{Alert: "ContainerLimitUncovered", Severity: "info", Host: "a", Pending: at(1), From: at(2)},
		regression("a", 5, at(7)), regression("b", 9, at(11)), regression("a", 12, at(20)), regression("b", 13, at(16)), regression("a", 15, time.Time{}),
		{Alert: "GPUHot", Severity: "critical", Host: "a", Pending: at(30), From: at(31), Until: at(32)},
		{Alert: "GPUHot", Severity: "warning", Host: "a", Pending: at(30), From: at(31), Until: at(32)},
	}
	var rows []string
	for _, block := range alertsSection(Heat{Firings: firings}) {
		if table, is := block.(render.Table); is {
			for _, row := range table.Rows {
				rows = append(rows, strings.Join(row.Cells[:7], " "))
			}
		}
	}
	want := []string{
		"ContainerLimitUncovered info a 1 12:01:00 12:02:00 fires still",
		"KVCapacityRegression warning a 3 12:04:00 12:05:00 fires still",
		"KVCapacityRegression warning b 2 12:08:00 12:09:00 12:16:00",
		"GPUHot critical a 1 12:30:00 12:31:00 12:32:00",
		"GPUHot warning a 1 12:30:00 12:31:00 12:32:00",
	}
	if !slices.Equal(rows, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}

func TestAnAlertOfNoMachineIsOfAComparison(t *testing.T) {
	page := rendered(t, Page{Heat: Heat{Firings: []Firing{{Alert: "ContainerMemoryOverhead", Severity: "warning"}}}})
	if !strings.Contains(page, "a comparison of runs") {
		t.Error("the row of the alert names no subject")
	}
}
