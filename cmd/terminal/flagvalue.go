package terminal

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Text accepts any text.
func Text(s string) (string, error) { return s, nil }

// OneOf accepts the listed words.
func OneOf[T ~string](words ...T) func(string) (T, error) {
	return func(s string) (T, error) {
		if slices.Contains(words, T(s)) {
			return T(s), nil
		}
		return "", fmt.Errorf("%q is none of %s", s, Join(words))
	}
}

// Named returns the element of a name.
func Named[T any](all []T, nameOf func(T) string, name string) (T, error) {
	var names []string
	for _, one := range all {
		if nameOf(one) == name {
			return one, nil
		}
		names = append(names, nameOf(one))
	}
	var none T
	return none, fmt.Errorf("%q is none of %s", name, strings.Join(names, ", "))
}

// Join lists words for an error message.
func Join[T ~string](words []T) string {
	plain := make([]string, len(words))
	for i, word := range words {
		plain[i] = string(word)
	}
	return strings.Join(plain, ", ")
}

// AtLeast accepts whole numbers of at least least.
func AtLeast(least int) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > math.MaxInt32 {
			return 0, fmt.Errorf("%q is not a whole number of %d or more", s, least)
		}
		return n, nil
	}
}

// AtMost accepts whole numbers from 1 to most.
func AtMost(most int) func(string) (int, error) { return Between(1, most) }

// Between accepts whole numbers between two bounds, both included.
func Between(least, most int) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := AtLeast(least)(s)
		if err == nil && n > most {
			err = fmt.Errorf("%d is more than %d", n, most)
		}
		return n, err
	}
}

// Duration accepts durations of 0 or more in Go's format: 90s, 1m30s.
func Duration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a duration of 0s or more, such as 90s or 5m", s)
	}
	return d, nil
}

// PositiveDuration accepts durations above 0.
func PositiveDuration(s string) (time.Duration, error) {
	d, err := Duration(s)
	if err == nil && d == 0 {
		err = errors.New("must be more than 0s")
	}
	return d, err
}

// DurationWithin accepts durations between two bounds, both included.
func DurationWithin(least, most time.Duration) func(string) (time.Duration, error) {
	return func(s string) (time.Duration, error) {
		d, err := Duration(s)
		if err == nil && (d < least || d > most) {
			err = fmt.Errorf("%s is outside %s..%s", s, least, most)
		}
		return d, err
	}
}

// NumberWithin accepts numbers between two bounds, both included; NaN is in no range.
func NumberWithin(least, most float64) func(string) (float64, error) {
	return func(s string) (float64, error) {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !(f >= least && f <= most) {
			return 0, fmt.Errorf("%q is not a number from %g to %g", s, least, most)
		}
		return f, nil
	}
}

// Share accepts numbers above 0 up to 1.
func Share(s string) (float64, error) {
	f, err := NumberWithin(0, 1)(s)
	if err == nil && f == 0 {
		err = errors.New("must be more than 0")
	}
	return f, err
}

// ShareWithin returns a parser for a share, written as 10% or 0.1.
func ShareWithin(least, most float64) func(string) (float64, error) {
	return func(s string) (float64, error) {
		text, percent := strings.CutSuffix(s, "%")
		v, err := strconv.ParseFloat(text, 64)
		if percent {
			v /= 100
		}
		if err != nil || !(v >= least && v <= most) {
			return 0, fmt.Errorf("%q is not between %g%% and %g%%", s, 100*least, 100*most)
		}
		return v, nil
	}
}

// Positive accepts numbers above 0.
func Positive(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f > 0) || math.IsInf(f, 1) {
		return 0, fmt.Errorf("%q is not a number above 0", s)
	}
	return f, nil
}

// Unsigned accepts whole numbers of at least 0.
func Unsigned(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number from 0 on", s)
	}
	return n, nil
}

// OptionalInt64 accepts whole numbers.
func OptionalInt64(s string) (*int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is not a whole number", s)
	}
	return &n, nil
}

// JSONObject accepts a JSON object.
func JSONObject(s string) (map[string]any, error) {
	var object map[string]any
	if err := json.Unmarshal([]byte(s), &object); err != nil || object == nil {
		return nil, fmt.Errorf("%q is not a JSON object", s)
	}
	return object, nil
}

// Address accepts the URL of an exporter. It refuses user info, because flags are recorded; for the same reason its
// error does not repeat a text that cannot be parsed.
func Address(s string) (string, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		return "", errors.New("not a URL such as http://127.0.0.1:10420/metrics")
	case u.User != nil:
		return "", errors.New("a URL with user info would be recorded")
	}
	return s, nil
}

// Pair splits NAME=VALUE and checks the name.
func Pair(s, separator string, valid func(string) bool) (name, value string, err error) {
	name, value, ok := strings.Cut(s, separator)
	if !ok || !valid(name) {
		return "", "", fmt.Errorf("want NAME%sVALUE with a plain name", separator)
	}
	return name, value, nil
}

// PlainName reports whether a text may be the name of a file, a run or a source: letters, digits, . _ and -, not
// beginning with a dot, at most 128 characters.
func PlainName(s string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$`).MatchString(s)
}
