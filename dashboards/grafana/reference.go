package grafana

import "regexp"

// reference finds $name, [[name]], [[name:format]], ${name}, ${name.path} and ${name:format}
// (VARIABLE_REGEX in Grafana's scenes library).
var reference = regexp.MustCompile(`\$(\w+)|\[\[(\w+?)(?::(\w+))?\]\]|\$\{(\w+)(?:\.([^:}]+))?(?::([^}]+))?\}`)

// mention is one reference in a text.
type mention struct{ name, format, written string }

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
		format:  group(3) + group(6),
		written: group(0),
	}
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
