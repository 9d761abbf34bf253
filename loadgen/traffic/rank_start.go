package traffic

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MaxAhead is how far ahead a start may be. A start more than a day ahead most likely comes from a wrong clock, zone
// or unit.
const MaxAhead = 24 * time.Hour

// ParseStart reads a moment of the wall clock: RFC 3339, or Unix time in seconds, with up to nine
// decimals.
//
//	2026-11-21T15:04:05Z
//	2026-11-21T16:04:05.5+01:00
//	1795273445
//	1795273445.5
func ParseStart(text string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t.UTC(), nil
	}
	whole, decimals, pointed := strings.Cut(text, ".")
	seconds, ok := startDigits(whole, 10)
	if !ok {
		return time.Time{}, notAStart(text)
	}
	nanoseconds := int64(0)
	if pointed {
		// Parse digits and not a float: a float64 of the present in seconds has a resolution of 240 ns.
		if nanoseconds, ok = startDigits(decimals, 9); !ok {
			return time.Time{}, notAStart(text)
		}
		for range 9 - len(decimals) {
			nanoseconds *= 10
		}
	}
	return time.Unix(seconds, nanoseconds).UTC(), nil
}

func notAStart(text string) error {
	return fmt.Errorf("%q is neither RFC 3339, such as 2026-11-21T15:04:05Z, nor Unix time in seconds, such as 1795273445", shortenedVariable(text))
}

// startDigits parses a number of 1 to most digits, without a sign.
func startDigits(text string, most int) (int64, bool) {
	if text == "" || len(text) > most || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// CheckStart refuses a start that has passed, or that is too far ahead.
func CheckStart(start, now time.Time) error {
	switch ahead := start.Sub(now); {
	case ahead <= 0:
		return fmt.Errorf("%s is over since %s", start.UTC().Format(time.RFC3339Nano), (-ahead).Round(time.Millisecond))
	case ahead > MaxAhead:
		return fmt.Errorf("%s is in %s, more than %s ahead", start.UTC().Format(time.RFC3339Nano), ahead.Round(time.Second), MaxAhead)
	}
	return nil
}
