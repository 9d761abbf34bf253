package grafana

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Settings are the inputs with which a dashboard is shown.
type Settings struct {
	// Source is the uid of Grafana's default data source.
	Source string
	// Scrape is the data source's setting "scrape interval", 0 for Grafana's 15 s.
	Scrape time.Duration
	Window Window
	// Chosen are the values in the address, by variable: "var-host=a" is host: a.
	Chosen map[string][]string
}

// Resolved is a variable with its options and its current values.
type Resolved struct {
	Variable
	// Options are the possible values, without All.
	Options []string
	// Current are the current values; All means every option.
	Current []string
	// Err is the reason why the options are missing.
	Err error
}

func (r Resolved) isAll() bool { return slices.Contains(r.Current, All) }

// values returns the current values, with All replaced by every option.
func (r Resolved) values() []string {
	if !r.isAll() {
		return r.Current
	}
	return r.Options
}

// Text is the current values as they are shown.
func (r Resolved) Text() string {
	if r.isAll() {
		return allText
	}
	return strings.Join(r.Current, " + ")
}

// format writes the values in one of Grafana's formats (formatRegistry in its scenes library): text, parameters of an
// address, or, without a format, {a,b}. Others are not known.
func (r Resolved) format(name string) (text string, known bool) {
	switch {
	case name == "text":
		return r.Text(), true
	case name == "queryparam":
		return parameters(r.Name, r.Current), true
	case name != "":
		return "", false
	case r.isAll() && r.AllValue != "":
		return r.AllValue, true
	}
	values := r.values()
	if len(values) > 1 {
		return "{" + strings.Join(values, ",") + "}", true
	}
	return strings.Join(values, ","), true
}

// parameters writes a variable as parameters of an address: $__all for All.
func parameters(name string, values []string) string {
	var parts []string
	for _, value := range values {
		parts = append(parts, "var-"+name+"="+strings.ReplaceAll(url.QueryEscape(value), "+", "%20"))
	}
	return strings.Join(parts, "&")
}

// Scope is a dashboard's variables with their values, and the time range.
type Scope struct {
	Settings
	Variables []Resolved
}

// Err names the variables that could not be resolved.
func (s Scope) Err() error {
	var problems []error
	for _, v := range s.Variables {
		if v.Err != nil {
			problems = append(problems, fmt.Errorf("variable %s: %w", v.Name, v.Err))
		}
	}
	return errors.Join(problems...)
}

// Variable returns the variable with that name.
func (s Scope) Variable(name string) (Resolved, bool) {
	i := slices.IndexFunc(s.Variables, func(r Resolved) bool { return r.Name == name })
	if i < 0 {
		return Resolved{}, false
	}
	return s.Variables[i], true
}

// Address returns the variables as parameters of an address, as Grafana writes them in a link that keeps the variables.
func (s Scope) Address() url.Values {
	values := url.Values{}
	for _, v := range s.Variables {
		values["var-"+v.Name] = v.Current
	}
	return values
}

// Titled fills in a title or text for display: every value as it is shown. Unknown variables and formats stay as they
// are written.
func (s Scope) Titled(text string) string { return s.written(text, "text") }

// Written fills in a legend or a link; several values become {a,b} unless the text sets another format.
func (s Scope) Written(text string) string { return s.written(text, "") }

func (s Scope) written(text, format string) string {
	return reference.ReplaceAllStringFunc(text, func(written string) string {
		m := mentions(written)[0]
		if m.format == "" {
			m.format = format
		}
		if m.name == "__url_time_range" {
			return fmt.Sprintf("from=%d&to=%d", s.Window.From.UnixMilli(), s.Window.To.UnixMilli())
		}
		if v, known := s.Variable(m.name); known {
			if text, known := v.format(m.format); known {
				return text
			}
		}
		return written
	})
}

// rateInterval is the one of Grafana's own variables that these dashboards use in queries.
const rateInterval = "__rate_interval"

// Expr writes the variables into an expression, and the length of a range for rates. A variable that may have several
// values is escaped for a regular expression, and several values are (a|b); any other variable is not escaped
// (interpolateQueryExpr in the data source). An explicit format is an error: no dashboard of this project has one.
//
// A value stays inside the quotes that it is written into. Grafana escapes for double quotes if its feature toggle
// prometheusSpecialCharsInLabelValues is on, and leaves the quote alone if it is off; here the open quote is always
// escaped.
func (s Scope) Expr(expression string, rate time.Duration) (string, error) {
	var out strings.Builder
	var state quoting
	done := 0
	for _, at := range reference.FindAllStringSubmatchIndex(expression, -1) {
		before := expression[done:at[0]]
		state.read(before)
		inserted, err := s.inQuery(mentionAt(expression, at), state, rate)
		if err != nil {
			return "", err
		}
		state.read(inserted)
		out.WriteString(before + inserted)
		done = at[1]
	}
	return out.String() + expression[done:], nil
}

// inQuery returns the replacement of a mention where these quotes are open.
func (s Scope) inQuery(m mention, open quoting, rate time.Duration) (string, error) {
	v, known := s.Variable(m.name)
	switch {
	case m.name == rateInterval && rate > 0:
		return rate.String(), nil // 1m0s, as Go writes it: Grafana's data source does so too
	case !known:
		return m.written, nil
	case open.escaped:
		return "", fmt.Errorf("%s stands behind a backslash, which would escape a part of its value", m.written)
	case m.format != "":
		return "", fmt.Errorf("%s: formats are not known in queries", m.written)
	case v.isAll() && v.AllValue != "":
		return v.AllValue, nil // the dashboard's own text, never escaped
	case v.Multi || v.IncludeAll:
		return quoteText(alternatives(v.values()), open.quote)
	}
	return quoteText(strings.Join(v.values(), ","), open.quote)
}

// queryRegexSigns are those that the Prometheus data source escapes by itself (prometheusSpecialRegexEscape), before the
// text is written into a quoted string.
var queryRegexSigns = regexp.MustCompile(`[\\$^*{}\[\]'+?.()|]`)

// alternatives writes one value as it is and several as (a|b), for a regular expression.
func alternatives(values []string) string {
	escaped := make([]string, len(values))
	for i, v := range values {
		escaped[i] = queryRegexSigns.ReplaceAllString(v, `\$0`)
	}
	if len(escaped) == 1 {
		return escaped[0]
	}
	return "(" + strings.Join(escaped, "|") + ")"
}

// quoteText escapes a text for a string in this quote. Raw strings have no escapes.
func quoteText(text string, quote byte) (string, error) {
	switch quote {
	case '"', '\'':
		q := string(quote)
		return strings.NewReplacer(`\`, `\\`, q, `\`+q, "\n", `\n`).Replace(text), nil
	case '`':
		if strings.Contains(text, "`") {
			return "", fmt.Errorf("%s has a backquote and stands in a raw string", strconv.Quote(text))
		}
		return text, nil
	}
	return strings.ReplaceAll(text, `\`, `\\`), nil
}
