package cmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
)

const rooms = "exporter/engine/"

// TestEnginesAreDataAndParsers holds that both wings can share what is known of engines: it neither connects nor reads files,
// and no engine knows of another one.
func TestEnginesAreDataAndParsers(t *testing.T) {
	seen := 0
	for name, p := range listPackages(t) {
		if !strings.HasPrefix(name, rooms) {
			continue
		}
		seen++
		for _, banned := range []string{"net", "os", "io/fs", "os/exec"} {
			if slices.Contains(p.Imports, banned) {
				t.Errorf("%s imports %s", name, banned)
			}
		}
		if slices.Contains(p.Deps, "net/http") {
			t.Errorf("%s links net/http", name)
		}
		for _, imported := range p.ours() {
			lists := name == rooms+"supported" && strings.HasPrefix(imported, rooms)
			if !lists && !slices.Contains([]string{rooms + "spec", "exporter/metric"}, imported) {
				t.Errorf("%s imports %s", name, imported)
			}
		}
	}
	if seen != len(supported.Engines())+len([]string{"spec", "supported"}) {
		t.Errorf("%d packages below %s for %d engines", seen, rooms, len(supported.Engines()))
	}
}

// namedOutside is the most files without tests, outside its own package, that may name an engine. The list of engines is one
// of them. The figures may only fall.
func namedOutside() map[string]int { return map[string]int{"sglang": 3} }

func TestAnEngineIsKnownInItsOwnPackage(t *testing.T) {
	for name, most := range namedOutside() {
		// A source archive has no git metadata; then there is nothing to list.
		out, err := exec.Command("git", "-C", "..", "ls-files", "*.go").Output()
		if err != nil {
			t.Fatal(err)
		}
		var files []string
		for _, path := range strings.Fields(string(out)) {
			if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, rooms+name+"/") {
				continue
			}
			text, err := os.ReadFile(filepath.Join("..", path))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(strings.ToLower(string(text)), name) {
				files = append(files, path)
			}
		}
		if len(files) != most {
			t.Errorf("%s is named in %d files outside %s%s, the figure is %d: %q", name, len(files), rooms, name, most, files)
		}
	}
}
