package workload

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/cmd/terminal"
)

// size is one KEY=VALUE of --set.
type size struct{ key, value string }

func parseSize(s string) (size, error) {
	key, value, err := terminal.Pair(s, "=", func(key string) bool { return key != "" && terminal.PlainName(key) })
	return size{key, value}, err
}

// knob is one size that a scenario has.
type knob struct {
	key string
	set func(value string) error
}

// knobOf returns a knob that sets a field.
func knobOf[T any](key string, into *T, parse func(string) (T, error)) knob {
	return knob{key, func(text string) error {
		value, err := parse(text)
		if err == nil {
			*into = value
		}
		return err
	}}
}

// applySizes applies the sizes of --set to the scenario's knobs.
func (s *Settings) applySizes(knobs []knob) error {
	for i, given := range s.sizes {
		if slices.ContainsFunc(s.sizes[:i], func(other size) bool { return other.key == given.key }) {
			return fmt.Errorf("--set: %s is given twice", given.key)
		}
		at := slices.IndexFunc(knobs, func(k knob) bool { return k.key == given.key })
		if at < 0 {
			return fmt.Errorf("--set: --scenario %s has no %s; %s", s.Scenario.Name, given.key, keysOf(knobs))
		}
		if err := knobs[at].set(given.value); err != nil {
			return fmt.Errorf("--set: %s: %w", given.key, err)
		}
	}
	return nil
}

func keysOf(knobs []knob) string {
	if len(knobs) == 0 {
		return "it has no sizes"
	}
	var keys []string
	for _, k := range knobs {
		keys = append(keys, k.key)
	}
	return "it has " + strings.Join(keys, ", ")
}

// Bounds of sizes. Every request is in the schedule and in memory while it is prepared, and every
// phase has series of its own.
const (
	mostSetRequests = 1 << 20
	mostPasses      = 32
	longestEvery    = 24 * time.Hour
)
