package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// record writes the server's pages as tests read them: with the version in their names, without buckets and times of
// creation.
func record(repository string, s server, w world) error {
	var errs []error
	for name, url := range s.records {
		path := filepath.Join(repository, "exporter/engine/testdata", strings.ReplaceAll(name, "VERSION", s.version(w)))
		errs = append(errs, os.WriteFile(path, []byte(w.pages[url].recorded()), 0o644))
	}
	return errors.Join(errs...)
}

// recorded leaves out the lines of buckets and times of creation.
func (p page) recorded() string {
	var b strings.Builder
	for line := range strings.Lines(string(p)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), "{")
		name, _, _ = strings.Cut(name, " ")
		if !strings.HasSuffix(name, "_bucket") && !strings.HasSuffix(name, "_created") {
			b.WriteString(line)
		}
	}
	return b.String()
}
