package main

import (
	"fmt"
	"slices"
	"strings"
)

// row is one figure, as umascope reports it and as the server does. Empty is absent.
type row struct {
	Asked  string `json:"asked"`
	Figure string `json:"figure"`
	Ours   string `json:"ours"`
	Theirs string `json:"theirs"`
	Reason string `json:"reason,omitempty"` // why they are expected to differ
}

func (r row) agrees() bool { return r.Ours == r.Theirs }

// result is all that was compared of one server.
type result struct {
	Server   string `json:"server"`
	Software string `json:"software"`
	Version  string `json:"version"`
	Date     string `json:"date"`
	Seconds  int    `json:"seconds"` // from the first question to the last
	Rows     []row  `json:"rows"`
}

func (d *driver) row(asked, figure, ours, theirs string) {
	if ours == "" && theirs == "" {
		return // neither has it
	}
	d.rows = append(d.rows, row{Asked: asked, Figure: figure, Ours: ours, Theirs: theirs})
}

// explain adds the reason to rows that differ as expected.
func (r *result) explain(why map[[2]string]string) {
	for i, one := range r.Rows {
		if one.agrees() {
			continue
		}
		for _, asked := range []string{one.Asked, "*"} {
			if reason, ok := why[[2]string{asked, one.Figure}]; ok {
				r.Rows[i].Reason = reason
				break
			}
		}
	}
}

// wrong counts the rows that differ without a reason.
func (r result) wrong() int {
	n := 0
	for _, one := range r.Rows {
		if !one.agrees() && one.Reason == "" {
			n++
		}
	}
	return n
}

// line is all figures of one thing that was asked.
type line struct{ Asked, Ours, Theirs, Note string }

// Lines groups the rows.
func (r result) Lines() []line {
	var lines []line
	for _, one := range r.Rows {
		if len(lines) == 0 || lines[len(lines)-1].Asked != one.Asked {
			lines = append(lines, line{Asked: one.Asked})
		}
		l := &lines[len(lines)-1]
		l.Ours, l.Theirs = join(l.Ours, one.Figure+" "+dash(one.Ours)), join(l.Theirs, one.Figure+" "+dash(one.Theirs))
		switch {
		case one.agrees():
		case one.Reason == "":
			l.Note = join(l.Note, "DIFFERS: "+one.Figure)
		default:
			l.Note = join(l.Note, one.Figure+": "+one.Reason)
		}
	}
	return lines
}

func join(before, next string) string {
	if before == "" {
		return next
	}
	return before + ", " + next
}

// Agreeing counts the figures that are equal.
func (r result) Agreeing() int {
	n := 0
	for _, one := range r.Rows {
		if one.agrees() {
			n++
		}
	}
	return n
}

// Differing lists each reason once, and what differs without one.
func (r result) Differing() string {
	var all []string
	for _, one := range r.Rows {
		text := one.Reason
		if text == "" {
			text = "DIFFERS: " + one.Asked + ", " + one.Figure
		}
		if !one.agrees() && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return dash(strings.Join(all, "; "))
}

// table prints a line for each thing that was asked.
func (r result) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s %s, %d s\n", r.Server, r.Software, r.Version, r.Seconds)
	for _, l := range r.Lines() {
		fmt.Fprintf(&b, "  %s\n    ours    %s\n    theirs  %s\n", l.Asked, l.Ours, l.Theirs)
		if l.Note != "" {
			fmt.Fprintf(&b, "    %s\n", l.Note)
		}
	}
	return b.String()
}

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
