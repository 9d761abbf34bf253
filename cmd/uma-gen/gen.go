package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/alerts"
	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/dashboards"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1 // a file could not be generated or, with --check, differs from what the code generates
	exitInput  = 2 // bad command line, or the folder is no checkout
)

// file is a generated file, by its path from the root of the checkout.
type file struct {
	path    string
	content []byte
}

// subject is a kind of generated files.
type subject struct {
	name  string
	files func() ([]file, error)
	// loaded is a pattern of the paths that other programs load from the checkout, "" if there are none: a file there
	// that is no longer generated would still have its effect.
	loaded string
}

// subjects lists the kinds, in the order in which they are written.
func subjects() []subject {
	return []subject{
		{"dashboards", dashboardFiles, "dashboards/*.json"},
		{"alerts", alertFiles, "alerts/*.yaml"},
		{"docs", docFiles, ""},
	}
}

func dashboardFiles() ([]file, error) {
	rendered, err := dashboards.Files()
	files := make([]file, len(rendered))
	for i, f := range rendered {
		files[i] = file{"dashboards/" + f.Name, f.Content}
	}
	mixin, mixinErr := dashboardMixin()
	return append(files, mixin), errors.Join(err, mixinErr)
}

func alertFiles() ([]file, error) {
	rendered, err := alerts.Files()
	files := make([]file, len(rendered))
	for i, f := range rendered {
		files[i] = file{"alerts/" + f.Name, f.Content}
	}
	mixin, mixinErr := alertMixin()
	return append(files, mixin), errors.Join(err, mixinErr)
}

func docFiles() ([]file, error) {
	return reference(), nil
}

// generate returns the files of one subject, or of all if only is "".
func generate(only string) ([]file, error) {
	var all []file
	for _, s := range subjects() {
		if only != "" && only != s.name {
			continue
		}
		files, err := s.files()
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	return all, nil
}

const about = `Writes what is generated from the vocabulary: dashboards, alert rules with their runbook, the metric reference.

  uma-gen --check           # is every file what the code generates?
  uma-gen                   # write all
  uma-gen alerts --dir ~/umascope
  uma-gen --out rules --host-label instance --alert-label team=x
  uma-gen preview           # show the dashboards, of a Prometheus on this machine

The pages are shown without Grafana by preview, which has flags of its own: uma-gen preview --help.

Exit codes: 0 done; 1 a file is not what the code generates, or could not be written; 2 bad input.`

// run is the program; it returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == previewName {
		return runPreview(args[1:], stdout, stderr)
	}
	flags, ended := flags{}, false
	app := application(&flags)
	app.Terminate(func(int) { ended = true }).UsageWriter(stdout).ErrorWriter(stderr)
	_, err := app.Parse(args)
	switch {
	case ended:
		return exitDone
	case err != nil:
		return fail(stderr, exitInput, terminal.Mend(app, args, err))
	case flags.what != "" && !slices.ContainsFunc(subjects(), func(s subject) bool { return s.name == flags.what }):
		return fail(stderr, exitInput, fmt.Errorf("%q is none of %s; the pages are shown by uma-gen preview, flags after it", flags.what, names()))
	}
	if err := flags.export.check(flags); err != nil {
		return fail(stderr, exitInput, err)
	}
	if flags.export.out != "" {
		return runExport(flags, stdout, stderr)
	}
	if err := isCheckout(flags.dir); err != nil {
		return fail(stderr, exitInput, err)
	}
	generated, err := generate(flags.what)
	if err == nil && flags.check {
		err = errors.Join(compare(flags.dir, generated), leftOver(flags.dir, flags.what, generated))
	} else if err == nil {
		err = write(flags.dir, generated, stdout)
	}
	if err != nil {
		return fail(stderr, exitFailed, err)
	}
	return exitDone
}

// runExport writes files for another Prometheus and Grafana.
func runExport(flags flags, stdout, stderr io.Writer) int {
	settings, err := flags.export.settings()
	if err != nil {
		return fail(stderr, exitInput, err)
	}
	if err := flags.export.write(flags.what, settings, stdout); err != nil {
		return fail(stderr, exitFailed, err)
	}
	return exitDone
}

// flags are the parsed flags.
type flags struct {
	what, dir string
	check     bool
	export    export
}

func application(f *flags) *kingpin.Application {
	app := kingpin.New("uma-gen", about).Version(terminal.Version("uma-gen"))
	terminal.Guide{}.Apply(app)
	app.Arg("what", names()+"; all of them if none is named.").StringVar(&f.what)
	app.Flag("check", "Write nothing; exit 1 if a file is not what the code generates.").BoolVar(&f.check)
	app.Flag("dir", "Root of the checkout.").Default(".").StringVar(&f.dir)
	f.export.flags(app)
	return app
}

// isCheckout returns an error for a folder that is not a checkout.
func isCheckout(dir string) error {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--dir %s: no checkout of umascope, since it has no go.mod: go there, or name it by --dir", dir)
	}
	if err != nil {
		return fmt.Errorf("--dir %s: %w", dir, err)
	}
	return nil
}

// names lists the subjects.
func names() string {
	var all []string
	for _, s := range subjects() {
		all = append(all, s.name)
	}
	return strings.Join(all, ", ")
}

// fail prints the error, one problem a line.
func fail(stderr io.Writer, code int, err error) int {
	for _, line := range strings.Split(err.Error(), "\n") {
		fmt.Fprintln(stderr, "uma-gen: "+line)
	}
	return code
}

// write writes the files and names them.
func write(dir string, generated []file, stdout io.Writer) error {
	for _, f := range generated {
		path := filepath.Join(dir, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.content, 0o644); err != nil {
			return err
		}
		fmt.Fprintln(stdout, f.path)
	}
	return nil
}

// compare returns an error that names the files that differ from what the code generates.
func compare(dir string, generated []file) error {
	var problems []error
	for _, f := range generated {
		found, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.path)))
		if err != nil {
			problems = append(problems, err)
		} else if line := firstDifference(found, f.content); line > 0 {
			problems = append(problems, fmt.Errorf("%s:%d is not what the code generates: go generate ./... writes it", f.path, line))
		}
	}
	return errors.Join(problems...)
}

// leftOver returns an error that names files that other programs load but the code does not generate.
func leftOver(dir, only string, generated []file) error {
	var problems []error
	for _, s := range subjects() {
		if s.loaded == "" || only != "" && only != s.name {
			continue
		}
		found, err := fs.Glob(os.DirFS(dir), s.loaded)
		problems = append(problems, err)
		for _, path := range found {
			if !slices.ContainsFunc(generated, func(f file) bool { return f.path == path }) {
				problems = append(problems, fmt.Errorf("%s: nothing generates it, but it would be loaded: remove it", path))
			}
		}
	}
	return errors.Join(problems...)
}

// firstDifference returns the first line, from 1, in which two texts differ, 0 if they are equal.
func firstDifference(a, b []byte) int {
	if string(a) == string(b) {
		return 0
	}
	as, bs := strings.SplitAfter(string(a), "\n"), strings.SplitAfter(string(b), "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return i + 1
		}
	}
	return min(len(as), len(bs)) + 1
}
