package rundir

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestRunNamesSortByTimeAndDiffer(t *testing.T) {
	plain := regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$`)
	now := time.Date(2026, 11, 5, 14, 15, 3, 0, time.UTC)
	first, second := NewID(now, "native/<b>"), NewID(now, "native/<b>")
	if first == second || !strings.HasPrefix(first, "20261105T141503Z-native-b-") || !plain.MatchString(first) {
		t.Errorf("%q, %q", first, second)
	}
	if later := NewID(now.Add(time.Second), "a"); later < first {
		t.Errorf("%q sorts before %q", later, first)
	}
	if long := NewID(now, strings.Repeat("x", 500)); !plain.MatchString(long) {
		t.Errorf("%q is no plain name", long)
	}
}

func TestASharedRunHasTheSameNameInEveryProcess(t *testing.T) {
	start := time.Date(2026, 11, 5, 14, 15, 3, 500e6, time.UTC)
	name := SharedID(start, "a", "1337", "standard")
	if again := SharedID(start.In(time.FixedZone("east", 3600)), "a", "1337", "standard"); again != name || !strings.HasPrefix(name, "20261105T141503Z-a-") {
		t.Errorf("%q, %q", name, again)
	}
	for what, other := range map[string]string{
		"another start": SharedID(start.Add(time.Millisecond), "a", "1337", "standard"), "another arm": SharedID(start, "b", "1337", "standard"),
		"another seed": SharedID(start, "a", "1", "standard"), "words cut elsewhere": SharedID(start, "a", "1337s", "tandard"),
	} {
		if other == name {
			t.Errorf("%s: the same name", what)
		}
	}
}
