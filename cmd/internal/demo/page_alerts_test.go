package demo

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestAnAlertThatFiresForEveryRunIsOneRowOfItsMachine: two dozen rows that say the same hide the one that does not.
func TestAnAlertThatFiresForEveryRunIsOneRowOfItsMachine(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 1, 12, minute, 0, 0, time.UTC) }
	regression := func(host, run string, from int, until time.Time) Firing {
		return Firing{Alert: "KVCapacityRegression", Severity: "warning", Host: host, About: "run=" + run, Pending: at(from - 1), From: at(from), Until: until}
	}
	firings := []Firing{
		regression("a", "2", 12, at(20)), regression("b", "2", 9, at(11)),
		regression("a", "1", 5, at(7)), regression("a", "3", 15, time.Time{}), regression("b", "3", 13, at(16)),
		{Alert: "GPUHot", Severity: "critical", Host: "a", Pending: at(30), From: at(31), Until: at(32)},
		{Alert: "GPUHot", Severity: "warning", Host: "a", Pending: at(30), From: at(31), Until: at(32)},
		{Alert: "ContainerLimitUncovered", Severity: "info", Host: "a", Pending: at(1), From: at(2)},
	}
	v := newHeat(Heat{Firings: firings})
	var rows []string
	for _, row := range v.Machines.Rows {
		rows = append(rows, strings.Join(row.Cells[:7], " "))
	}
	want := []string{
		"KVCapacityRegression warning a 3 12:04:00 12:05:00 fires still",
		"KVCapacityRegression warning b 2 12:08:00 12:09:00 12:16:00",
		"GPUHot critical a 1 12:30:00 12:31:00 12:32:00",
		"GPUHot warning a 1 12:30:00 12:31:00 12:32:00",
	}
	if !slices.Equal(rows, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
	if len(v.Firings.Rows) != 7 || len(v.Information.Rows) != 1 {
		t.Errorf("%d by themselves and %d for information, want 7 and 1", len(v.Firings.Rows), len(v.Information.Rows))
	}
	if v := newHeat(Heat{Firings: firings[5:7]}); len(v.Firings.Rows) != 0 || len(v.Machines.Rows) != 2 {
		t.Errorf("what says no more is shown twice: %+v", v.Firings.Rows)
	}
}
