// Command outputs compares two folders of outputs byte by byte and holds each changed line to a table of explanations:
//
//	outputs OLD NEW explained.tsv
package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// explanation is one line of the table: the outputs, a pattern of the lines that changed in them, and the reason.
// The pattern "file" explains an output that is missing or new.
type explanation struct {
	outputs, why string
	lines        *regexp.Regexp
	uses         int
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "want OLD NEW explained.tsv")
		os.Exit(2)
	}
	unexplained, err := compare(os.Args[1], os.Args[2], os.Args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if unexplained > 0 {
		fmt.Fprintf(os.Stderr, "FAILED: %d changed lines are not explained in %s\n", unexplained, os.Args[3])
		os.Exit(1)
	}
}

func compare(before, after, table string) (unexplained int, err error) {
	explanations, err := readTable(table)
	if err != nil {
		return 0, err
	}
	was, err := readFolder(before)
	if err != nil {
		return 0, err
	}
	is, err := readFolder(after)
	if err != nil {
		return 0, err
	}
	same := 0
	for _, name := range names(was, is) {
		if was[name] == is[name] {
			same++
			continue
		}
		for _, line := range changed(was, is, name) {
			if !explained(explanations, name, line) {
				unexplained++
				fmt.Printf("%s: %.300s\n", name, line)
			}
		}
	}
	fmt.Printf("%d outputs are equal, %d differ\n", same, len(names(was, is))-same)
	for _, e := range explanations {
		if e.uses == 0 {
			return 0, fmt.Errorf("%s: %s %s explains no line", table, e.outputs, e.lines)
		}
		fmt.Printf("%6d lines of %s: %s\n", e.uses, e.outputs, e.why)
	}
	return unexplained, nil
}

// readTable reads the table: outputs (a pattern of path.Match), lines (RE2), why, separated by tabs.
func readTable(file string) ([]*explanation, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var table []*explanation
	for number, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, "\t")
		if len(columns) != 3 {
			return nil, fmt.Errorf("%s:%d: %d columns, want outputs, lines, why", file, number+1, len(columns))
		}
		lines, err := regexp.Compile(columns[1])
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, number+1, err)
		}
		if _, err := path.Match(columns[0], ""); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, number+1, err)
		}
		table = append(table, &explanation{outputs: columns[0], lines: lines, why: columns[2]})
	}
	return table, nil
}

// explained reports whether a changed line of an output is explained, and counts it for each explanation that fits.
func explained(table []*explanation, output, line string) (found bool) {
	for _, e := range table {
		if matches(e.outputs, output) && e.lines.MatchString(line) {
			e.uses++
			found = true
		}
	}
	return found
}

// matches reports whether a pattern fits an output's path or one of its parents.
func matches(pattern, output string) bool {
	for at := output; at != "."; at = path.Dir(at) {
		if ok, _ := path.Match(pattern, at); ok {
			return true
		}
	}
	return false
}

func readFolder(root string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(file)
		name, _ := filepath.Rel(root, file)
		files[name] = string(text)
		return err
	})
	return files, err
}

// names returns the names of both, in order.
func names(a, b map[string]string) []string {
	all := map[string]bool{}
	for name := range a {
		all[name] = true
	}
	for name := range b {
		all[name] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// changed returns the lines that only one of two outputs has, the older with "-" and the newer with "+".
func changed(was, is map[string]string, name string) []string {
	old, oldThere := was[name]
	now, nowThere := is[name]
	switch {
	case !oldThere:
		return []string{"+file"}
	case !nowThere:
		return []string{"-file"}
	}
	old, now = inLines(old), inLines(now)
	lines := append(without("-", old, now), without("+", now, old)...)
	if len(lines) == 0 {
		return []string{"the same lines in another order"}
	}
	return lines
}

// inLines returns JSON as a line for each value, with the keys on its way, and HTML as a line for each element. In other
// texts the width of columns goes.
func inLines(text string) string {
	var value any
	switch {
	case strings.Contains(text, "<!doctype html>"):
		return strings.ReplaceAll(text, "><", ">\n<")
	case json.Unmarshal([]byte(text), &value) != nil:
		return columns.ReplaceAllString(text, "  ")
	}
	var b strings.Builder
	flatten(&b, "", value)
	return b.String()
}

var columns = regexp.MustCompile(`  +|--+`)

func flatten(b *strings.Builder, at string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			flatten(b, at+"."+key, value[key])
		}
	case []any:
		for _, one := range value {
			flatten(b, at+"[]", one)
		}
	default:
		fmt.Fprintf(b, "%s: %v\n", at, value)
	}
}

// without returns the lines of a text that another has not, or not as often.
func without(mark, text, other string) []string {
	left := map[string]int{}
	for line := range strings.Lines(other) {
		left[line]++
	}
	var lines []string
	for line := range strings.Lines(text) {
		if left[line]--; left[line] < 0 {
			lines = append(lines, mark+strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}
