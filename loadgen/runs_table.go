package loadgen

import (
	"fmt"
	"io"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/rundir"
)

// longestCell is how many characters of a name a table shows.
const longestCell = 60

// printEntries lists runs as a table.
func printEntries(w io.Writer, all []rundir.Entry) error {
	table := render.Table{Header: []string{"RUN", "START (UTC)", "ARM", "MODEL", "SCENARIO", "STATE", "SIZE", "IN"}}
	var total int64
	for _, e := range all {
		table.Add(tableName(e.Run), entryStart(e), tableName(e.Arm), tableName(e.Model), tableName(e.Scenario), entryState(e), format.Bytes(float64(e.Bytes)), tableName(e.Group))
		total += e.Bytes
	}
	if err := render.TextTable(w, table); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d runs, %s\n", len(all), format.Bytes(float64(total)))
	return err
}

// printChoices prints which runs are removed and which are kept, and why.
func printChoices(w io.Writer, all []rundir.RetentionChoice) error {
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
		table.Add(what, tableName(c.Run), entryStart(c.Entry), format.Bytes(float64(c.Bytes)), c.Why)
	}
	if err := render.TextTable(w, table); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d of %d runs go, %s\n", goes, len(all), format.Bytes(float64(bytes)))
	return err
}

// tableName shortens a name of external origin for a table.
func tableName(name string) string {
	runes := []rune(render.Printable(name))
	if len(runes) > longestCell {
		return string(runes[:longestCell-1]) + "…"
	}
	return string(runes)
}

func entryStart(e rundir.Entry) string {
	if e.StartedAt == nil {
		return "-"
	}
	return e.StartedAt.UTC().Format("2006-01-02 15:04:05")
}

func entryState(e rundir.Entry) string {
	state := string(e.State)
	if e.Valid != nil {
		state = map[bool]string{true: "valid", false: "INVALID"}[*e.Valid]
	}
	if e.Pinned {
		state += ", pinned"
	}
	if e.CopyOf != "" {
		state += ", copy"
	}
	return state
}
