package server

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// part is an option, an argument or a variable, with all its values in order.
type part struct {
	program, name string
	values        []string
	listed        spec.Option
}

// open reports whether the values may be kept as they are.
func (p part) open() bool {
	return p.listed.Value != spec.HiddenValue && !slices.ContainsFunc(p.values, func(v string) bool { return !fits(p.listed, v) })
}

// commandLine is a parsed command line.
type commandLine struct {
	known       spec.Engines
	program     string
	options     []part
	environment []part
}

// readLine reads a command line: the launchers of the engine, such as sudo, numactl or docker run, then the engine. It
// does not read shell scripts: bash -c "…" has one option with one value.
func readLine(known spec.Engines, argv []string) commandLine {
	l := commandLine{known: known}
	l.read(argv, "")
	return l
}

// read reads words with which an image may start an engine.
func (l *commandLine) read(words []string, image string) {
	if len(words) == 0 {
		return
	}
	first, behind := path.Base(words[0]), 1
	if image != "" { // the image's own program precedes the first word, which may be anything
		first, behind = "entrypoint", 0
	}
	if start, at := containerCommand(l.known, words); at > 0 {
		if start > 0 {
			l.group(first, words[behind:start], nil, true)
		}
		tool := path.Base(words[start])
		l.group(tool, words[start+1:at], nil, false)
		rest := l.container(tool, words[at:])
		if len(rest) > 0 {
			l.read(rest[1:], rest[0])
		}
		return
	}
	at := slices.IndexFunc(words, func(word string) bool { return l.known.OfCommand(word) != nil })
	if at > 0 {
		l.group(first, words[behind:at], nil, true)
	}
	if at >= 0 {
		l.program = path.Base(words[at])
		l.group("", words[at+1:], tableOf(l.known.OfCommand(words[at])), false)
		return
	}
	if image == "" {
		l.program = first
	}
	l.group("", words[behind:], tableOf(l.known.OfImage(image)), false)
}

// group reads the options and arguments of one program. After the launcher env, A=b sets a variable.
func (l *commandLine) group(program string, words []string, known optionTable, launches bool) {
	arguments := 0
	sets := launches && (program == "env" || slices.ContainsFunc(words, func(word string) bool { return path.Base(word) == "env" }))
	assigns := func(word string) bool {
		name, _, is := strings.Cut(word, "=")
		return sets && is && variablePattern.MatchString(name)
	}
	argument := func(word string) {
		if assigns(word) {
			name, value, _ := strings.Cut(word, "=")
			l.variable(name, value)
			return
		}
		arguments++
		l.option(program, fmt.Sprintf("argument %d", arguments), word, spec.Option{})
	}
	for i := 0; i < len(words); i++ {
		if words[i] == "--" {
			for _, word := range words[i+1:] {
				argument(word)
			}
			return
		}
		name, value, attached := splitOption(words[i], known)
		if name == "" {
			argument(words[i])
			continue
		}
		o, listed := known[name]
		if listed {
			name = o.Names[0]
		}
		if !attached && i+1 < len(words) && words[i+1] != "--" && !optionLike(words[i+1]) && !assigns(words[i+1]) && (o.Value != spec.ToggleValue || fits(o, words[i+1])) {
			i++
			value, attached = words[i], true
		}
		if !attached && o.Value == spec.ToggleValue {
			value = "on"
		}
		l.option(program, name, value, o)
	}
}

// option adds a value of an option.
func (l *commandLine) option(program, name, value string, o spec.Option) {
	l.options = addPart(l.options, part{program: program, name: name, values: []string{value}, listed: o})
}

// variable adds a variable of the environment.
func (l *commandLine) variable(name, value string) {
	one := part{name: name, values: []string{value}}
	for _, e := range l.known {
		for _, o := range e.CommandLine.Variables {
			if o.Names[0] == name {
				one.listed = o
			}
		}
	}
	l.environment = slices.DeleteFunc(l.environment, func(p part) bool { return p.name == name }) // the last value wins
	l.environment = append(l.environment, one)
}

// addPart appends the values of a part to those that it already has.
func addPart(parts []part, one part) []part {
	i := slices.IndexFunc(parts, func(p part) bool { return p.program == one.program && p.name == one.name })
	if i < 0 {
		return append(parts, one)
	}
	parts[i].values = append(parts[i].values, one.values...)
	return parts
}

var (
	variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	longPattern     = regexp.MustCompile(`^--[A-Za-z][A-Za-z0-9]*(?:[._-][A-Za-z0-9]+)*$`)
)

// longestName is the longest name of an option, in bytes.
const longestName = 64

// optionLike reports whether a word is an option and not a value: -1 is a number.
func optionLike(word string) bool {
	name, _, _ := splitOption(word, nil)
	return name != ""
}

// splitOption splits a word into the name of an option and its attached value: --a=b, -xb. After a single letter the
// rest is a value, which must not be recorded as a name, unless the engine has an option of that name, such as -ngl.
// The name is empty if the word is no option.
func splitOption(word string, known optionTable) (name, value string, attached bool) {
	if len(word) < 2 || word[0] != '-' {
		return "", "", false
	}
	name, value, attached = strings.Cut(word, "=")
	if strings.HasPrefix(word, "--") {
		if len(name) > longestName || !longPattern.MatchString(name) {
			return "", "", false
		}
		return spelled(name), value, attached
	}
	if _, is := known[name]; is {
		return name, value, attached
	}
	letter := word[1] | 0x20
	if letter < 'a' || letter > 'z' {
		return "", "", false
	}
	return word[:2], strings.TrimPrefix(word[2:], "="), len(word) > 2
}
