package exporter

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// value is a kingpin.Value whose error names the flag or argument: kingpin's own errors describe only the text.
type value[T any] struct {
	name   string
	target *T
	parse  func(string) (T, error)
}

// Set implements kingpin.Value.
func (v value[T]) Set(text string) error {
	parsed, err := v.parse(text)
	if err != nil {
		return fmt.Errorf("%s %s: %w", v.name, text, err)
	}
	*v.target = parsed
	return nil
}

// String implements kingpin.Value.
func (v value[T]) String() string {
	if v.target == nil {
		return ""
	}
	return fmt.Sprint(*v.target)
}

// atLeast parses whole numbers from least on.
func atLeast(least int) func(string) (int, error) {
	return func(text string) (int, error) {
		number, err := strconv.Atoi(text)
		if err != nil || number < least {
			return 0, fmt.Errorf("must be a whole number of at least %d", least)
		}
		return number, nil
	}
}

// positiveDuration parses durations such as 10s.
func positiveDuration(text string) (time.Duration, error) {
	duration, err := time.ParseDuration(text)
	if err != nil || duration <= 0 {
		return 0, errors.New("must be a positive duration such as 10s")
	}
	return duration, nil
}

// oneOf parses one of the words.
func oneOf(words ...string) func(string) (string, error) {
	return func(text string) (string, error) {
		if !slices.Contains(words, text) {
			return "", fmt.Errorf("must be one of %s", strings.Join(words, ", "))
		}
		return text, nil
	}
}
