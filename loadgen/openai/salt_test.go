package openai

import (
	"regexp"
	"strings"
	"testing"
)

// FuzzCacheSalt: whatever a run is called, its salts are short and of characters that every engine takes,
// and no two uses of them are the same.
func FuzzCacheSalt(f *testing.F) {
	f.Add("20261123T100000Z-default-abc123", "baseline_1")
	f.Add(strings.Repeat("r", 128), "baseline_2")
	f.Add(`a@b/c\`, "")
	safe := regexp.MustCompile(`^[a-z0-9-]{1,128}$`)
	f.Fuzz(func(t *testing.T, run, use string) {
		salt := CacheSalt(run, use)
		if !safe.MatchString(salt) {
			t.Errorf("%q, %q: %q", run, use, salt)
		}
		for _, other := range []string{CacheSalt(run+"2", use), CacheSalt(run, use+"2"), CacheSalt("2"+run, use)} {
			if other == salt {
				t.Errorf("%q, %q: the salt of another is the same", run, use)
			}
		}
	})
}
