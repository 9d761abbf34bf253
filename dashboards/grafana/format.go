package grafana

import (
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
)

// format writes the values of a variable in one of Grafana's formats (formatRegistry in its scenes library, "Variable
// syntax" in its documentation). It writes an unknown format as glob, as Grafana does.
func (r Resolved) format(name string) string {
	name, argument, _ := strings.Cut(name, ":")
	if r.isAll() && r.AllValue != "" {
		return r.formatAllValue(name)
	}
	values := r.values()
	switch name {
	case "text":
		return r.Text()
	case "regex":
		return alternatives(values, escapeRegex)
	case "pipe":
		return strings.Join(values, "|")
	case "csv", "raw":
		return strings.Join(values, ",")
	case "join":
		if argument == "" {
			argument = ","
		}
		return strings.Join(values, argument)
	case "json":
		return r.formatJSON(values)
	case "html":
		return html.EscapeString(strings.Join(values, ", "))
	case "singlequote":
		return quoted(values, `'`)
	case "doublequote":
		return quoted(values, `"`)
	case "percentencode":
		return percentEncode(r.glob(values, true))
	case "queryparam":
		return r.queryParameters()
	}
	return r.glob(values, false)
}

// formatAllValue writes the text that a dashboard gives for All: unchanged in all formats except those of addresses and
// texts (CustomAllValue in scenes).
func (r Resolved) formatAllValue(name string) string {
	switch name {
	case "text":
		return allText
	case "percentencode":
		return percentEncode(r.AllValue)
	case "queryparam":
		return r.queryParameters()
	}
	return r.AllValue
}

// glob writes several values as {a,b}; one is written as it is unless always is set.
func (r Resolved) glob(values []string, always bool) string {
	if len(values) > 1 || always && (r.Multi || r.isAll()) {
		return "{" + strings.Join(values, ",") + "}"
	}
	return strings.Join(values, ",")
}

func (r Resolved) formatJSON(values []string) string {
	if !r.Multi && !r.isAll() {
		return strings.Join(values, ",")
	}
	out, err := json.Marshal(values)
	if err != nil {
		return "[]" // texts are always marshalled
	}
	return string(out)
}

// queryParameters writes the variable as parameters of an address: $__all for All.
func (r Resolved) queryParameters() string {
	var parts []string
	for _, value := range r.Current {
		parts = append(parts, "var-"+r.Name+"="+percentEncode(value))
	}
	return strings.Join(parts, "&")
}

func quoted(values []string, quote string) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = quote + strings.ReplaceAll(v, quote, `\`+quote) + quote
	}
	return strings.Join(out, ",")
}

func percentEncode(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}

// alternatives writes one value as it is and several as (a|b).
func alternatives(values []string, escape func(string) string) string {
	escaped := make([]string, len(values))
	for i, v := range values {
		escaped[i] = escape(v)
	}
	if len(escaped) == 1 {
		return escaped[0]
	}
	return "(" + strings.Join(escaped, "|") + ")"
}

var (
	regexSigns      = regexp.MustCompile(`[\\^$*+?.()|\[\]{}/]`) // of JavaScript
	queryRegexSigns = regexp.MustCompile(`[\\$^*{}\[\]'+?.()|]`) // as in the data source
)

// escapeRegex is the escaping of the format regex, for a JavaScript expression.
func escapeRegex(text string) string { return regexSigns.ReplaceAllString(text, `\$0`) }

// escapeQueryRegex is the escaping that the Prometheus data source does by itself
// (prometheusSpecialRegexEscape), before the text is written into a quoted string.
func escapeQueryRegex(text string) string { return queryRegexSigns.ReplaceAllString(text, `\$0`) }

// quoteText escapes a text for a string in this quote. Raw strings have no escapes.
func quoteText(text string, quote byte) (string, error) {
	switch quote {
	case '"', '\'':
		q := string(quote)
		return strings.NewReplacer(`\`, `\\`, q, `\`+q, "\n", `\n`).Replace(text), nil
	case '`':
		if strings.Contains(text, "`") {
			return "", fmt.Errorf("%q has a backquote and stands in a raw string", text)
		}
		return text, nil
	}
	return strings.ReplaceAll(text, `\`, `\\`), nil
}
