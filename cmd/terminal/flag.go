package terminal

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// FlagSet is where flags are declared: a program or one of its verbs.
type FlagSet interface {
	Flag(name, help string) *kingpin.FlagClause
}

// value is a flag's value. It exists because the errors of kingpin's own values do not name the flag.
type value[T any] struct {
	flag  string
	into  *T
	parse func(string) (T, error)
	// texts are the texts that the value was parsed from, in a form that may be shown.
	texts []string
	show  func(string) string
}

// Set parses the text of the flag.
func (v *value[T]) Set(text string) error {
	parsed, err := v.parse(text)
	if err != nil {
		return fmt.Errorf("--%s: %w", v.flag, err)
	}
	*v.into = parsed
	v.texts = append(v.texts, v.show(text))
	return nil
}

// String returns the text that the value was parsed from; for a repeated flag, each text in brackets.
func (v *value[T]) String() string {
	if len(v.texts) == 1 {
		return v.texts[0]
	}
	if len(v.texts) == 0 {
		return ""
	}
	return "[" + strings.Join(v.texts, "] [") + "]"
}

// Shown returns the form of a text of the flag that may be recorded.
func (v *value[T]) Shown(text string) string { return v.show(text) }

// list is the value of a flag that may be repeated.
type list[T any] struct{ value[[]T] }

// IsCumulative makes kingpin accept the flag several times.
func (l *list[T]) IsCumulative() bool { return true }

// Flag declares a flag. An empty fallback means no default: the field keeps its zero value.
func Flag[T any](set FlagSet, name, help, fallback string, into *T, parse func(string) (T, error)) *kingpin.FlagClause {
	clause := set.Flag(name, help)
	if fallback != "" {
		clause.Default(fallback)
	}
	clause.SetValue(&value[T]{flag: name, into: into, parse: parse, show: AsGiven})
	return clause
}

// Flags declares a flag that may be repeated. show returns the form of a value that manifests record.
func Flags[T any](set FlagSet, name, help string, into *[]T, parse func(string) (T, error), show func(string) string) *kingpin.FlagClause {
	clause := set.Flag(name, help)
	grow := func(text string) ([]T, error) {
		parsed, err := parse(text)
		return append(*into, parsed), err
	}
	clause.SetValue(&list[T]{value[[]T]{flag: name, into: into, parse: grow, show: show}})
	return clause
}

// AsGiven returns a value unchanged.
func AsGiven(s string) string { return s }

// NameOnly hides the value of NAME:VALUE.
func NameOnly(s string) string {
	name, _, _ := strings.Cut(s, ":")
	return name + ":<redacted>"
}

// WithoutQuery removes the query of a URL, which may contain tokens.
func WithoutQuery(s string) string {
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		return s[:i]
	}
	return s
}
