// Package plans has ready plan files of campaigns: whoever wants one prints it, sets its values and
// runs it.
package plans

import (
	"bufio"
	"bytes"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/render"
)

//go:embed *.yaml
var files embed.FS

// Names are the ready plans, sorted.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil // the root of an embedded folder is always there
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = strings.TrimSuffix(entry.Name(), ".yaml")
	}
	slices.Sort(names) // files are sorted with what their names end in
	return names
}

// Text is a ready plan, as it is written.
func Text(name string) ([]byte, error) {
	text, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("there is no ready plan %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return text, nil
}

// Title is what a ready plan says of itself in its first line.
func Title(name string) string {
	text, err := Text(name)
	if err != nil {
		return ""
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Scan()
	return strings.TrimPrefix(lines.Text(), "# ")
}

// Write lists the ready plans for a person.
func Write(w io.Writer) error {
	var table render.Table
	for _, name := range Names() {
		table.Add(name, Title(name))
	}
	return render.TextTable(w, table)
}
