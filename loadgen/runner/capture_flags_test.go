package runner

import (
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/telemetry"
)

func TestNamesThatAreGivenTwiceAreRefused(t *testing.T) {
	a, b := telemetry.Source{Name: "a"}, telemetry.Source{Name: "b"}
	for want, s := range map[string]CaptureSettings{
		"--telemetry: a ": {Telemetry: []telemetry.Source{a, b, a}},
		"--scrape: a ":    {Telemetry: []telemetry.Source{a}, Scrape: []telemetry.Source{a}},
		"--scrape: b ":    {Scrape: []telemetry.Source{b, b}},
		"--capture: x ":   {Captures: []captureCommand{{"x", "true"}, {"y", "true"}, {"x", "false"}}},
	} {
		if err := s.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := (CaptureSettings{Telemetry: []telemetry.Source{a}, Scrape: []telemetry.Source{b}}).Check(); err != nil {
		t.Error(err)
	}
}

// FuzzFlags: whatever is said for a flag, it gives a name that can be one of a file, or an error.
func FuzzFlags(f *testing.F) {
	for _, seed := range []string{"h=http://127.0.0.1:1", "a=b", "../a=http://x", "x=free -b", "x= ", "=", "--privileged", "engine"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		source, err := ParseSource(text)
		if err == nil && (!plain(source.Name) || !strings.HasPrefix(strings.ToLower(source.URL), "http")) {
			t.Errorf("%q became %+v", text, source)
		}
		c, err := parseCapture(text)
		if err == nil && (!plain(c.name) || strings.TrimSpace(c.command) == "") {
			t.Errorf("%q became %+v", text, c)
		}
		if shown := captureName(text); strings.TrimSuffix(shown, "=<redacted>") != strings.SplitN(text, "=", 2)[0] {
			t.Errorf("%q is shown as %q", text, shown)
		}
		if name, err := containerName(text); err == nil && (!plain(name) || name != text) {
			t.Errorf("%q became %q", text, name)
		}
	})
}

// plain says whether a name can be part of the name of a file, and is no option.
func plain(name string) bool {
	return name != "" && !strings.ContainsAny(name, "/\x00\n") && !strings.HasPrefix(name, ".")
}
