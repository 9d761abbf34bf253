package grafana

import (
	"regexp"
	"strings"
)

// reference finds $name, [[name]], [[name:format]], ${name}, ${name.path} and ${name:format}
// (VARIABLE_REGEX in Grafana's scenes library).
var reference = regexp.MustCompile(`\$(\w+)|\[\[(\w+?)(?::(\w+))?\]\]|\$\{(\w+)(?:\.([^:}]+))?(?::([^}]+))?\}`)

// mention is one reference in a text.
type mention struct {
	name, path, format string
	written            string
}

// mentions lists the variables that a text refers to.
func mentions(text string) []mention {
	var found []mention
	for _, at := range reference.FindAllStringSubmatchIndex(text, -1) {
		found = append(found, mentionAt(text, at))
	}
	return found
}

func mentionAt(text string, at []int) mention {
	group := func(i int) string {
		if at[2*i] < 0 {
			return ""
		}
		return text[at[2*i]:at[2*i+1]]
	}
	return mention{
		name:    group(1) + group(2) + group(4), // one of them
		path:    group(5),
		format:  group(3) + group(6),
		written: group(0),
	}
}

// replace replaces every reference by the result of with. It passes the quote that is open at the reference.
func replace(text string, with func(m mention, at quoting) (string, error)) (string, error) {
	var out strings.Builder
	var state quoting
	done := 0
	for _, at := range reference.FindAllStringSubmatchIndex(text, -1) {
		before := text[done:at[0]]
		state.read(before)
		inserted, err := with(mentionAt(text, at), state)
		if err != nil {
			return "", err
		}
		state.read(inserted)
		out.WriteString(before + inserted)
		done = at[1]
	}
	out.WriteString(text[done:])
	return out.String(), nil
}

// quoting scans PromQL and tracks which quote is open.
type quoting struct {
	quote   byte // ', " or `, 0 if none
	escaped bool
	comment bool
}

func (q *quoting) read(text string) {
	for i := range len(text) {
		c := text[i]
		switch {
		case q.comment:
			q.comment = c != '\n'
		case q.escaped:
			q.escaped = false
		case q.quote == 0 && c == '#':
			q.comment = true
		case q.quote == 0 && (c == '"' || c == '\'' || c == '`'):
			q.quote = c
		case c == '\\' && (q.quote == '"' || q.quote == '\''):
			q.escaped = true
		case c == q.quote:
			q.quote = 0
		}
	}
}
