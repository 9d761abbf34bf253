package cmd_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// proofNames are the proofs of .ci/proofs/list, in its order.
func proofNames(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../.ci/proofs/list")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`^([a-z0-9]+)\t\d+\t[^\t]+\t[^\t]+$`)
	var names []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		found := row.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if found == nil {
			t.Fatalf(".ci/proofs/list: want name, minutes, paths and a sentence between tabs: %q", line)
		}
		names = append(names, found[1])
	}
	return names
}

func TestEveryProofIsListedAndCanBeRunAlone(t *testing.T) {
	names := proofNames(t)
	entries, err := os.ReadDir("../.ci/proofs")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() && !slices.Contains(names, entry.Name()) {
			t.Errorf(".ci/proofs/%s is not in .ci/proofs/list", entry.Name())
		}
	}
	for _, name := range names {
		info, err := os.Stat(filepath.Join("../.ci/proofs", name, "prove"))
		if err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s: no program prove: %v", name, err)
		}
	}
}

func TestEveryProofRunsNightly(t *testing.T) {
	text, err := os.ReadFile("../.github/workflows/proofs.yml")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)proof: \[(.*?)\]`).FindSubmatch(text)
	if found == nil {
		t.Fatal("no list of proofs")
	}
	nightly := strings.FieldsFunc(string(found[1]), func(r rune) bool { return strings.ContainsRune(", \n", r) })
	// Two have workflows of their own, which divide the work or run on every change; the runners have no GPU, and no two
	// cores to themselves for hours; releases waits for a decision about each new name.
	elsewhere := []string{"fuzz", "vulnerabilities", "gpu", "kv", "releases", "validity"}
	want := slices.DeleteFunc(proofNames(t), func(name string) bool { return slices.Contains(elsewhere, name) })
	if !slices.Equal(nightly, want) {
		t.Errorf("nightly %v, want %v", nightly, want)
	}
}

func TestProofsRunEveryPackageWithTestsOfProofs(t *testing.T) {
	scripts, err := filepath.Glob("../.ci/proofs/*/prove")
	if err != nil {
		t.Fatal(err)
	}
	var commands strings.Builder
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", "")) {
			if strings.Contains(line, "-tags proof") {
				commands.WriteString(line)
			}
		}
	}
	for _, folder := range taggedFolders(t) {
		if !regexp.MustCompile(regexp.QuoteMeta("./"+folder) + `(/\.\.\.)?\s`).MatchString(commands.String()) {
			t.Errorf("no proof runs the tests of %s that have the build tag proof", folder)
		}
	}
}

// taggedFolders are those with a test file of a proof, below the root of the module.
func taggedFolders(t *testing.T) []string {
	t.Helper()
	var folders []string
	err := filepath.WalkDir("..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "../.") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(text), "//go:build proof\n") {
			return err
		}
		if folder := strings.TrimPrefix(filepath.Dir(path), "../"); !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
		return nil
	})
	if err != nil || len(folders) == 0 {
		t.Fatalf("folders %v, %v", folders, err)
	}
	return folders
}
