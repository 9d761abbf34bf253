// Package plans contains ready plan files of campaigns. Print one, set its values and run it.
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

// Names returns the names of the ready plans, sorted.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil // the root of an embedded folder always exists
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = strings.TrimSuffix(entry.Name(), ".yaml")
	}
	slices.Sort(names) // ReadDir sorts by names with their extension
	return names
}

// Text returns the text of a ready plan.
func Text(name string) ([]byte, error) {
	text, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("there is no ready plan %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return text, nil
}

// Title returns the title in the first line of a ready plan.
func Title(name string) string {
	text, err := Text(name)
	if err != nil {
		return ""
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Scan()
	return strings.TrimPrefix(lines.Text(), "# ")
}

// Write lists the ready plans.
func Write(w io.Writer) error {
	var table render.Table
	for _, name := range Names() {
		table.Add(name, Title(name))
	}
	return render.TextTable(w, table)
}
