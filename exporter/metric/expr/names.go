package expr

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/umascope/umascope/exporter/metric"
)

// Names are what a scrape configuration names: the label of the machine, and the targets that are exporters. The zero
// value has the names of umascope's own configuration.
type Names struct {
	host      metric.Label
	exporters string // matchers as they are written
}

// WithHost returns the names with another label of the machine. One that series have for something else is refused.
func (n Names) WithHost(label string) (Names, error) {
	if label != string(metric.LabelHost) {
		if err := CheckNewLabel(label); err != nil {
			return n, err
		}
	}
	n.host = metric.Label(label)
	return n, nil
}

// WithExporters returns the names with other targets that are exporters, by matchers as between the braces of PromQL, such
// as job=~"node|uma.*".
func (n Names) WithExporters(selector string) (Names, error) {
	matchers, err := parseMatchers(selector)
	if err != nil {
		return n, err
	}
	written := make([]string, len(matchers))
	for i, m := range matchers {
		written[i] = m.written(m.label)
	}
	n.exporters = strings.Join(written, ",")
	return n, nil
}

// Slots returns names for a text with slots that are filled later: one in place of the label of the machine, one in place
// of the matchers of exporters. A slot is a character for private use.
func Slots(host, exporters rune) Names {
	return Names{host: metric.Label(host), exporters: string(exporters)}
}

// Label returns the name of a label.
func (n Names) Label(label metric.Label) string {
	if label == metric.LabelHost && n.host != "" {
		label = n.host
	}
	return string(label)
}

// ofExporters is the matcher in place of which that of Names stands.
var ofExporters = Is(metric.LabelJob, metric.JobExporter)

// matcher writes a matcher.
func (n Names) matcher(m Matcher) string {
	if m == ofExporters && n.exporters != "" {
		return n.exporters
	}
	return m.written(metric.Label(n.Label(m.label)))
}

// written is the matcher of a label; strconv.Quote's escapes are those of a PromQL string.
func (m Matcher) written(label metric.Label) string {
	return string(label) + m.operator + strconv.Quote(m.value)
}

var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// CheckNewLabel returns an error if series of the vocabulary cannot have a label of this name in addition to theirs.
func CheckNewLabel(name string) error {
	if !labelName.MatchString(name) || strings.HasPrefix(name, "__") {
		return errors.New("is no name of a label: letters, digits and _, not a digit first, not __ first")
	}
	label := metric.Label(name)
	if slices.Contains([]metric.Label{metric.LabelJob, metric.LabelLE, metric.LabelQuantile}, label) {
		return errors.New("is a label of Prometheus itself")
	}
	for _, definer := range metric.Everything() {
		if d := definer.Def(); label == metric.LabelHost || d.HasLabel(label) {
			return fmt.Errorf("is a label of %s already", d.Name)
		}
	}
	return nil
}

var beginOfMatcher = regexp.MustCompile(`^[ \t\r\n]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t\r\n]*(=~|!~|!=|=)[ \t\r\n]*`)

// parseMatchers reads matchers as between the braces of PromQL, with values in double quotes or backquotes.
func parseMatchers(text string) ([]Matcher, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("is not UTF-8")
	}
	var matchers []Matcher
	for rest := text; ; {
		begin := beginOfMatcher.FindStringSubmatch(rest)
		if begin == nil {
			return nil, fmt.Errorf(`want matchers without braces, such as job=~"node|uma.*", at %q`, rest)
		}
		rest = rest[len(begin[0]):]
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil || quoted[0] == '\'' {
			return nil, fmt.Errorf("want a value in double quotes at %q", rest)
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("value %s: %w", quoted, err)
		}
		if begin[1] == "__name__" {
			return nil, errors.New("the name of the series is up already")
		}
		m := Matcher{metric.Label(begin[1]), begin[2], value}
		if err := m.check(); err != nil {
			return nil, err
		}
		matchers = append(matchers, m)
		rest = strings.Trim(rest[len(quoted):], " \t\r\n")
		if rest == "" {
			return matchers, nil
		}
		if rest[0] != ',' {
			return nil, fmt.Errorf("want a comma between matchers at %q", rest)
		}
		rest = rest[1:]
	}
}
