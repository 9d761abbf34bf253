package spec

import (
	"path"
	"slices"
	"strings"
)

// Value is the form of an option's value. A value of another form is no value of this option.
type Value int

// The forms.
const (
	HiddenValue Value = iota // the name is listed, the value is never kept
	NumberValue              // with a unit, or a list with commas; or auto
	WordValue                // such as fp8_e4m3
	ToggleValue              // without a value, or on and off
)

// Option is an option or variable that changes what a run measures. The first name is the canonical one.
type Option struct {
	Value Value
	Names []string
}

// Number, Word, Toggle and Hidden are options of these forms.
func Number(names ...string) Option { return Option{NumberValue, names} }

// Word is an option whose value is a word.
func Word(names ...string) Option { return Option{WordValue, names} }

// Toggle is an option without a value.
func Toggle(names ...string) Option { return Option{ToggleValue, names} }

// Hidden is an option whose value is never kept.
func Hidden(names ...string) Option { return Option{HiddenValue, names} }

// CommandLine describes how an engine is started. In names of options - and _ are equal.
type CommandLine struct {
	// Source is the release or document that the options are of.
	Source string
	// Commands are the names of its programs and Python modules. The list is closed: the names on it are recorded.
	Commands []string
	// Images are parts of the last part of the name of an image that starts the engine by default, and ImagePaths parts of
	// its whole name.
	Images, ImagePaths []string
	// Options are the options whose values are kept: memory, lengths, KV cache, parallelism, quantization, batching,
	// offloading. Variables are those of the environment.
	Options, Variables []Option
	// Prefixes begin the names of all variables that the engine reads.
	Prefixes []string
	// Starts begins the name of a program that runs an engine within another one; the rest is the name of that engine.
	Starts string
}

// OfCommand returns the engines whose program or Python module a word is; none for any other word.
func (all Engines) OfCommand(word string) Engines {
	word = path.Base(word)
	var found Engines
	for _, e := range all {
		if slices.Contains(e.CommandLine.Commands, word) {
			found = append(found, e)
		}
		if rest, is := strings.CutPrefix(word, e.CommandLine.Starts); is && e.CommandLine.Starts != "" {
			if inner, known := all.Find(rest); known && inner.Request != nil && inner.Name != e.Name {
				found = append(found, e, inner)
			}
		}
	}
	return found
}

// OfImage returns the engines that an image starts by default, by its name.
func (all Engines) OfImage(image string) Engines {
	name, _, _ := strings.Cut(image, "@")
	name, whole := strings.ToLower(path.Base(name)), strings.ToLower(image)
	has := func(text string) func(string) bool {
		return func(part string) bool { return strings.Contains(text, part) }
	}
	for _, e := range all {
		if slices.ContainsFunc(e.CommandLine.Images, has(name)) || slices.ContainsFunc(e.CommandLine.ImagePaths, has(whole)) {
			return Engines{e}
		}
	}
	return nil
}
