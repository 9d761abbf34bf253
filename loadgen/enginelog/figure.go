package enginelog

import (
	"slices"
	"strconv"
	"strings"
)

// Factors to base units. GiB is what the engines mean by GiB and also by GB; each tool's file gives the source for
// that.
const (
	gib          = 1 << 30
	mib          = 1 << 20
	milliseconds = 1e-3
	one          = 1
)

// figure is a number in a line: after the labels, which occur in this order, and before its unit. Labels are searched
// as plain text, because a pattern language on every line of a verbose program costs more than all the rest.
type figure struct {
	of        Name
	statistic string
	after     []string
	leads     bool   // the first label begins the line
	unit      string // text after the number; empty matches any
	factor    float64
	sum       bool // of several lines; else the last one counts
	// each: the last line of a device in one context counts, and the devices are added.
	each bool
	// device selects lines by the word before the first label; nil selects all.
	device func(string) bool
}

// in returns the number in base units, and its text: the labels, the number and its unit.
func (f figure) in(line string) (value float64, words string, found bool) {
	rest, found := behind(line, f.after)
	if found && f.device != nil && !f.device(deviceIn(line, f.after[0])) {
		return 0, "", false
	}
	if !found || f.leads && !strings.HasPrefix(line, f.after[0]) {
		return 0, "", false
	}
	last := len(f.after) - 1
	begin := len(line) - len(rest) - len(f.after[last])
	number, rest := leadingNumber(strings.TrimLeft(rest, " :="))
	end := len(line) - len(rest)
	if f.unit != "" {
		unit := strings.TrimLeft(rest, " ")
		if !strings.HasPrefix(unit, f.unit) {
			return 0, "", false
		}
		end = len(line) - len(unit) + len(f.unit)
	}
	value, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
	value *= f.factor
	if err != nil || value > largest {
		return 0, "", false
	}
	return value, strings.Join(slices.Concat(f.after[:last], []string{line[begin:end]}), " … "), true
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

// largest bounds the figures that are accepted: above it, whole numbers are no longer exact.
const largest = 1 << 53

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

// leadingNumber cuts a plain number such as 113.65, 223,152 or 1.0526E+15 from the front of a text. It accepts no sign:
// the figures cannot be negative, and a printed negative, such as SGLang's memory of weights after other processes
// freed memory, is meaningless.
func leadingNumber(text string) (number, rest string) {
	digit := func(i int) bool { return i < len(text) && text[i] >= '0' && text[i] <= '9' }
	i := 0
	for digit(i) || i > 0 && i < len(text) && text[i] == ',' && digit(i+1) {
		i++
	}
	if i > 0 && i < len(text) && text[i] == '.' && digit(i+1) {
		for i++; digit(i); i++ {
		}
	}
	if i > 0 && i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		j := i + 1
		if j < len(text) && (text[j] == '+' || text[j] == '-') {
			j++
		}
		if digit(j) {
			for i = j; digit(i); i++ {
			}
		}
	}
	return text[:i], text[i:]
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
