package demo

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/umascope/umascope/loadgen/evidence"
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
		t.print("  %-13s %s: %d runs\n", c.host, c.title, 2*c.iterations)
	}
	for _, one := range s.trials {
		t.print("  %-13s %s\n", one.host, one.title)
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
	result, verdict := one.result(r)
	t.line(one.host, "%-9s  %s; %s", one.name, result, verdict)
}

// result returns the result of a trial and its grade in words.
func (t *shownTrial) result(r summary.Run) (result, verdict string) {
	if !r.Summary.Valid {
		return "uma-load calls the run INVALID", reasons(r.Summary)
	}
	return "blocks back from the drive: " + gradeText(r.Summary.Signals.SSDRehydrate),
		"same answers as before: " + gradeText(r.Summary.Signals.OutputMatch)
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
		t.print("%s\n", quickLimit)
	}
	t.print("Arms, sizes and machine are the same in all three. What can be seen here is one possible cause of what was published, not the cause.\n")
	if s.heat != nil {
		t.print("\n%s\n", s.heat.caught())
	}
	if len(s.alerts) > 0 {
		t.print("Alerts that fired: %s.\n", strings.Join(s.alerts, ", "))
	}
}

// caught describes whether the alert of the heat has fired.
func (h *shownHeat) caught() string {
	switch {
	case !h.fired.IsZero():
		return fmt.Sprintf("Alert %s fired on %s %v after the room got hot.", h.alert, h.host, h.fired.Sub(h.from).Round(time.Second))
	case h.until.IsZero():
		return fmt.Sprintf("The heat on %s was ended before alert %s fired.", h.host, h.alert)
	}
	return fmt.Sprintf("Alert %s did not fire on %s, though the room got hot.", h.alert, h.host)
}

// difference returns the result of the comparison for the memory occupied without KV cache, in the comparison's words.
func (c *shownCampaign) difference() string {
	m := c.occupied()
	switch {
	case m == nil:
		return "no comparison: " + cmp.Or(c.fault, notMade)
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
