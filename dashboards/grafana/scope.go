package grafana

import (
	"errors"
	"fmt"
	"net/url"
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
	Options []Option
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
	var all []string
	for _, option := range r.Options {
		all = append(all, option.Value)
	}
	return all
}

// Text is the current values as they are shown.
func (r Resolved) Text() string {
	if r.isAll() {
		return allText
	}
	var shown []string
	for _, value := range r.Current {
		text := value
		for _, option := range r.Options {
			if option.Value == value {
				text = option.Text
			}
		}
		shown = append(shown, text)
	}
	return strings.Join(shown, " + ")
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

// Titled fills in a title or text for display: every value as it is shown. Unknown variables stay as they are written.
func (s Scope) Titled(text string) string { return s.written(text, "text") }

// Written fills in a legend or a link; several values become {a,b} unless the text sets another format.
func (s Scope) Written(text string) string { return s.written(text, "") }

func (s Scope) written(text, format string) string {
	out, err := replace(text, func(m mention, _ quoting) (string, error) {
		if m.format == "" {
			m.format = format
		}
		return s.value(m, pace{}), nil
	})
	if err != nil {
		return text // only a text in quotes can give an error
	}
	return out
}

// value returns the replacement of a mention, without quoting. An unknown one stays as it is.
func (s Scope) value(m mention, p pace) string {
	if v, known := s.Variable(m.name); known {
		return v.format(m.format)
	}
	if text, known := s.builtIn(m, p); known {
		return text
	}
	return m.written
}

// builtIn returns the value of one of Grafana's own variables ("Global variables" in its documentation). Those of a
// query's steps are defined inside a query only.
func (s Scope) builtIn(m mention, p pace) (string, bool) {
	length := s.Window.Length()
	seconds := strconv.FormatInt(int64(length.Round(time.Second)/time.Second), 10)
	switch m.name {
	case "__from":
		return dated(s.Window.From, m.format), true
	case "__to":
		return dated(s.Window.To, m.format), true
	case "__range":
		return seconds + "s", true
	case "__range_s":
		return seconds, true
	case "__range_ms":
		return strconv.FormatInt(length.Milliseconds(), 10), true
	case "__url_time_range":
		return "from=" + dated(s.Window.From, "") + "&to=" + dated(s.Window.To, ""), true
	case "__all_variables":
		return s.Address().Encode(), true
	}
	return p.builtIn(m.name)
}

func (p pace) builtIn(name string) (string, bool) {
	switch {
	case p == pace{}:
		return "", false
	case name == "__interval":
		return formatInterval(p.step), true
	case name == "__interval_ms":
		return strconv.FormatInt(p.step.Milliseconds(), 10), true
	case name == "__rate_interval":
		return p.rate.String(), true // 1m0s, as Go writes it: Grafana's data source does so too
	case name == "__rate_interval_ms":
		return strconv.FormatInt(p.rate.Milliseconds(), 10), true
	}
	return "", false
}

// dated writes a time in milliseconds, in seconds (date:seconds) or as ISO 8601 (date, date:iso).
func dated(t time.Time, format string) string {
	switch format {
	case "date", "date:iso":
		return t.UTC().Format("2006-01-02T15:04:05.000Z")
	case "date:seconds":
		return strconv.FormatInt(t.Round(time.Second).Unix(), 10)
	}
	return strconv.FormatInt(t.UnixMilli(), 10)
}

// Address returns the variables as parameters of an address, as Grafana writes them in a link that keeps the variables.
func (s Scope) Address() url.Values {
	values := url.Values{}
	for _, v := range s.Variables {
		if v.SkipURLSync || v.Kind == KindConstant {
			continue
		}
		values["var-"+v.Name] = v.Current
	}
	return values
}
