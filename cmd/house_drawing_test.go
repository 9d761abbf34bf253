package cmd_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the drawing of the house into CONTRIBUTING.md")

const (
	contributing = "../.github/CONTRIBUTING.md"
	drawingWidth = 110 // columns
)

// draw lists the packages of each wing by floor. A package imports only packages of lower floors; floor 0 imports none of ours.
func draw(packages map[string]pkg) string {
	byWing := map[string]map[int][]string{}
	for name := range packages {
		wing, rest, below := strings.Cut(name, "/")
		if !below {
			rest = "(" + wing + ")"
		}
		if byWing[wing] == nil {
			byWing[wing] = map[int][]string{}
		}
		at := floor(packages, name)
		byWing[wing][at] = append(byWing[wing][at], rest)
	}
	var b strings.Builder
	for _, wing := range []string{"cmd", "loadgen", "exporter", "dashboards", "alerts", "compose"} {
		for at := longestChain; at >= 0; at-- {
			names := byWing[wing][at]
			if len(names) == 0 {
				continue
			}
			slices.SortFunc(names, cmp.Compare[string])
			line := fmt.Sprintf("%-10s %d ", wing, at)
			for _, name := range names {
				if len(line)+1+len(name) > drawingWidth {
					b.WriteString(line + "\n")
					line = strings.Repeat(" ", 13)
				}
				line += " " + name
			}
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func TestTheDrawingOfTheHouseIsThatOfItsImports(t *testing.T) {
	const begin, end = "<!-- house -->\n```text\n", "```\n<!-- /house -->"
	text, err := os.ReadFile(contributing)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	drawn, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no drawing between %q and %q", contributing, begin, end)
	}
	want := draw(listPackages(t))
	if *update {
		if err := os.WriteFile(contributing, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if drawn != want {
		t.Errorf("the drawing is not that of the imports; go test ./cmd -run Drawing -update writes it:\n%s", want)
	}
}
