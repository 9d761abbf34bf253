package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// place is a panel in a state.
type place struct{ state, dashboard, panel string }

// longText is a kind of text that may be cut: it has any length.
type longText struct {
	pattern *regexp.Regexp
	needed  bool // one was cut
}

// readExcuses reads a file of lines whose columns are between tabs; # begins a comment.
func readExcuses[T any](file string, parse func([][]string) (T, error)) (T, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return *new(T), err
	}
	var lines [][]string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && line[0] != '#' {
			lines = append(lines, strings.Split(line, "\t"))
		}
	}
	excuses, err := parse(lines)
	if err != nil {
		return excuses, fmt.Errorf("%s: %w", file, err)
	}
	return excuses, nil
}

// reason is why a panel may be empty. Of one that depends on timing, such as a phase that may end between two scrapes, it
// is no fault that the panel had values.
type reason struct {
	text   string
	timing bool
}

// parseReasons reads why panels may be empty: states (by commas, with ? where timing decides), dashboard, panel and reason.
func parseReasons(lines [][]string) (map[place]reason, error) {
	reasons := map[place]reason{}
	for _, columns := range lines {
		if len(columns) != 4 || slices.Contains(columns, "") {
			return nil, fmt.Errorf("%q: want states, dashboard, panel and reason, between tabs", columns)
		}
		for state := range strings.SplitSeq(columns[0], ",") {
			state, timing := strings.CutSuffix(state, "?")
			at := place{state, columns[1], columns[2]}
			if reasons[at] != (reason{}) {
				return nil, fmt.Errorf("%q: it has a reason already", at)
			}
			reasons[at] = reason{columns[3], timing}
		}
	}
	return reasons, nil
}

// parseLong reads which texts may be cut: a pattern of the whole text, and the reason.
func parseLong(lines [][]string) ([]*longText, error) {
	var all []*longText
	for _, columns := range lines {
		if len(columns) != 2 || slices.Contains(columns, "") {
			return nil, fmt.Errorf("%q: want a pattern and a reason, between tabs", columns)
		}
		pattern, err := regexp.Compile("^(?:" + columns[0] + ")$")
		if err != nil {
			return nil, err
		}
		all = append(all, &longText{pattern: pattern})
	}
	return all, nil
}
