package enginelog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// figureIn returns the number of a figure in a line, in base units, and its text: the labels, the number and its unit.
func figureIn(f spec.Figure, line string) (value float64, words string, found bool) {
	rest, found := behind(line, f.After)
	if found && f.Device != nil && !f.Device(deviceIn(line, f.After[0])) {
		return 0, "", false
	}
	if !found || f.Leads && !strings.HasPrefix(line, f.After[0]) {
		return 0, "", false
	}
	last := len(f.After) - 1
	begin := len(line) - len(rest) - len(f.After[last])
	number, rest := spec.LeadingNumber(strings.TrimLeft(rest, " :="))
	end := len(line) - len(rest)
	if f.Unit != "" {
		unit := strings.TrimLeft(rest, " ")
		if !strings.HasPrefix(unit, f.Unit) {
			return 0, "", false
		}
		end = len(line) - len(unit) + len(f.Unit)
	}
	value, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
	value *= f.Factor
	if err != nil || value > spec.Largest {
		return 0, "", false
	}
	return value, strings.Join(slices.Concat(f.After[:last], []string{line[begin:end]}), " … "), true
}

// deviceIn returns the word before a label.
func deviceIn(line, label string) string {
	before, _, _ := strings.Cut(line, label)
	words := strings.Fields(before)
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}

// behind returns the text after the labels. The first must not be the tail of a longer word: the input tokens of a
// report are not its "total input tokens".
func behind(line string, labels []string) (string, bool) {
	for i, label := range labels {
		before, rest, found := strings.Cut(line, label)
		if !found || i == 0 && endsInWord(before) {
			return "", false
		}
		line = rest
	}
	return line, true
}

func endsInWord(text string) bool {
	if text == "" {
		return false
	}
	c := text[len(text)-1]
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// longestVersion bounds a version.
const longestVersion = 64

// versionIn returns the version after a label, such as 1.1.0rc3, or "".
func versionIn(line, label string) string {
	_, rest, found := strings.Cut(line, label)
	if !found {
		return ""
	}
	rest = strings.TrimLeft(rest, " :")
	end := strings.IndexFunc(rest, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && !strings.ContainsRune("._+-", c)
	})
	if end >= 0 {
		rest = rest[:end]
	}
	if len(rest) > longestVersion || !strings.ContainsAny(rest, "0123456789") {
		return ""
	}
	return rest
}

// rankIn returns the number of the rank that printed a line. Engines with several ranks write it in front: "(Worker_TP1
// pid=7)", "(VllmWorker rank=1 pid=7)", "[2025-03-25 16:37:06 TP1]", "[RANK 1]".
func rankIn(line string) (int, bool) {
	front := line[:min(len(line), longestPrefix)]
	for _, label := range []string{" TP", "_TP", " rank=", "[RANK "} {
		_, rest, found := strings.Cut(front, label)
		if !found {
			continue
		}
		end := strings.IndexAny(rest, " ])")
		if end < 0 {
			continue
		}
		if rank, err := strconv.ParseUint(rest[:end], 10, 16); err == nil {
			return int(rank), true
		}
	}
	return 0, false
}

// longestPrefix is how far into a line the rank is searched.
const longestPrefix = 80
