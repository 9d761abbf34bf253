package cmd_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Size budgets in lines. Small files and functions are how a newcomer finds things.
const (
	maxFileLines        = 600
	maxMainLines        = 80
	medianFileLines     = 200
	medianFunctionLines = 15
)

// bannedGlobals are process-wide registries of other packages: what registers there is in
// no list and leaks from one test into the next.
var bannedGlobals = []string{
	"prometheus.DefaultRegisterer", "prometheus.DefaultGatherer", "prometheus.MustRegister",
	"http.DefaultServeMux", "http.HandleFunc", "http.DefaultClient", "flag.Parse", "kingpin.Parse",
}

// source is one parsed non-test file of ours.
type source struct {
	path  string // from the module root
	lines int
	file  *ast.File
	set   *token.FileSet
}

func listSources(t *testing.T) []source {
	t.Helper()
	var sources []source
	for name, p := range listPackages(t) {
		paths, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, text, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			sources = append(sources, source{name + "/" + filepath.Base(path), bytes.Count(text, []byte("\n")), file, set})
		}
	}
	if len(sources) == 0 {
		t.Fatal("no sources found")
	}
	return sources
}

func TestFilesAndFunctionsStaySmall(t *testing.T) {
	var files, functions []int
	for _, s := range listSources(t) {
		files = append(files, s.lines)
		limit := maxFileLines
		if filepath.Base(s.path) == "main.go" {
			limit = maxMainLines
		}
		if s.lines > limit {
			t.Errorf("%s has %d lines, at most %d", s.path, s.lines, limit)
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			if f, ok := node.(*ast.FuncDecl); ok {
				functions = append(functions, s.set.Position(f.End()).Line-s.set.Position(f.Pos()).Line+1)
			}
			return true
		})
	}
	if got := median(files); got >= medianFileLines {
		t.Errorf("median file has %d lines, below %d wanted", got, medianFileLines)
	}
	if got := median(functions); got > medianFunctionLines {
		t.Errorf("median function has %d lines, at most %d", got, medianFunctionLines)
	}
}

func TestMetricNamesStandInTheVocabularyOnly(t *testing.T) {
	for _, s := range listSources(t) {
		if strings.HasPrefix(s.path, "exporter/metric/") && strings.Count(s.path, "/") == 2 {
			continue
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			if text, ok := node.(*ast.BasicLit); ok && text.Kind == token.STRING && strings.Contains(text.Value, "uma_") {
				t.Errorf("%s:%d writes a metric name: %s", s.path, s.set.Position(text.Pos()).Line, text.Value)
			}
			return true
		})
	}
}

func TestNothingIsRegisteredBehindTheScenes(t *testing.T) {
	for _, s := range listSources(t) {
		ast.Inspect(s.file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.FuncDecl:
				if n.Name.Name == "init" && n.Recv == nil {
					t.Errorf("%s has an init function", s.path)
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && slices.Contains(bannedGlobals, x.Name+"."+n.Sel.Name) {
					t.Errorf("%s:%d uses %s.%s", s.path, s.set.Position(n.Pos()).Line, x.Name, n.Sel.Name)
				}
			}
			return true
		})
	}
}

func TestEveryPackageSaysWhatItKnows(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range listSources(t) {
		dir := filepath.Dir(s.path)
		documented[dir] = documented[dir] || s.file.Doc != nil
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s has no package comment", dir)
		}
	}
}

func median(values []int) int {
	slices.Sort(values)
	return values[len(values)/2]
}
