package importer

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"os"
	"strconv"
	"time"
)

// zoneWarning is the warning about times without a zone.
const zoneWarning = "its times have no zone and are taken for UTC: their order is right as long as the clock was not set"

// timeOf reads a time; without a text it returns the zero time.
func timeOf(layout, field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(layout, text)
	if err != nil || !plausible(at) {
		return time.Time{}, fmt.Errorf("%s: %q is no time such as %s", field, printable(text, longestLabel), layout)
	}
	return at, nil
}

// unixTime reads seconds since 1970.
func unixTime(field string, seconds *float64) (time.Time, error) {
	if seconds == nil {
		return time.Time{}, nil
	}
	whole, part := math.Modf(*seconds)
	if !(*seconds >= 0 && *seconds < 1e11) {
		return time.Time{}, fmt.Errorf("%s: %g is no time in seconds since 1970", field, *seconds)
	}
	at := time.Unix(int64(whole), int64(part*1e9)).UTC()
	if !plausible(at) {
		return time.Time{}, fmt.Errorf("%s: %g is no time in seconds since 1970", field, *seconds)
	}
	return at, nil
}

// plausible reports whether a run can have taken place at that time: JSON has no years of more than four digits, and no
// model was served before 2000.
func plausible(at time.Time) bool { return at.Year() >= 2000 && at.Year() <= 9999 }

// changed returns when a file was last written: the end of its run, for tools that do not record it. A copy that does
// not preserve the time moves the run.
func (f *file) changed() (time.Time, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime().UTC(), nil
}

const changedWarning = "the file has no time: that of its last change is taken for the end of the run"

// before returns the time that is so many seconds earlier.
func before(end time.Time, seconds *float64) time.Time {
	if seconds == nil || !(*seconds >= 0 && *seconds < 1e9) {
		return end
	}
	return end.Add(-time.Duration(*seconds * float64(time.Second)))
}

// keyOf returns the tool's own name of a run, or else its time.
func keyOf(id, at string) string { return printable(cmp.Or(id, at), longestLabel) }

// plainURL returns an address without user, password, query and fragment: these may hold keys.
func plainURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return ""
	}
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return printable(plain.String(), longestLabel)
}

// labelNumber adds a number as a label if it is set.
func (r *Result) labelNumber(name string, value *float64) {
	if value != nil {
		r.label(name, number(*value))
	}
}

func (r *Result) settingNumber(name string, value *float64) {
	if value != nil {
		r.setting(name, number(*value))
	}
}

func number(value float64) string { return strconv.FormatFloat(value, 'g', -1, 64) }
