package demo

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render/comparison"
	"github.com/umascope/umascope/loadgen/summary"
)

// progress prints the progress, a line for each event of any machine.
type progress struct {
	began time.Time

	mu  sync.Mutex
	out io.Writer
}

// line prints a line about a machine.
func (t *progress) line(host, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.out, "%4.0f s  %-12s  %s\n", time.Since(t.began).Seconds(), host, fmt.Sprintf(format, args...))
}

// print prints a line about the whole demo.
func (t *progress) print(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.out, format, args...)
}

// introduce prints what is simulated, what will be made and on which clock, before any figure appears.
func (t *progress) introduce(s *showing) {
	t.print(`umascope demo. All of it is simulated: no figure is of a real machine.

%d DGX Sparks with an engine each are simulated here. What looks at them is real: uma-exporter, uma-load, uma-view with the alert rules.
`, len(s.campaigns)+len(s.trials)+1)
	for _, c := range s.campaigns {
		t.print("  %-13s %s: %d runs\n", c.host, c.Title, 2*c.iterations)
	}
	for _, one := range s.trials {
		t.print("  %-13s %s\n", one.host, one.Title)
	}
	t.print("  %-13s Its room gets hot\n", heatHost)
	t.print(`
%s
It takes about %v, longer on a busy computer. Ctrl-C ends it at any time.

`, aboutScale(), paceOf(s.options).about)
}

// run prints a finished run of a campaign.
func (t *progress) run(c *shownCampaign, r summary.Run) {
	what := "no figures"
	switch memory := r.Summary.Memory; {
	case !r.Summary.Valid:
		what = "INVALID, in no figure: " + reasons(r.Summary)
	case memory != nil && memory.OccupiedWithoutKV != nil && r.Summary.KV != nil && r.Summary.KV.CapacityBytes != nil:
		what = fmt.Sprintf("%6.1f GiB occupied without KV cache, which has %4.1f GiB", *memory.OccupiedWithoutKV/gib, *r.Summary.KV.CapacityBytes/gib)
	}
	t.line(c.host, "run %s of %d  %-9s  %s", r.Summary.Labels["slot"], 2*c.iterations, r.Summary.Labels["arm"], what)
}

// trial prints a trial with the expected result.
func (t *progress) trial(one *shownTrial, r summary.Run) {
	if one.Wrong {
		t.line(one.host, "%-9s  caught: uma-load calls the run INVALID: %s", one.name, reasons(r.Summary))
		return
	}
	t.line(one.host, "%-9s  blocks back from the drive: %s; same answers as before: %s", one.name,
		gradeText(r.Summary.Signals.SSDRehydrate), gradeText(r.Summary.Signals.OutputMatch))
}

// gradeText returns a grade in words.
func gradeText(s evidence.Signal) string { return strings.ReplaceAll(string(s.Grade), "_", " ") }

// problem prints an error on a machine.
func (t *progress) problem(host, what string) { t.line(host, "problem: %s", what) }

// verdict prints the results in a few lines.
func (t *progress) verdict(s *shown) {
	t.print("\nMemory occupied without KV cache, container against native, with the 95 %% interval:\n")
	for _, c := range s.campaigns {
		t.print("  %-13s %-20s %s\n", c.host, c.label(), c.difference())
	}
	if s.options.quick {
		t.print("With --quick there are two runs of an arm: such an interval says little, whatever its verdict.\n")
	}
	t.print("Arms, sizes and machine are the same in all three. What can be seen here is one possible cause of what was published, not the cause.\n")
	for _, e := range s.events {
		text, _ := caught(s.firings, e)
		t.print("\n%s\n", text)
	}
	if others := s.otherAlerts(); len(others) > 0 {
		t.print("Other alerts, in the report: %s.\n", strings.Join(others, ", "))
	}
}

// caught describes whether the alert of an event has fired.
func caught(firings []Firing, e Event) (text string, fired bool) {
	for _, f := range firings {
		if f.Alert == e.Alert && f.Host == e.Host && f.From.After(e.From) {
			return fmt.Sprintf("Alert %s fired on %s %v after the room got hot.", f.Alert, e.Host, f.From.Sub(e.From).Round(time.Second)), true
		}
	}
	if e.Until.IsZero() {
		return fmt.Sprintf("The heat on %s was ended before alert %s fired.", e.Host, e.Alert), false
	}
	return fmt.Sprintf("Alert %s did not fire on %s, though the room got hot.", e.Alert, e.Host), false
}

// otherAlerts returns the names of the other alerts that fired.
func (s *shown) otherAlerts() []string {
	names := map[string]bool{}
	for _, f := range s.firings {
		names[f.Alert] = true
	}
	for _, e := range s.events {
		delete(names, e.Alert)
	}
	return slices.Sorted(maps.Keys(names))
}

// difference returns the result of the comparison for the memory occupied without KV cache, in the comparison's words.
func (c *shownCampaign) difference() string {
	pair, _ := pairOf(c.Campaign)
	m := find(pair, figure.MemoryOccupiedWithoutKV)
	switch {
	case m == nil || m.Difference == nil:
		return "no comparison: " + cmp.Or(c.Fault, "it was not made to its end")
	case m.CI95 == nil:
		return fmt.Sprintf("%+6.1f GiB  %s", *m.Difference/gib, comparison.VerdictText(*m))
	}
	return fmt.Sprintf("%+6.1f GiB [%+.1f, %+.1f]  %s", *m.Difference/gib, m.CI95[0]/gib, m.CI95[1]/gib, comparison.VerdictText(*m))
}

// where prints, at the end of the demo, which pages to open and what to do next.
func (t *progress) where(s *shown) {
	t.print(`
report       %s
everything   %s%c

Next, on a machine with a real engine (in a clone, go run ./cmd/uma-exporter and so on):
  uma-exporter
  uma-load run --url http://127.0.0.1:8000
Step by step: loadgen/FIRST_RUN.md
`, filepath.Join(s.out, reportName), s.folder, filepath.Separator)
}
