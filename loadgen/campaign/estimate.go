package campaign

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/render"
)

// WriteEstimate writes the estimate of a plan for people: the order of the runs, then the time, space and rights that they need.
func WriteEstimate(w io.Writer, e *plan.Estimate) error {
	var text bytes.Buffer
	p := e.Plan
	runs, all := count(len(e.Slots), "run"), len(p.Models)*len(p.Arms)*len(p.Scenarios)*p.Iterations
	if len(e.Slots) != all {
		runs = fmt.Sprintf("%d of %s", len(e.Slots), count(all, "run"))
	}
	fmt.Fprintf(&text, "%s: %s: %s x %s x %s x %s, order %s\n\n", p.Name, runs,
		count(len(p.Models), "model"), count(len(p.Arms), "arm"), count(len(p.Scenarios), "scenario"), count(p.Iterations, "iteration"), p.Order)
	if err := writeSlots(&text, e.Slots); err != nil {
		return err
	}
	fmt.Fprintf(&text, "\nduration: %s\n", estimatedDuration(e))
	fmt.Fprintf(&text, "disk: %s\n", estimatedDisk(e))
	section(&text, "root", "none needed", e.Root)
	section(&text, "gates that cannot open", "none", e.Never)
	section(&text, "notes", "", e.Notes)
	section(&text, "defaults, which the plan does not set", "", e.Defaults)
	_, err := w.Write(text.Bytes())
	return err
}

func writeSlots(w io.Writer, slots []plan.SlotTime) error {
	t := render.Table{Header: []string{"slot", "after", "model", "arm", "scenario", "iteration"}}
	for _, s := range slots {
		t.Add(strconv.Itoa(s.Number), plainDuration(s.After), s.Model, s.Arm, s.Scenario, strconv.Itoa(s.Iteration))
	}
	return render.TextTable(w, t)
}

func estimatedDuration(e *plan.Estimate) string {
	text := plainDuration(e.Least) + " at least, "
	if e.Cooldowns > 0 {
		text += plainDuration(e.Cooldowns) + " of it cooldowns, "
	}
	text += plainDuration(e.Most) + " if every gate, start and stop takes its time-out"
	if e.Unknown > 0 {
		text += fmt.Sprintf("; besides, the load of %s, of which the plan does not say how long it lasts (duration or expected_duration)", count(e.Unknown, "run"))
	}
	return text
}

func estimatedDisk(e *plan.Estimate) string {
	text := "about " + plan.Bytes(e.DiskBytes).String() + " for the run folders"
	if e.FreeBytes > 0 {
		text += ", " + plan.Bytes(e.FreeBytes).String() + " free"
	}
	return text
}

// section writes a heading with its lines.
func section(w io.Writer, heading, none string, lines []string) {
	switch {
	case len(lines) > 0:
		fmt.Fprintf(w, "%s:\n  %s\n", heading, strings.Join(lines, "\n  "))
	case none != "":
		fmt.Fprintf(w, "%s: %s\n", heading, none)
	}
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// plainDuration formats a duration in its two largest units of days, hours, minutes and seconds.
func plainDuration(d time.Duration) string {
	d = d.Round(time.Second)
	parts := []struct {
		unit string
		of   time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"min", time.Minute}, {"s", time.Second}}
	for i, part := range parts {
		if d < part.of {
			continue
		}
		text := fmt.Sprintf("%d %s", d/part.of, part.unit)
		if i+1 < len(parts) && d%part.of >= parts[i+1].of {
			text += fmt.Sprintf(" %d %s", d%part.of/parts[i+1].of, parts[i+1].unit)
		}
		return text
	}
	return "0 s"
}
