package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
)

// forOthers are the pages with the flags of other tools beside ours; their own tests, in loadgen and exporter, hold each of them.
var forOthers = regexp.MustCompile(`^loadgen/(COMING_FROM|coming_from/.*)\.md$`)

var (
	series    = regexp.MustCompile(`\buma_[a-z0-9_]+`)
	flagNamed = regexp.MustCompile(`(?:^|[\s"'\[(=])(--[a-z][a-z0-9._-]*)`)
	helpFlag  = regexp.MustCompile(`--(?:\[no-\])?([a-z][a-z0-9._-]*)`)
	verbTyped = regexp.MustCompile(`^(?:[./a-z]*/)?(uma-(?:load|exporter|gen|demo)) ([a-z]+)(?: |$)`)
	programs  = []string{"uma-load", "uma-exporter", "uma-view", "uma-gen", "uma-demo"}
)

// TestEverySeriesThatAPageNamesIsThere: in full, or as far as a star.
func TestEverySeriesThatAPageNamesIsThere(t *testing.T) {
	known := map[string]bool{}
	for _, d := range metric.All() {
		known[d.Def().Name] = true
	}
	for _, d := range metric.Recorded() { // host:uma_x:rate5m
		for _, name := range series.FindAllString(d.Def().Name, -1) {
			known[name] = true
		}
	}
	begins := func(prefix string) bool {
		for name := range known {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
		return false
	}
	seen := 0
	for _, p := range pages(t) {
		added := p.addedSeries()
		for i, line := range p.lines {
			for _, at := range series.FindAllStringIndex(line, -1) {
				name := line[at[0]:at[1]]
				seen++
				rest := line[at[1]:]
				open := strings.HasPrefix(rest, "*") || strings.HasPrefix(rest, "…") || strings.HasPrefix(rest, "(") || strings.HasPrefix(rest, "{") && strings.HasSuffix(name, "_")
				histogram := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
				if !known[name] && !added[name] && !known[histogram] && !(open && begins(name)) && !(p.fenced[i] && begins(name)) {
					t.Errorf("%s:%d: there is no series %s", p.path, i+1, name)
				}
			}
		}
	}
	if seen < 300 {
		t.Errorf("%d names were found", seen)
	}
}

// addedSeries are the series that a diff of the page defines.
func (p page) addedSeries() map[string]bool {
	added := map[string]bool{}
	for _, b := range p.blocks {
		if b.language != "diff" {
			continue
		}
		for line := range strings.Lines(b.text) {
			if _, definition, is := strings.Cut(line, "Name: "); is && line[0] == '+' {
				added[series.FindString(definition)] = true
			}
		}
	}
	return added
}

// builtPrograms is a folder with the programs of the project.
func builtPrograms(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	command := exec.CommandContext(t.Context(), "go", "build", "-o", folder+"/", "./cmd/...")
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return folder
}

// TestEveryFlagAndVerbThatAPageNamesIsThere: of ours as the programs' own help has them, of others as testdata/foreign has.
func TestEveryFlagAndVerbThatAPageNamesIsThere(t *testing.T) {
	folder := builtPrograms(t)
	known, verbs := map[string]bool{}, map[string]string{}
	for _, name := range programs {
		out, err := exec.CommandContext(t.Context(), filepath.Join(folder, name), "--help-long").CombinedOutput()
		if err != nil {
			t.Fatalf("%s --help-long: %v\n%s", name, err, out)
		}
		for _, m := range helpFlag.FindAllStringSubmatch(string(out), -1) {
			known["--"+m[1]] = true
		}
		verbs[name] = " " + strings.Join(strings.Fields(string(out)), " ") + " "
	}
	lists, err := filepath.Glob("testdata/foreign/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			known[strings.TrimSuffix(strings.TrimSpace(line), "=")] = true
		}
	}
	seen := 0
	for _, p := range pages(t) {
		if forOthers.MatchString(p.path) {
			continue
		}
		for i, line := range p.lines {
			texts := []string{}
			if !p.fenced[i] {
				for _, code := range span.FindAllString(line, -1) {
					texts = append(texts, strings.Trim(code, "`"))
				}
			}
			for _, text := range texts {
				for _, m := range flagNamed.FindAllStringSubmatch(text, -1) {
					seen++
					name := strings.TrimRight(m[1], ".-")
					if name == "--no-collector" || strings.HasPrefix(name, "--no-collector.") || strings.HasPrefix(name, "--collector.") {
						continue // of each collector, in other words than these
					}
					if !known[name] && !known[strings.Replace(name, "--no-", "--", 1)] {
						t.Errorf("%s:%d: nothing has %s", p.path, i+1, m[1])
					}
				}
				for _, m := range verbTyped.FindAllStringSubmatch(text, -1) {
					if seen++; !strings.Contains(verbs[m[1]], " "+m[2]+" ") {
						t.Errorf("%s:%d: %s has no %s", p.path, i+1, m[1], m[2])
					}
				}
			}
		}
	}
	if seen < 150 {
		t.Errorf("%d were found", seen)
	}
}
