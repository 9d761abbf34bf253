package plan

import (
	"bufio"
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strings"
)

// readyPlans are plans that need only their values to be set.
//
//go:embed ready/*.yaml
var readyPlans embed.FS

// ReadyNames returns the names of the ready plans, sorted.
func ReadyNames() []string {
	entries, err := readyPlans.ReadDir("ready")
	if err != nil {
		return nil // an embedded folder always exists
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = strings.TrimSuffix(entry.Name(), ".yaml")
	}
	slices.Sort(names) // ReadDir sorts by names with their extension
	return names
}

// ReadyText returns the text of a ready plan.
func ReadyText(name string) ([]byte, error) {
	text, err := readyPlans.ReadFile("ready/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("there is no ready plan %q; there are %s", name, strings.Join(ReadyNames(), ", "))
	}
	return text, nil
}

// ReadyTitle returns the title in the first line of a ready plan.
func ReadyTitle(name string) string {
	text, err := ReadyText(name)
	if err != nil {
		return ""
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Scan()
	return strings.TrimPrefix(lines.Text(), "# ")
}
