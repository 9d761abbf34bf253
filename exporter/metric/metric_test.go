package metric

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func everything() []Definer { return Everything() }

func TestEveryNameIsUniqueAndHasItsUnit(t *testing.T) {
	seen := map[string]bool{}
	for _, definer := range everything() {
		d := definer.Def()
		if seen[d.Name] {
			t.Errorf("%s is defined twice", d.Name)
		}
		seen[d.Name] = true
		if d.Help == "" || d.Source == "" || d.Unit == "" {
			t.Errorf("%s lacks help, source or unit", d.Name)
		}
		if !strings.HasSuffix(d.Help, ".") {
			t.Errorf("%s: help is not a sentence: %q", d.Name, d.Help)
		}
		if hasTotal := strings.HasSuffix(d.Name, "_total"); hasTotal != (d.Kind == KindCounter) {
			t.Errorf("%s: %s and _total do not agree", d.Name, d.Kind)
		}
	}
}

func TestOwnNamesEndWithTheirUnit(t *testing.T) {
	for _, definer := range All() {
		d := definer.Def()
		if !regexp.MustCompile(`^uma_[a-z0-9_]+$`).MatchString(d.Name) {
			t.Errorf("%s: not an uma_ name", d.Name)
		}
		if base := strings.TrimSuffix(d.Name, "_total"); !strings.HasSuffix(base, d.Unit.Suffix()) {
			t.Errorf("%s does not end with %s", d.Name, d.Unit.Suffix())
		}
	}
}

func TestMeaninglessSumsAreRefusedWithAReason(t *testing.T) {
	never := []Unit{Celsius, Ratio, Hertz, Info, State, Index, Timestamp}
	for _, definer := range everything() {
		d := definer.Def()
		if slices.Contains(never, d.Unit) && d.Sum.Refuses(d.Labels) == "" {
			t.Errorf("%s (%s) may be summed", d.Name, d.Unit)
		}
	}
	d := MemoryFreeContiguousBytes.Def()
	if d.Sum.Refuses(nil) == "" || d.Sum.Refuses(d.Labels) != "" {
		t.Error("a sum over min_block_bytes must be refused, one that keeps it must not")
	}
	if !strings.Contains(d.HelpText(), "Do not sum over min_block_bytes.") {
		t.Errorf("help text hides the rule: %s", d.HelpText())
	}
}

func TestBucketsAscendAndContainVLLMsWhereBothMeasure(t *testing.T) {
	for _, definer := range everything() {
		if h, ok := definer.(Histogram); ok && (len(h.Buckets()) == 0 || !slices.IsSorted(h.Buckets())) {
			t.Errorf("%s: buckets %v", h.Def().Name, h.Buckets())
		}
	}
	for _, bound := range vllmTokenBuckets {
		if !slices.Contains(tokenGapBuckets, bound) {
			t.Errorf("per-token buckets lack vLLM's %v", bound)
		}
	}
}

// TestEveryDefinitionIsListed parses this package: a definition that no list holds would
// be missing from the reference and from every check.
func TestEveryDefinitionIsListed(t *testing.T) {
	listed := map[string]bool{}
	for _, definer := range everything() {
		listed[definer.Def().Name] = true
	}
	found := 0
	for _, path := range sourceFiles(t) {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range definedNames(file) {
			found++
			if !listed[name] {
				t.Errorf("%s is in no list", name)
			}
		}
	}
	if found != len(everything()) {
		t.Errorf("%d definitions in the source, %d listed", found, len(everything()))
	}
}

func sourceFiles(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	return slices.DeleteFunc(paths, func(path string) bool { return strings.HasSuffix(path, "_test.go") })
}

// definedNames are the values of all Name: "..." in composite literals of a file.
func definedNames(file *ast.File) []string {
	var names []string
	ast.Inspect(file, func(node ast.Node) bool {
		pair, ok := node.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		key, isName := pair.Key.(*ast.Ident)
		value, isText := pair.Value.(*ast.BasicLit)
		if isName && isText && key.Name == "Name" {
			names = append(names, strings.Trim(value.Value, `"`))
		}
		return true
	})
	return names
}
