package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// judged judges drawings of one panel each.
func judged(t *testing.T, empty string, drawings ...drawing) (faults []string, table string) {
	t.Helper()
	return judgedWith(t, empty, "", drawings...)
}

func judgedWith(t *testing.T, empty, long string, drawings ...drawing) (faults []string, table string) {
	t.Helper()
	emptyFile, longFile := written(t, empty), written(t, long)
	var lines, out strings.Builder
	for _, d := range drawings {
		if err := json.NewEncoder(&lines).Encode(d); err != nil {
			t.Fatal(err)
		}
	}
	faults, err := run(emptyFile, longFile, strings.NewReader(lines.String()), &out)
	if err != nil {
		t.Fatal(err)
	}
	return faults, out.String()
}

func written(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lines.tsv")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// drawn is a drawing of a panel of this title, after a change.
func drawn(change func(*drawing, *panel)) drawing {
	d := drawing{State: "idle", Dashboard: "page", Title: "Page", Panels: []panel{{Title: "Power", Type: "stat", Words: "40 W"}}}
	change(&d, &d.Panels[0])
	return d
}

func TestFaultsOfDrawings(t *testing.T) {
	emptied := func(_ *drawing, p *panel) { p.Empty, p.NoValue, p.Words = true, "no meter", "no  meter" }
	const reason = "idle\tpage\tPower\tthere is no meter\n"
	for name, one := range map[string]struct {
		empty  string
		change func(*drawing, *panel)
		want   string // of the one fault; none if empty
	}{
		"a panel with values":                         {"", func(*drawing, *panel) {}, ""},
		"an empty panel with its reason":              {reason, emptied, ""},
		"an empty panel that is not in the list":      {"", emptied, "idle, page: Power is empty (no meter): this state has no reason for it"},
		"an empty panel in another state":             {"idle,busy\tpage\tPower\twhy\n", emptied, "busy, page: Power was never empty"},
		"an empty panel without words of its own":     {reason, func(d *drawing, p *panel) { emptied(d, p); p.NoValue, p.Words = "", "No data" }, "shows no reason of its own"},
		"an empty panel that does not show its words": {reason, func(d *drawing, p *panel) { emptied(d, p); p.Words = "" }, "shows no reason of its own"},
		"a reason that is not needed":                 {reason, func(*drawing, *panel) {}, "idle, page: Power was never empty"},
		"a reason that timing decides":                {"idle?\tpage\tPower\tthe meter starts late\n", emptied, ""},
		"a reason that timing did not need":           {"idle?\tpage\tPower\tthe meter starts late\n", func(*drawing, *panel) {}, ""},
		"a blank tile":                                {"", func(_ *drawing, p *panel) { p.Blank = true }, "Power is blank"},
		"a text that is cut":                          {"", func(_ *drawing, p *panel) { p.Cut = []string{"40 W"} }, `Power cuts ["40 W"]`},
		"a panel that failed":                         {"", func(_ *drawing, p *panel) { p.Error = "was not drawn" }, "Power failed: was not drawn"},
		"a query that failed":                         {"", func(_ *drawing, p *panel) { p.Queries = []query{{Expr: "up", Error: "timeout"}} }, "Power got timeout for up"},
		"a page that failed":                          {"", func(d *drawing, _ *panel) { d.Problems = []string{"script: x is null"} }, "script: x is null"},
		"a page without panels":                       {"", func(d *drawing, _ *panel) { d.Panels = nil }, "no panel was drawn"},
		"a variable that failed":                      {"", func(d *drawing, _ *panel) { d.Variables = []variable{{Name: "host", Error: "bad regex"}} }, "variable host failed: bad regex"},
		"a value that was not drawn": {"", func(d *drawing, _ *panel) {
			d.Variables = []variable{{Name: "host", Value: "a", Options: []string{"a", "b"}}}
		}, `value "b" of variable host was never drawn`},
		"a value of a hidden variable": {"", func(d *drawing, _ *panel) {
			d.Variables = []variable{{Name: "later", Hidden: true, Value: "0", Options: []string{"0", "1"}}}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			faults, _ := judged(t, one.empty, drawn(one.change))
			if one.want == "" && len(faults) > 0 || one.want != "" && (len(faults) != 1 || !strings.Contains(faults[0], one.want)) {
				t.Errorf("faults %q, want %q", faults, one.want)
			}
		})
	}
}

func TestAValueMayBeDrawnInAnyStateAndAmongOthers(t *testing.T) {
	with := func(state string, value any) drawing {
		return drawn(func(d *drawing, _ *panel) {
			d.State, d.Variables = state, []variable{{Name: "runs", Value: value, Options: []string{"one", "two"}}}
		})
	}
	if faults, _ := judged(t, "", with("idle", "one"), with("busy", []any{"one", "two"})); len(faults) > 0 {
		t.Error(faults)
	}
}

func TestTheTableHasStatesInTheOrderOfTheirDrawing(t *testing.T) {
	queried := func(state, dashboard string, series int) drawing {
		return drawn(func(d *drawing, p *panel) {
			d.State, d.Dashboard, d.Title, p.Queries = state, dashboard, strings.ToUpper(dashboard), []query{{Expr: "up", Series: series}}
		})
	}
	_, table := judged(t, "", queried("load", "b", 1), queried("load", "a", 1), queried("load", "b", 0), queried("idle", "a", 0))
	want := `| load | A | 1 | 1 | 1 | 1 | 0 | 0 | 0 | 0 |
| load | B | 2 | 1 | 2 | 1 | 0 | 0 | 0 | 0 |
| idle | A | 1 | 1 | 1 | 0 | 0 | 0 | 0 | 0 |
`
	if _, rows, _ := strings.Cut(table, "--: |\n"); rows != want {
		t.Errorf("table\n%s\nwant\n%s", rows, want)
	}
}

func TestAFaultOfManyDrawingsIsShownOnce(t *testing.T) {
	blank := drawn(func(d *drawing, p *panel) { p.Blank, d.Chosen = true, map[string]any{"host": "b"} })
	faults, _ := judged(t, "", blank, blank, blank)
	if len(faults) != 1 || faults[0] != "idle, page with map[host:b]: Power is blank (in 3 drawings)" {
		t.Errorf("%q", faults)
	}
}

func TestATextOfAnyLengthMayBeCut(t *testing.T) {
	const paths = "# columns\n/.+\\.scope\tpaths have any length\n"
	cutting := func(texts ...string) drawing { return drawn(func(_ *drawing, p *panel) { p.Cut = texts }) }
	for want, d := range map[string]drawing{
		"":                                       cutting("/a/b.scope"),
		`idle, page: Power cuts ["40 W"]`:        cutting("/a/b.scope", "40 W"),
		"no text of the pattern":                 cutting(),
		`idle, page: Power cuts ["in /a.scope"]`: cutting("in /a.scope", "/a.scope"),
	} {
		faults, _ := judgedWith(t, "", paths, d)
		if want == "" && len(faults) > 0 || want != "" && (len(faults) != 1 || !strings.Contains(faults[0], want)) {
			t.Errorf("faults %q, want %q", faults, want)
		}
	}
}

func TestExcusesAreRefusedThatCannotBeRead(t *testing.T) {
	for _, text := range []string{"idle\tpage\tPower\n", "idle\tpage\t\twhy\n", "idle\tpage\tPower\twhy\nidle,busy\tpage\tPower\twhy\n"} {
		if _, err := readExcuses(written(t, text), parseReasons); err == nil {
			t.Errorf("%q was read as reasons", text)
		}
	}
	for _, text := range []string{"/.+\n", "\twhy\n", "(\twhy\n"} {
		if _, err := readExcuses(written(t, text), parseLong); err == nil {
			t.Errorf("%q was read as patterns", text)
		}
	}
}

func TestNoDrawingsAreNoProof(t *testing.T) {
	for _, text := range []string{"", "{"} {
		if _, err := run(os.DevNull, os.DevNull, strings.NewReader(text), &strings.Builder{}); err == nil {
			t.Errorf("%q was judged", text)
		}
	}
}
