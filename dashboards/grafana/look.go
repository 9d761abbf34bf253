package grafana

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Limits of the parameters of a page.
const (
	leastWidth, mostWidth = 200, 8000
	gridColumns           = 24
	longestRange          = 5 * 366 * 24 * time.Hour
)

// look has the parameters of an address: time range, values of variables, width.
type look struct {
	from, to string // as written
	window   Window
	chosen   map[string][]string
	// opened are the names of collapsed rows that were opened.
	opened []string
	// width is the width of the page in pixels, columns the number of grid columns in a line of it: a phone shows every
	// panel over the whole width.
	width, columns int
}

// readLook reads an address' parameters; missing ones are the dashboard's own.
func readLook(parameters url.Values, d Dashboard, now time.Time) (look, error) {
	l := look{from: d.From, to: d.To, chosen: map[string][]string{}, opened: parameters["open"], width: 1200, columns: gridColumns}
	if from := parameters.Get("from"); from != "" {
		l.from = from
	}
	if to := parameters.Get("to"); to != "" {
		l.to = to
	}
	var err error
	if l.window, err = ParseWindow(l.from, l.to, now); err != nil {
		return l, err
	}
	if l.window.Length() > longestRange {
		return l, fmt.Errorf("the time range from %s to %s is longer than five years", l.from, l.to)
	}
	for name, values := range parameters {
		if variable, is := strings.CutPrefix(name, "var-"); is {
			l.chosen[variable] = values
		}
	}
	if l.width, err = whole(parameters, "width", l.width, leastWidth, mostWidth); err != nil {
		return l, err
	}
	l.columns, err = whole(parameters, "columns", l.columns, 1, gridColumns)
	return l, err
}

// whole reads a whole number within limits.
func whole(parameters url.Values, name string, otherwise, least, most int) (int, error) {
	text := parameters.Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s=%q: want a number from %d to %d", name, text, least, most)
	}
	return n, nil
}

// points returns the width of a panel in pixels, which is Grafana's number of points.
func (l look) points(p Panel) int {
	return l.width * min(p.Place.W, l.columns) / l.columns
}
