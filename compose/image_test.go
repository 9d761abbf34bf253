package compose

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// image is one of ours: its Dockerfile's name, its program, and whether that is built with cgo.
type image struct {
	name, program string
	cgo           bool
	ends          string // the beginning of what its last stage is made of
}

func ownImages() []image {
	return []image{
		{"exporter", "uma-exporter", true, "debian:12."},
		{"load", "uma-load", false, "scratch"},
		{"demo", "uma-demo", false, "scratch"},
	}
}

// instruction is one of a Dockerfile, its lines joined.
type instruction struct{ name, rest string }

func instructions(t *testing.T, name string) []instruction {
	t.Helper()
	text := readText(t, name+".Dockerfile")
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			lines = append(lines, line)
		}
	}
	var all []instruction
	for _, line := range strings.Split(strings.ReplaceAll(strings.Join(lines, ""), "\\\n", " "), "\n") {
		if word, rest, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			all = append(all, instruction{word, strings.TrimSpace(rest)})
		}
	}
	return all
}

// last is the last of an instruction, which counts.
func last(all []instruction, name string) string {
	for _, one := range slices.Backward(all) {
		if one.name == name {
			return one.rest
		}
	}
	return ""
}

func TestImagesBeginWithExactVersionsAndRunAsNobody(t *testing.T) {
	goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`)
	module := readText(t, "../go.mod")
	language := goVersion.FindStringSubmatch(module)[1]
	builder := regexp.MustCompile(`^--platform=\$BUILDPLATFORM golang:` + regexp.QuoteMeta(language) + `\.\d+-bookworm AS build$`)
	exact := regexp.MustCompile(`^(scratch|debian:12\.\d+-slim)$`) // bookworm is Debian 12: one glibc
	for _, i := range ownImages() {
		all := instructions(t, i.name)
		if all[0].name != "FROM" || !builder.MatchString(all[0].rest) {
			t.Errorf("%s is built from %s %s", i.name, all[0].name, all[0].rest)
		}
		if end := last(all, "FROM"); !exact.MatchString(end) || !strings.HasPrefix(end, i.ends) {
			t.Errorf("%s ends as %s", i.name, end)
		}
		if got, want := last(all, "ENTRYPOINT"), fmt.Sprintf("[%q]", "/usr/local/bin/"+i.program); got != want {
			t.Errorf("%s starts %s, not %s", i.name, got, want)
		}
		if got := last(all, "USER"); got != "65534:65534" {
			t.Errorf("%s runs as %q", i.name, got)
		}
		labels := last(all, "LABEL")
		for _, label := range []string{"title", "description", "source", "documentation", "licenses", "version", "revision"} {
			if !strings.Contains(labels, "org.opencontainers.image."+label+"=") {
				t.Errorf("%s has no label %s", i.name, label)
			}
		}
		for _, one := range all {
			if one.name == "ADD" || strings.Contains(one.rest, "curl ") || strings.Contains(one.rest, "wget ") {
				t.Errorf("%s takes in something that nothing pins: %s %s", i.name, one.name, one.rest)
			}
		}
	}
}

// TestImagesAreBuiltWithTheirVersion: the linker says nothing of a variable that there is not.
func TestImagesAreBuiltWithTheirVersion(t *testing.T) {
	assigned := regexp.MustCompile(`\b(\w+)=(github\.com/umascope/umascope[\w/]*);`)
	linked := regexp.MustCompile(`-X ([$\w./]+)\.(\w+)=\$(\w+)`)
	for _, i := range ownImages() {
		var build string
		for _, one := range instructions(t, i.name) {
			if one.name == "RUN" && strings.Contains(one.rest, "go build") {
				build = one.rest
			}
		}
		for _, variable := range assigned.FindAllStringSubmatch(build, -1) {
			build = strings.ReplaceAll(build, "$"+variable[1], variable[2])
		}
		found := linked.FindAllStringSubmatch(build, -1)
		given := map[string]bool{}
		for _, one := range found {
			given[one[3]] = true
			folder := filepath.Join("..", strings.TrimPrefix(one[1], "github.com/umascope/umascope/"))
			if !declares(t, folder, one[2]) {
				t.Errorf("%s sets %s of %s, which is no variable", i.name, one[2], one[1])
			}
		}
		if !given["VERSION"] || !given["REVISION"] {
			t.Errorf("%s is built without its version or revision: %q", i.name, found)
		}
	}
}

// declares says whether a package has a variable of a name that is a string and set to nothing.
func declares(t *testing.T, folder, name string) bool {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	must(t, err)
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		must(t, err)
		for _, declaration := range file.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if !ok || general.Tok != token.VAR {
				continue
			}
			for _, spec := range general.Specs {
				value := spec.(*ast.ValueSpec)
				kind, _ := value.Type.(*ast.Ident)
				if kind != nil && kind.Name == "string" && value.Values == nil && slices.ContainsFunc(value.Names, func(i *ast.Ident) bool { return i.Name == name }) {
					return true
				}
			}
		}
	}
	return false
}

// TestImagesAreGivenAllThatIsCompiled: a package in a folder that is left out is found here, and not when a release is built.
func TestImagesAreGivenAllThatIsCompiled(t *testing.T) {
	for _, i := range ownImages() {
		patterns := ignorePatterns(t, i.name)
		for _, architecture := range []string{"amd64", "arm64"} {
			for _, file := range compiled(t, i, architecture) {
				if !carried(patterns, file) {
					t.Errorf("%s is not given %s, which %s is compiled from", i.name, file, i.program)
				}
			}
		}
	}
}

func TestImagesAreBuiltWithoutSecretsRunsAndTests(t *testing.T) {
	for _, i := range ownImages() {
		patterns := ignorePatterns(t, i.name)
		for _, file := range []string{".git/config", "compose/.env", "compose/secrets/grafana-password", "compose/runs/run/requests.jsonl", "runs/run/manifest.json", "exporter/run_test.go", "exporter/testdata/page.prom"} {
			if carried(patterns, file) {
				t.Errorf("%s is given %s", i.name, file)
			}
		}
	}
}

// compiled lists the files of this module that a program is compiled from.
func compiled(t *testing.T, i image, architecture string) []string {
	t.Helper()
	command := exec.Command("go", "list", "-deps", "-json=Dir,Standard,Module,GoFiles,CgoFiles,CFiles,HFiles,SFiles,EmbedFiles", "./cmd/"+i.program)
	command.Dir = ".."
	cgo := "CGO_ENABLED=0"
	if i.cgo {
		cgo = "CGO_ENABLED=1"
	}
	command.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+architecture, cgo)
	command.Stderr = os.Stderr
	out, err := command.Output()
	must(t, err)
	root, err := filepath.Abs("..")
	must(t, err)
	files := []string{"go.mod", "go.sum"}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir                                                   string
			Standard                                              bool
			Module                                                *struct{ Main bool }
			GoFiles, CgoFiles, CFiles, HFiles, SFiles, EmbedFiles []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Module == nil || !p.Module.Main {
			continue
		}
		folder, err := filepath.Rel(root, p.Dir)
		must(t, err)
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.CFiles, p.HFiles, p.SFiles, p.EmbedFiles) {
			files = append(files, filepath.ToSlash(filepath.Join(folder, name)))
		}
	}
	if len(files) < 20 {
		t.Fatalf("%s is compiled from %d files", i.program, len(files))
	}
	return files
}

// ignorePatterns are those of an image's .dockerignore. Only forms whose meaning is plain are allowed: a path, everything,
// or a name in any folder.
func ignorePatterns(t *testing.T, name string) []string {
	t.Helper()
	text := readText(t, name+".Dockerfile.dockerignore")
	plain := regexp.MustCompile(`^(\*|!?[\w./-]+|\*\*/[\w.*-]+)$`)
	var patterns []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if !plain.MatchString(line) {
			t.Fatalf("%s: this test does not know what %q means to Docker", name, line)
		}
		patterns = append(patterns, line)
	}
	if len(patterns) == 0 || patterns[0] != "*" {
		t.Fatalf("%s: everything is given that nobody has thought of", name)
	}
	return patterns
}

// carried says whether a file is given to the build: the last pattern that fits it, or a folder that it is in, decides.
func carried(patterns []string, file string) bool {
	is := true
	for _, pattern := range patterns {
		wanted, back := strings.CutPrefix(pattern, "!")
		if fits(wanted, file) {
			is = back
		}
	}
	return is
}

func fits(pattern, file string) bool {
	if pattern == "*" {
		return true
	}
	base, anywhere := strings.CutPrefix(pattern, "**/")
	for at := file; at != "."; at = path.Dir(at) {
		if anywhere {
			if ok, err := path.Match(base, path.Base(at)); ok && err == nil {
				return true
			}
		} else if at == pattern {
			return true
		}
	}
	return false
}
