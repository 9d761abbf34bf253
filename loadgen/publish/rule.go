package publish

import (
	"regexp"
	"strings"
	"time"
)

// rule is what becomes of a member of a JSON file.
type rule struct {
	// figures are kept: numbers, statements and null, at any depth. A text among them needs a rule of its own.
	figures bool
	// text is what becomes of a text; nil if a text has no place here. Not kept is what is empty and was not.
	text func(c *cleaner, key, value string) string
	// all is of what may be of any form; nothing below it has rules. Nil leaves the member out.
	all func(c *cleaner, key string, value any) any
}

// rules are by the path of a member: keys with dots between them, * for any key. The elements of a list
// have the path of the list. What no rule names is left out.
type rules map[string]rule

// table is rules as they are walked.
type table struct {
	rule     *rule
	children map[string]*table
}

func (r rules) table() *table {
	root := &table{}
	for path, one := range r {
		at := root
		for _, key := range strings.Split(path, ".") {
			if at.children == nil {
				at.children = map[string]*table{}
			}
			if at.children[key] == nil {
				at.children[key] = &table{}
			}
			at = at.children[key]
		}
		at.rule = &one
	}
	return root
}

// below prefixes the paths of rules. An empty path is that of the prefix itself.
func (r rules) below(prefix string) rules {
	moved := rules{}
	for path, one := range r {
		moved[strings.TrimSuffix(prefix+"."+path, ".")] = one
	}
	return moved
}

// with joins tables.
func (r rules) with(more ...rules) rules {
	for _, m := range more {
		for path, one := range m {
			r[path] = one
		}
	}
	return r
}

// The rules of most members.
var (
	figures = rule{figures: true}
	texts   = rule{text: func(c *cleaner, _, v string) string { return c.text(v) }}
	// withheld is what engines and commands printed, in their own words.
	withheld = rule{text: func(_ *cleaner, _, v string) string { return strings.Repeat(gone, min(1, len(v))) }}
	// leftOut is what packs do not have.
	leftOut = rule{all: func(*cleaner, string, any) any { return nil }}
	moments = rule{text: moment}
	sums    = rule{text: sum}
	version = rule{text: versionText}
	urls    = rule{text: func(c *cleaner, _, v string) string { return c.address(v) }}
	runName = rule{text: func(c *cleaner, _, v string) string { return c.run(v) }}
	images  = rule{text: func(c *cleaner, _, v string) string { return c.image(v) }}
	digests = rule{text: digest}
	// labels are those that a run was given, series those of a series of an exporter or an engine.
	labels  = rule{text: (*cleaner).label}
	series  = rule{text: (*cleaner).seriesLabel}
	flags   = rule{text: (*cleaner).flag}
	foreign = rule{all: (*cleaner).foreign}
	// settings are of a container, by the names of its engine.
	settings = rule{all: (*cleaner).setting}
)

// named is the rule of what says whose machine it was.
func named(kind Kind) rule {
	return rule{text: func(c *cleaner, _, v string) string { return c.identity(kind, v) }}
}

// moment keeps what is a time.
func moment(_ *cleaner, _, v string) string {
	if _, err := time.Parse(time.RFC3339Nano, v); err != nil {
		return ""
	}
	return v
}

var (
	sumPattern     = regexp.MustCompile(`^(?:sha256:)?[0-9a-f]{8,128}$`)
	versionPattern = regexp.MustCompile(`^v?[0-9]+(?:\.[0-9]+)*(?:[-+._]?[0-9A-Za-z]+)*(?:\+modified)?$`)
	imagePattern   = regexp.MustCompile(`^(?:([^/]*[.:][^/]*|localhost)/)?(.*)$`)
	digestPattern  = regexp.MustCompile(`@(sha256:[0-9a-f]{64})$`)
	plainFigure    = regexp.MustCompile(`^(?:true|false|inf|(?:-?[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|ms|s|m|h|%)?)+)$`)
)

// sum keeps what is a hash.
func sum(c *cleaner, _, v string) string {
	if sumPattern.MatchString(v) {
		return v
	}
	return c.text(v)
}

// versionText keeps what is a version, which may look like an address.
func versionText(c *cleaner, _, v string) string {
	if len(v) < 40 && versionPattern.MatchString(v) {
		return c.words(v)
	}
	return c.text(v)
}

// digest keeps of NAME@sha256:… what it is, and tells nothing of where it lies.
func digest(c *cleaner, _, v string) string {
	at := digestPattern.FindStringSubmatchIndex(v)
	if at == nil {
		return sum(c, "", v)
	}
	return c.image(v[:at[0]]) + v[at[0]:]
}
