package view

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestItTakesTheFlagsOfItsUnits is here because tests of compose/native, which compare the other programs with their units, cannot
// call this one.
func TestItTakesTheFlagsOfItsUnits(t *testing.T) {
	const folder = "../../../compose/native"
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	lines := regexp.MustCompile(`(?m)^#?ARGS="(.*)"$`).FindAllStringSubmatch(read("view.env"), -1)
	if len(lines) != 2 {
		t.Fatalf("%d lines of ARGS, want an example and a default", len(lines))
	}
	for _, unit := range []string{"uma-view.service", "user/uma-view.service"} {
		start := regexp.MustCompile(`(?m)^ExecStart=\S+ (.*)\$ARGS$`).FindStringSubmatch(read(unit))
		if start == nil {
			t.Fatalf("%s starts something else", unit)
		}
		for _, line := range lines {
			var stdout, stderr strings.Builder
			if code := Run(t.Context(), append(strings.Fields(start[1]+line[1]), "--help"), &stdout, &stderr); code != exitDone {
				t.Errorf("%s %s: exit %d: %s", unit, line[1], code, &stderr)
			}
		}
	}
	if standard := lines[1][1]; !strings.Contains(standard, "--web.listen-address="+DefaultAddress) {
		t.Errorf("a service takes its address or fails, so that it is stated: %s", standard)
	}
}

func TestIDsOfContainersAreShownAsDockerShowsThem(t *testing.T) {
	id := strings.Repeat("0123456789ab", 6)[:64]
	if got, want := shortIDs("/system.slice/docker-"+id+".scope and "+id[:63]), "/system.slice/docker-0123456789ab.scope and "+id[:63]; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
