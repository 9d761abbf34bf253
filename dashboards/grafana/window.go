package grafana

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Window is a time range.
type Window struct{ From, To time.Time }

// Length is the time from the range's begin to its end.
func (w Window) Length() time.Duration { return w.To.Sub(w.From) }

// ParseWindow reads a range as Grafana writes it into files and addresses.
func ParseWindow(from, to string, now time.Time) (Window, error) {
	begin, err := ParseTime(from, now)
	if err != nil {
		return Window{}, err
	}
	end, err := ParseTime(to, now)
	if err != nil {
		return Window{}, err
	}
	if !begin.Before(end) {
		return Window{}, fmt.Errorf("the time range from %s to %s is empty", from, to)
	}
	return Window{begin, end}, nil
}

var (
	relativeTime = regexp.MustCompile(`^now((?:[+-]\d+[smhdwMy])*)$`)
	timeStep     = regexp.MustCompile(`([+-]\d+)([smhdwMy])`)
	digits       = regexp.MustCompile(`^\d{1,15}$`)
)

// ParseTime reads now, now-30m, now-1d+2h, milliseconds since 1970, or an RFC 3339 time. Grafana's rounding (now/d) is
// an error: no dashboard of this project uses it.
func ParseTime(text string, now time.Time) (time.Time, error) {
	if match := relativeTime.FindStringSubmatch(text); match != nil {
		return shift(now, match[1])
	}
	if digits.MatchString(text) {
		ms, err := strconv.ParseInt(text, 10, 64)
		return time.UnixMilli(ms).UTC(), err
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is no time: want now, now-30m, milliseconds since 1970 or an RFC 3339 time", text)
}

func shift(t time.Time, steps string) (time.Time, error) {
	const day = 24 * time.Hour
	units := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": day, "w": 7 * day}
	for _, step := range timeStep.FindAllStringSubmatch(steps, -1) {
		n, err := strconv.Atoi(step[1])
		if err != nil || n > 1e9 || n < -1e9 {
			return t, fmt.Errorf("%s is too far away", step[0])
		}
		switch step[2] {
		case "M":
			t = t.AddDate(0, n, 0)
		case "y":
			t = t.AddDate(n, 0, 0)
		default:
			t = t.Add(time.Duration(n) * units[step[2]])
		}
	}
	return t, nil
}
