package engine

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Limits of one page. The parser makes a map of all labels so far for each label of a line, so that a line of a million
// labels would keep it busy for hours.
const (
	maxSeries    = 50_000
	maxTypes     = 10_000
	maxLabels    = 64
	maxLineBytes = 64 << 10
)

// asTextFormat turns a page into one that the parser understands: the text format 0.0.4, of which expfmt
// has the only parser that is no part of the Prometheus server. It counts before anything is parsed,
// drops what is not used (help texts, further TYPE lines of a family, which appear where a program
// joins the pages of several, and unknown types) and from OpenMetrics all that the other format lacks.
// Lines keep their numbers, for the parser's errors.
//
//	# TYPE vllm:prompt_tokens_total counter
//	vllm:prompt_tokens_total{engine="0"} 66.0
func asTextFormat(text []byte, open bool) ([]byte, error) {
	p := plainer{open: open, typed: map[string]bool{}}
	for line := range bytes.Lines(text) {
		if err := p.line(string(line)); err != nil {
			return nil, err
		}
	}
	if open && !p.ended {
		return nil, errors.New("no page of metrics: ends without # EOF, so it was cut")
	}
	return p.out.Bytes(), nil
}

// plainer makes pages plain, line by line.
type plainer struct {
	open   bool // OpenMetrics
	out    bytes.Buffer
	typed  map[string]bool
	series int
	ended  bool // # EOF was seen
}

func (p *plainer) line(line string) error {
	if len(line) > maxLineBytes {
		return fmt.Errorf("no page of metrics: a line is longer than %d bytes", maxLineBytes)
	}
	text := strings.TrimLeft(line, " \t")
	switch {
	case strings.HasPrefix(text, "#"):
		return p.comment(text)
	case strings.TrimSpace(text) == "":
		p.out.WriteString("\n")
		return nil
	}
	return p.sample(text)
}

// comment keeps the first type of each family.
func (p *plainer) comment(text string) error {
	fields := strings.Fields(strings.TrimPrefix(text, "#"))
	if len(fields) == 1 && fields[0] == "EOF" {
		p.ended = true
	}
	if len(fields) == 3 && fields[0] == "TYPE" {
		name, kind := p.family(fields[1], strings.ToLower(fields[2]))
		if kind != "" && !p.typed[name] {
			p.typed[name] = true
			p.out.WriteString("# TYPE " + name + " " + kind)
		}
	}
	p.out.WriteString("\n")
	if len(p.typed) > maxTypes {
		return fmt.Errorf("has more than %d families", maxTypes)
	}
	return nil
}

// family returns name and type of a family as the text format has them, no type for one that it lacks.
// In OpenMetrics the name of a counter's family has no _total, and there are more types.
func (p *plainer) family(name, kind string) (string, string) {
	switch kind {
	case "counter":
		if p.open && !strings.HasSuffix(name, "_total") {
			name += "_total"
		}
		return name, kind
	case "gauge", "histogram", "summary", "untyped":
		return name, kind
	}
	return name, ""
}

// sample counts a series. Of OpenMetrics it keeps name, labels and value: timestamps, there fractions
// of seconds, and exemplars are not used.
func (p *plainer) sample(text string) error {
	if p.series++; p.series > maxSeries {
		return fmt.Errorf("has more than %d series", maxSeries)
	}
	series, labels := cutSeries(text)
	if labels > maxLabels {
		return fmt.Errorf("has a series with more than %d labels", maxLabels)
	}
	fields := strings.Fields(text[len(series):])
	if !p.open || len(fields) == 0 || !strings.HasSuffix(text, "\n") {
		p.out.WriteString(text)
		return nil
	}
	p.out.WriteString(series + " " + fields[0] + "\n")
	return nil
}

// cutSeries returns name and labels of a line, without its value, and how many labels there are at
// most. Braces and commas in quotes are text.
func cutSeries(line string) (series string, labels int) {
	quoted, escaped, inside := false, false, false
	for i := range len(line) {
		c := line[i]
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			inside = true
			labels++
		case c == ',':
			labels++
		case c == '}':
			return line[:i+1], labels
		case !inside && (c == ' ' || c == '\t'):
			if rest := strings.TrimLeft(line[i:], " \t"); !strings.HasPrefix(rest, "{") {
				return line[:i], labels
			}
		}
	}
	return line, labels
}
