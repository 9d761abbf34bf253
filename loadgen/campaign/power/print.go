package power

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// Write writes the answer for people, with its calculation.
func (a *Answer) Write(w io.Writer) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "Runs of each arm, if runs of one arm differ by a CV of %s, at %s power and %s significance:\n\n",
		percent(a.CV), percent(a.Power), percent(a.Alpha))
	fmt.Fprintf(&text, "%6d  to show two equal arms equivalent within %s\n", a.ToEqual, percent(a.Margin))
	fmt.Fprintf(&text, "%6d  to find a difference of %s\n\n", a.ToFind, percent(a.Difference))
	fmt.Fprintf(&text, "A campaign that shall say either takes %d iterations", a.Needed())
	if a.Balanced() != a.Needed() {
		fmt.Fprintf(&text, "; in the order abba %d, so that the last way forth has its way back", a.Balanced())
	}
	fmt.Fprintf(&text, ".\n\nA ratio is compared as a difference of logarithms. The CV is a standard deviation of %.4f,\n", a.Deviation)
	fmt.Fprintf(&text, "the margin ln(1+%s) = %.4f, which is %.2f of them, the difference %.2f of them.\n\n",
		trim(a.Margin), logs(a.Margin), logs(a.Margin)/a.Deviation, logs(a.Difference)/a.Deviation)
	fmt.Fprintf(&text, "%6s  %20s  %23s\n", "runs", "find a difference of", "show equivalence within")
	for _, r := range a.Rows {
		fmt.Fprintf(&text, "%6d  %20s  %23s\n", r.Runs, orNone(r.Finds), orNone(r.Equal))
	}
	_, err := w.Write(text.Bytes())
	return err
}

func orNone(share *float64) string {
	if share == nil {
		return "nothing"
	}
	return fmt.Sprintf("%.2f %%", 100**share)
}

func percent(share float64) string { return trim(100*share) + " %" }

// trim formats a number without the digits that come only from its binary form.
func trim(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
