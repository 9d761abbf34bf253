package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// reason is why names of a project are not read.
type reason struct {
	project string // "*" for all
	names   *regexp.Regexp
	used    bool
}

type reasons []*reason

func readReasons(file string) (reasons, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all reasons
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(strings.TrimSpace(line), "\t")
		if len(cells) != 3 {
			return nil, fmt.Errorf("%s: a line has %d cells instead of 3: %q", file, len(cells), line)
		}
		names, err := regexp.Compile(cells[1])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, &reason{project: cells[0], names: names})
	}
	return all, nil
}

// judge fails if a name that is not read has no reason, or if a reason is of no name.
func (all reasons) judge(rows map[name]string) error {
	var without []string
	for _, n := range sorted(rows) {
		if rows[n] == stateUnread && !all.has(n) {
			without = append(without, n.project+" "+n.text)
		}
	}
	for _, r := range all {
		if !r.used {
			return fmt.Errorf("unread.tsv: no name is of %s %s", r.project, r.names)
		}
	}
	if len(without) > 0 {
		return fmt.Errorf("names without a reason in unread.tsv: %s", strings.Join(without, ", "))
	}
	return nil
}

func (all reasons) has(n name) bool {
	for _, r := range all {
		if (r.project == "*" || r.project == n.project) && r.names.MatchString(n.text) {
			r.used = true
			return true
		}
	}
	return false
}
