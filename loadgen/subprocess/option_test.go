package subprocess

import (
	"slices"
	"strings"
	"testing"
)

func TestNamesOfOptionsAreNoValues(t *testing.T) {
	got := OptionNames([]string{"throughput", "--model", "m", "--api-key=hunter2", "-psecret", "-5", "--", "--more", "-"})
	if !slices.Equal(got, []string{"--model", "--api-key", "-p"}) {
		t.Errorf("%q", got)
	}
	if got := OptionNames([]string{"--" + strings.Repeat("x", 100), "--k$y", "--ü", "-"}); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

func FuzzOptionNames(f *testing.F) {
	f.Add("--api-key=hunter2", "-psecret")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, name := range OptionNames([]string{a, b}) {
			if !strings.HasPrefix(a, name) && !strings.HasPrefix(b, name) || strings.ContainsAny(name, "= \n\x1b") || len(name) > longestOption || !strings.HasPrefix(name, "-") {
				t.Errorf("%q of %q %q", name, a, b)
			}
		}
	})
}
