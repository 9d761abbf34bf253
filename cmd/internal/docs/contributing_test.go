package docs

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const contributing = ".github/CONTRIBUTING.md"

var (
	anyName  = regexp.MustCompile(`<[a-z ]+>`)
	testRun  = regexp.MustCompile(`-run '?\^?(\w+)`)
	inFolder = regexp.MustCompile(`\./[a-z/]+`)
)

// tableRows are the rows of the table in a section, without its head.
func (p page) tableRows(section string) []string {
	var rows []string
	in := false
	for i, line := range p.lines {
		switch {
		case p.fenced[i]:
		case strings.HasPrefix(line, "## "):
			in = line == "## "+section
		case in && strings.HasPrefix(line, "| "):
			rows = append(rows, line)
		}
	}
	return rows[min(2, len(rows)):]
}

// TestTheTableOfPlacesIsTrue: each path of CONTRIBUTING's table exists, or a file that fits it where it has a <name>; each go test
// command names a package, a test and a flag that exist; each other word in code is in a file of the row. Flags of programs
// are held by TestEveryFlagAndVerbThatAPageNamesIsThere.
func TestTheTableOfPlacesIsTrue(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, contributing))
	if err != nil {
		t.Fatal(err)
	}
	p, _ := parsePage(contributing, string(text))
	rows := p.tableRows("Where things go")
	if len(rows) < 15 {
		t.Errorf("%d rows", len(rows))
	}
	for _, row := range rows {
		for _, wrong := range untrue(t, row) {
			t.Errorf("%s: %s: %s", contributing, strings.TrimSpace(strings.Split(row, "|")[1]), wrong)
		}
	}
}

// untrue lists what a row names and the tree lacks.
func untrue(t *testing.T, row string) []string {
	var wrong, bare, folders []string
	for _, quoted := range span.FindAllString(row, -1) {
		name := strings.Trim(quoted, "`")
		switch {
		case strings.HasPrefix(name, "go test "):
			wrong = append(wrong, untrueCommand(t, name)...)
		case strings.HasPrefix(name, "go ") || strings.HasPrefix(name, "--"):
		case strings.Contains(name, "/"):
			found := inTree(t, name)
			if len(found) == 0 {
				wrong = append(wrong, "there is no "+name)
			}
			for _, one := range found {
				folders = append(folders, one, path.Dir(one))
			}
		default:
			bare = append(bare, name)
		}
	}
	for _, name := range bare {
		if !slices.ContainsFunc(folders, func(folder string) bool { return hasName(t, folder, name) }) && len(inTree(t, name)) == 0 {
			wrong = append(wrong, "no file that the row names is or has "+name)
		}
	}
	return wrong
}

// inTree are the files and folders of a path, from the top of the repository.
func inTree(t *testing.T, name string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, anyName.ReplaceAllString(name, "*")))
	if err != nil {
		t.Fatal(err)
	}
	for i, one := range found {
		found[i] = strings.TrimPrefix(filepath.ToSlash(one), root+"/")
	}
	return found
}

// hasName reports whether a folder has a file, or a word in a Go file, of that name.
func hasName(t *testing.T, folder, name string) bool {
	t.Helper()
	if len(inTree(t, folder+"/"+name)) > 0 {
		return true
	}
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
	return slices.ContainsFunc(inTree(t, folder+"/*.go"), func(file string) bool {
		text, err := os.ReadFile(filepath.Join(root, file))
		return err == nil && word.Match(text)
	})
}

// untrueCommand lists what a go test command names and the tree lacks.
func untrueCommand(t *testing.T, command string) []string {
	folder := strings.TrimPrefix(inFolder.FindString(command), "./")
	files := inTree(t, folder+"/*_test.go")
	if folder == "" || len(files) == 0 {
		return []string{command + ": no tests are in " + folder}
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	var wrong []string
	if m := testRun.FindStringSubmatch(command); m != nil && !regexp.MustCompile(`\nfunc Test\w*`+m[1]).MatchString(all.String()) && !strings.Contains(all.String(), "\nfunc "+m[1]) {
		wrong = append(wrong, command+": no test is called "+m[1])
	}
	if strings.HasSuffix(command, " -update") && !strings.Contains(all.String(), `flag.Bool("update"`) {
		wrong = append(wrong, command+": the package has no -update")
	}
	return wrong
}

func TestAnUntrueRowIsFound(t *testing.T) {
	for row, right := range map[string]bool{
		"| a | `exporter/metric/<subject>.go`, `Needs` in `exporter/collector/spec.go` | `README.md` |":  true,
		"| a | `go test ./loadgen -run Schemas -update` | `loadgen/workload`: a line in `scenario.go` |": true,
		"| a | `exporter/invented/<subject>.go` | |":                                                     false,
		"| a | `loadgen/workload`: a line in `invented.go` | |":                                          false,
		"| a | `go test ./loadgen -run Invented -update` | |":                                            false,
		"| a | `go test ./invented -update` | |":                                                         false,
		"| a | `go test ./exporter/ledger -update` | |":                                                  false,
	} {
		if wrong := untrue(t, row); (len(wrong) == 0) != right {
			t.Errorf("%s: %q", row, wrong)
		}
	}
}
