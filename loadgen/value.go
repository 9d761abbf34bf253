package loadgen

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/loadgen/prompt"
)

// flagSet is where flags are declared: the program or one of its verbs.
type flagSet interface {
	Flag(name, help string) *kingpin.FlagClause
}

// value is a flag's value. The flag library's own values do not name the flag in their errors,
// and one clear line must.
type value[T any] struct {
	flag  string
	into  *T
	parse func(string) (T, error)
	// texts are what the value was read from, as it may be shown.
	texts []string
	show  func(string) string
}

// Set parses the text of the flag.
func (v *value[T]) Set(text string) error {
	parsed, err := v.parse(text)
	if err != nil {
		return fmt.Errorf("--%s: %w", v.flag, err)
	}
	*v.into = parsed
	v.texts = append(v.texts, v.show(text))
	return nil
}

// String is the text that the value was read from; of a repeated flag, each in brackets.
func (v *value[T]) String() string {
	if len(v.texts) == 1 {
		return v.texts[0]
	}
	if len(v.texts) == 0 {
		return ""
	}
	return "[" + strings.Join(v.texts, "] [") + "]"
}

// list is the value of a flag that may be repeated.
type list[T any] struct{ value[[]T] }

// IsCumulative tells the flag library that the flag may be repeated.
func (l *list[T]) IsCumulative() bool { return true }

// flag declares a flag. An empty fallback is no default: the field keeps its zero value.
func flag[T any](set flagSet, name, help, fallback string, into *T, parse func(string) (T, error)) *kingpin.FlagClause {
	clause := set.Flag(name, help)
	if fallback != "" {
		clause.Default(fallback)
	}
	clause.SetValue(&value[T]{flag: name, into: into, parse: parse, show: asGiven})
	return clause
}

// flags declares a flag that may be repeated. Show makes what manifests say of a value.
func flags[T any](set flagSet, name, help string, into *[]T, parse func(string) (T, error), show func(string) string) *kingpin.FlagClause {
	clause := set.Flag(name, help)
	grow := func(text string) ([]T, error) {
		parsed, err := parse(text)
		return append(*into, parsed), err
	}
	clause.SetValue(&list[T]{value[[]T]{flag: name, into: into, parse: grow, show: show}})
	return clause
}

func asGiven(s string) string { return s }

// nameOnly hides the value of NAME:VALUE.
func nameOnly(s string) string {
	name, _, _ := strings.Cut(s, ":")
	return name + ":<redacted>"
}

// withoutQuery hides the part of an address in which tokens are put.
func withoutQuery(s string) string {
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		return s[:i]
	}
	return s
}

func text(s string) (string, error) { return s, nil }

// oneOf accepts the listed words.
func oneOf[T ~string](words ...T) func(string) (T, error) {
	return func(s string) (T, error) {
		if slices.Contains(words, T(s)) {
			return T(s), nil
		}
		return "", fmt.Errorf("%q is none of %s", s, joined(words))
	}
}

func joined[T ~string](words []T) string {
	plain := make([]string, len(words))
	for i, word := range words {
		plain[i] = string(word)
	}
	return strings.Join(plain, ", ")
}

// atLeast accepts whole numbers from least on.
func atLeast(least int) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > math.MaxInt32 {
			return 0, fmt.Errorf("%q is not a whole number of %d or more", s, least)
		}
		return n, nil
	}
}

// atMost accepts whole numbers from 1 to most.
func atMost(most int) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := atLeast(1)(s)
		if err == nil && n > most {
			err = fmt.Errorf("%s is more than %d", s, most)
		}
		return n, err
	}
}

// tokens accepts a number of tokens, or none.
func tokens(s string) (int, error) {
	n, err := atLeast(0)(s)
	if err == nil && n > prompt.MaxTokens {
		err = fmt.Errorf("%s is more than %d", s, prompt.MaxTokens)
	}
	return n, err
}

func duration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a duration of 0s or more, such as 90s or 5m", s)
	}
	return d, nil
}

func positiveDuration(s string) (time.Duration, error) {
	d, err := duration(s)
	if err == nil && d == 0 {
		err = errors.New("must be more than 0s")
	}
	return d, err
}

// durationWithin accepts durations between two bounds, both included.
func durationWithin(least, most time.Duration) func(string) (time.Duration, error) {
	return func(s string) (time.Duration, error) {
		d, err := duration(s)
		if err == nil && (d < least || d > most) {
			err = fmt.Errorf("%s is outside %s..%s", s, least, most)
		}
		return d, err
	}
}

// numberWithin accepts numbers between two bounds, both included; NaN is in no range.
func numberWithin(least, most float64) func(string) (float64, error) {
	return func(s string) (float64, error) {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !(f >= least && f <= most) {
			return 0, fmt.Errorf("%q is not a number from %g to %g", s, least, most)
		}
		return f, nil
	}
}

// share accepts numbers above 0 up to 1.
func share(s string) (float64, error) {
	f, err := numberWithin(0, 1)(s)
	if err == nil && f == 0 {
		err = errors.New("must be more than 0")
	}
	return f, err
}

func positive(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f > 0) || math.IsInf(f, 1) {
		return 0, fmt.Errorf("%q is not a number above 0", s)
	}
	return f, nil
}

func unsigned(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number from 0 on", s)
	}
	return n, nil
}

func optionalInt64(s string) (*int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is not a whole number", s)
	}
	return &n, nil
}

func jsonObject(s string) (map[string]any, error) {
	var object map[string]any
	if err := json.Unmarshal([]byte(s), &object); err != nil || object == nil {
		return nil, fmt.Errorf("%q is not a JSON object", s)
	}
	return object, nil
}

// address accepts the URL of an exporter. User info is refused because flags are recorded; a
// text that cannot be parsed is not repeated for the same reason.
func address(s string) (string, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		return "", errors.New("not a URL such as http://127.0.0.1:10420/metrics")
	case u.User != nil:
		return "", errors.New("a URL with user info would be recorded")
	}
	return s, nil
}

// pair splits NAME=VALUE and checks the name.
func pair(s, separator string, valid func(string) bool) (name, value string, err error) {
	name, value, ok := strings.Cut(s, separator)
	if !ok || !valid(name) {
		return "", "", fmt.Errorf("want NAME%sVALUE with a plain name", separator)
	}
	return name, value, nil
}
