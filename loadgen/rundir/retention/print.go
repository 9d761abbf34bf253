package retention

import (
	"fmt"
	"io"

	"github.com/umascope/umascope/loadgen/render"
)

// longest is how many characters of a name a table shows.
const longest = 60

// Print lists runs as a table.
func Print(w io.Writer, all []Entry) error {
	table := render.Table{Header: []string{"RUN", "START (UTC)", "ARM", "MODEL", "SCENARIO", "STATE", "SIZE", "IN"}}
	var total int64
	for _, e := range all {
		table.Add(cut(e.Run), moment(e), cut(e.Arm), cut(e.Model), cut(e.Scenario), stateOf(e), render.FormatBytes(float64(e.Bytes)), cut(e.Group))
		total += e.Bytes
	}
	if err := render.TextTable(w, table); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d runs, %s\n", len(all), render.FormatBytes(float64(total)))
	return err
}

// PrintChoices prints which runs are removed and which are kept, and why.
func PrintChoices(w io.Writer, all []Choice) error {
	table := render.Table{Header: []string{"", "RUN", "START (UTC)", "SIZE", "WHY"}}
	var goes int
	var bytes int64
	for _, c := range all {
		what := "stays"
		if c.Goes {
			what = "goes"
			goes++
			bytes += c.Bytes
		}
		table.Add(what, cut(c.Run), moment(c.Entry), render.FormatBytes(float64(c.Bytes)), c.Why)
	}
	if err := render.TextTable(w, table); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d of %d runs go, %s\n", goes, len(all), render.FormatBytes(float64(bytes)))
	return err
}

// cut shortens a name of external origin for a table.
func cut(name string) string {
	runes := []rune(render.Printable(name))
	if len(runes) > longest {
		return string(runes[:longest-1]) + "…"
	}
	return string(runes)
}

func moment(e Entry) string {
	if e.StartedAt == nil {
		return "-"
	}
	return e.StartedAt.UTC().Format("2006-01-02 15:04:05")
}

func stateOf(e Entry) string {
	state := string(e.State)
	if e.Valid != nil {
		state = map[bool]string{true: "valid", false: "INVALID"}[*e.Valid]
	}
	if e.Pinned {
		state += ", pinned"
	}
	return state
}
