package expr

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/umascope/umascope/exporter/metric"
)

// Matcher narrows a selector by a label.
type Matcher struct {
	label    metric.Label
	operator string
	value    string
}

// Is keeps series whose label has this value.
func Is(label metric.Label, value string) Matcher { return Matcher{label, "=", value} }

// IsNot keeps series whose label has another value.
func IsNot(label metric.Label, value string) Matcher { return Matcher{label, "!=", value} }

// Matches keeps series whose whole label value matches the regular expression (RE2).
func Matches(label metric.Label, pattern string) Matcher { return Matcher{label, "=~", pattern} }

// MatchesNot keeps series whose whole label value does not match the regular expression (RE2).
func MatchesNot(label metric.Label, pattern string) Matcher { return Matcher{label, "!~", pattern} }

// OneOf keeps series whose label has one of these values, taken literally.
func OneOf(label metric.Label, values ...string) Matcher { return Matches(label, anyOf(values)) }

// NoneOf keeps series whose label has none of these values, taken literally.
func NoneOf(label metric.Label, values ...string) Matcher { return MatchesNot(label, anyOf(values)) }

// anyOf is the regular expression of values.
func anyOf(values []string) string {
	quoted := make([]string, len(values))
	for i, value := range values {
		quoted[i] = regexp.QuoteMeta(value)
	}
	return strings.Join(quoted, "|")
}

// regex reports whether the value is a regular expression.
func (m Matcher) regex() bool { return strings.HasSuffix(m.operator, "~") }

// check returns the fault of the value.
func (m Matcher) check() error {
	if strings.ContainsRune(m.value, utf8.RuneError) { // which Prometheus refuses even where it is meant
		return fmt.Errorf("value %q of a matcher is not UTF-8", m.value)
	}
	if m.regex() {
		if _, err := regexp.Compile(m.value); err != nil {
			return fmt.Errorf("matcher: %w", err)
		}
	}
	return nil
}
