package main

import (
	"fmt"
	"regexp"
	"strings"
)

// walk is a section of the page.
type walk struct {
	name  string
	files []string // that the section lists
	steps []step
}

// step is a diff to apply, or a command with the output that the page shows.
type step struct {
	line    int
	diff    string
	command string
	shown   []string
}

var (
	heading = regexp.MustCompile(`^## Walk ([a-z]+):`)
	listed  = regexp.MustCompile("^- `([^`]+)`")
	fence   = regexp.MustCompile("^```([a-z]*)$")
)

// parsePage reads the walks of a page.
func parsePage(text string) ([]walk, error) {
	var all []walk
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if m := heading.FindStringSubmatch(lines[i]); m != nil {
			all = append(all, walk{name: m[1]})
			continue
		}
		if strings.HasPrefix(lines[i], "## ") && len(all) > 0 {
			return all, nil
		}
		if len(all) == 0 {
			continue
		}
		w := &all[len(all)-1]
		if m := listed.FindStringSubmatch(lines[i]); m != nil {
			w.files = append(w.files, m[1])
		}
		m := fence.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		begin := i + 1
		for i++; i < len(lines) && lines[i] != "```"; i++ {
		}
		if i == len(lines) {
			return nil, fmt.Errorf("line %d: the block does not end", begin)
		}
		if err := w.take(m[1], begin+1, lines[begin:i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// take adds a block, which begins in that line.
func (w *walk) take(language string, line int, block []string) error {
	switch language {
	case "diff":
		w.steps = append(w.steps, step{line: line, diff: strings.Join(block, "\n") + "\n"})
	case "sh":
		for i, command := range block {
			w.steps = append(w.steps, step{line: line + i, command: command})
		}
	case "text":
		last := len(w.steps) - 1
		if last < 0 || w.steps[last].diff != "" {
			return fmt.Errorf("line %d: no command is before the output", line)
		}
		w.steps[last].shown = block
	default:
		return fmt.Errorf("line %d: a block of %q: choose from diff, sh and text", line, language)
	}
	return nil
}

// missing returns the first shown line that is not in an output, in their order. Spaces count once, and … stands for any text.
func missing(shown []string, output string) string {
	lines := strings.Split(output, "\n")
	at := 0
	for _, want := range shown {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.Join(strings.Fields(want), " ")), "…", ".*")
		like := regexp.MustCompile("^" + pattern + "$")
		for at < len(lines) && !like.MatchString(strings.Join(strings.Fields(lines[at]), " ")) {
			at++
		}
		if at == len(lines) {
			return want
		}
		at++
	}
	return ""
}
