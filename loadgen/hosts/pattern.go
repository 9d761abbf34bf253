package hosts

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// Pattern selects names of hosts.
type Pattern struct {
	text  string
	match func(string) bool
}

// ParsePattern reads a glob such as spark-*, or a regular expression of whole names between slashes such as
// /spark-[0-9]+/. Both ignore case, as host names do.
func ParsePattern(text string) (Pattern, error) {
	if inner, is := between(text, "/"); is {
		e, err := regexp.Compile(`(?i)^(?:` + inner + `)$`)
		if err != nil {
			return Pattern{}, fmt.Errorf("%q is not a regular expression: %w", text, err)
		}
		return Pattern{text, e.MatchString}, nil
	}
	lower := strings.ToLower(text)
	if _, err := path.Match(lower, ""); err != nil || text == "" {
		return Pattern{}, fmt.Errorf("%q is neither a glob such as spark-* nor a regular expression such as /spark-[0-9]+/", text)
	}
	return Pattern{text, func(name string) bool {
		is, _ := path.Match(lower, strings.ToLower(name))
		return is
	}}, nil
}

// String returns the pattern's source text.
func (p Pattern) String() string { return p.text }

func between(text, mark string) (string, bool) {
	inner, begins := strings.CutPrefix(text, mark)
	inner, ends := strings.CutSuffix(inner, mark)
	return inner, begins && ends && inner != ""
}
