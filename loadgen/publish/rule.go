package publish

import (
	"regexp"
	"strings"
	"time"
)

// rule is how the cleaner treats a member of a JSON file.
type rule struct {
	// figures keeps numbers, booleans and null, at any depth. A text among them needs a rule of its own.
	figures bool
	// text returns the replacement of a text; nil if the member may not be a text. A text that becomes empty is dropped.
	text func(c *cleaner, key, value string) string
	// all treats a member of any form; members below it have no rules. A nil result drops the member.
	all func(c *cleaner, key string, value any) any
}

// rules are keyed by the path of a member: keys with dots between them, * for any key. The elements of a list have the
// path of the list. A member without a rule is dropped.
type rules map[string]rule

// table is the tree form of rules.
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

// below prefixes the paths of rules. An empty path becomes the prefix itself.
func (r rules) below(prefix string) rules {
	moved := rules{}
	for path, one := range r {
		moved[strings.TrimSuffix(prefix+"."+path, ".")] = one
	}
	return moved
}

// with joins sets of rules.
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
	// withheld replaces output of engines and commands, in their own words.
	withheld = rule{text: func(_ *cleaner, _, v string) string { return strings.Repeat(gone, min(1, len(v))) }}
	// leftOut drops a member.
	leftOut = rule{all: func(*cleaner, string, any) any { return nil }}
	moments = rule{text: moment}
	sums    = rule{text: sum}
	version = rule{text: versionText}
	urls    = rule{text: func(c *cleaner, _, v string) string { return c.address(v) }}
	runName = rule{text: func(c *cleaner, _, v string) string { return c.run(v) }}
	images  = rule{text: func(c *cleaner, _, v string) string { return c.image(v) }}
	digests = rule{text: digest}
	// labels are the labels of a run, series the labels of a series of an exporter or an engine.
	labels  = rule{text: (*cleaner).label}
	series  = rule{text: (*cleaner).seriesLabel}
	flags   = rule{text: (*cleaner).flag}
	foreign = rule{all: (*cleaner).foreign}
	// settings are the settings of a container, by the names of its engine.
	settings = rule{all: (*cleaner).setting}
)

// named returns the rule that replaces identities of a kind.
func named(kind Kind) rule {
	return rule{text: func(c *cleaner, _, v string) string { return c.identity(kind, v) }}
}

// moment keeps a time.
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

// sum keeps a hash.
func sum(c *cleaner, _, v string) string {
	if sumPattern.MatchString(v) {
		return v
	}
	return c.text(v)
}

// versionText keeps a version, which may look like an address.
func versionText(c *cleaner, _, v string) string {
	if len(v) < 40 && versionPattern.MatchString(v) {
		return c.words(v)
	}
	return c.text(v)
}

// digest keeps a hash; of NAME@sha256:… it keeps the digest and the name without its registry.
func digest(c *cleaner, _, v string) string {
	at := digestPattern.FindStringSubmatchIndex(v)
	if at == nil {
		return sum(c, "", v)
	}
	return c.image(v[:at[0]]) + v[at[0]:]
}
