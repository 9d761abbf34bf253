// Package hostfs reads the files in which the Linux kernel describes a machine: proc, sys, cgroup v2 and their like,
// below the paths at which they are mounted, or at which a recording or a simulation has put its files.
//
// Values are in base units: bytes, seconds, degrees Celsius; only those of diskstats are in the kernel's. A value that a
// file lacks is missing from the result, never zero. A file that is truncated or malformed is an error that names it, and
// the line if a parser here found it; the rows before it are not returned.
//
// github.com/prometheus/procfs reads meminfo, buddyinfo, diskstats, the time of boot, and stat, io and cgroup of a
// process. It leaves out lines of meminfo and diskstats whose form it does not know. Where it has a reader of another file
// that is read here, the comment there has the reason. The tests compare the two, and fail when a release of the library
// corrects what it gets wrong.
package hostfs

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// errMalformed is the error of a line that does not have its documented form.
var errMalformed = errors.New("malformed")

// parseFile reads the whole file and parses it. Errors name the file.
func parseFile[T any](dir Dir, name string, parse func(string) (T, error)) (T, error) {
	var none T
	content, err := dir.ReadFile(name)
	if err != nil {
		return none, err
	}
	parsed, err := parse(string(content))
	if err != nil {
		return none, fmt.Errorf("%s: %w", dir.shown(name), err)
	}
	return parsed, nil
}

// parseLines calls parse with each line, without its end, until one fails. The kernel ends every line of a table; a
// line without end was truncated, and a truncated number is another number.
func parseLines(text string, parse func(line string) error) error {
	number := 0
	for line := range strings.Lines(text) {
		number++
		body, ended := strings.CutSuffix(line, "\n")
		if !ended {
			return fmt.Errorf("line %d: %w", number, io.ErrUnexpectedEOF)
		}
		if err := parse(body); err != nil {
			return fmt.Errorf("line %d: %w: %s", number, err, excerpt(body))
		}
	}
	return nil
}

// excerpt quotes the beginning of a line for an error: files may hold anything, of any length.
func excerpt(line string) string {
	const enough = 60
	if len(line) > enough {
		line = line[:enough]
	}
	return strconv.Quote(line)
}

// parseKeyed parses lines of a key and a number, as in /proc/vmstat and memory.stat:
//
//	pgmajfault 1203
func parseKeyed(text string) (map[string]uint64, error) {
	values := make(map[string]uint64, strings.Count(text, "\n"))
	err := parseLines(text, func(line string) error {
		key, number, _ := strings.Cut(line, " ")
		value, err := parseUint(number)
		if err != nil || key == "" {
			return errMalformed
		}
		values[key] = value
		return nil
	})
	if err != nil {
		return nil, err
	}
	return values, nil
}

func parseUint(text string) (uint64, error) { return strconv.ParseUint(text, 10, 64) }

// readText reads an attribute of one line of text, such as a model name, without the blanks that some devices pad it
// with.
func readText(dir Dir, name string) (string, error) {
	content, err := dir.ReadFile(name)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(content)), nil
}

// readUint reads an attribute of one number.
func readUint(dir Dir, name string) (uint64, error) {
	return parseFile(dir, name, func(text string) (uint64, error) {
		value, err := parseUint(strings.TrimSpace(text))
		if err != nil {
			return 0, fmt.Errorf("%w: %s", errMalformed, excerpt(text))
		}
		return value, nil
	})
}
