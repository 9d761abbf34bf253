// Package history knows finished runs by their folders: where they lie, what their manifest and their
// summary say, and what of it a comparison looks at.
//
// Of a run only these two files are read, so that a thousand runs are read in no time. What a folder
// says was written by somebody else, maybe on another machine: files are bounded, links below a folder
// that is searched are not followed, and a form that is not known is refused by its name.
package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/umascope/umascope/loadgen/folder"
	"github.com/umascope/umascope/loadgen/summary"
)

// mostBytes bounds a manifest.json and a summary.json.
const mostBytes = 64 << 20

// What keeps a folder of a run from being a finished run. Neither is damage.
var (
	// ErrUnfinished is of a run that goes on, or was killed before its summary was written.
	ErrUnfinished = errors.New("the run has no summary: it goes on or was killed")
	// ErrShare is of a rank, which has a part of the requests of its run.
	ErrShare = errors.New("the run is one rank's share of a larger one: merge the ranks")
)

// Run is a finished run, by its folder.
type Run struct {
	folder.Folder
	Manifest folder.Manifest
	Summary  summary.Summary
}

// Open reads a run. Its errors begin with the folder.
func Open(path string) (Run, error) {
	r := Run{Folder: folder.Folder(path)}
	if err := r.read(); err != nil {
		return Run{}, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

func (r *Run) read() error {
	var err error
	if r.Manifest, err = readManifest(r.Folder); err != nil {
		return err
	}
	err = readJSON(r.Path(folder.SummaryFile), summary.Schema, &r.Summary, &r.Summary.Schema)
	m := r.Manifest
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrUnfinished
	case err != nil:
		return err
	case r.Summary.Run != m.Run:
		return fmt.Errorf("its summary is of the run %q and its manifest of %q", r.Summary.Run, m.Run)
	case m.Rank != nil && m.Rank.World > 1:
		return ErrShare
	}
	return nil
}

func readManifest(f folder.Folder) (folder.Manifest, error) {
	var m folder.Manifest
	err := readJSON(f.Path(folder.ManifestFile), folder.ManifestSchema, &m, &m.Schema)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, fmt.Errorf("it is no folder of a run: it has no %s", folder.ManifestFile)
	case err != nil:
		return m, err
	case m.Run == "":
		return m, fmt.Errorf("%s: it names no run", folder.ManifestFile)
	}
	return m, nil
}

// readJSON reads a file that names its form, in the named member of what it is read into. What is newer
// in the same form is left out.
func readJSON(path, form string, into any, schema *string) error {
	name := filepath.Base(path)
	text, err := readFile(path)
	if err != nil {
		return err
	}
	wrong := json.Unmarshal(text, into)
	if wrong != nil { // of another form, it is that which is wrong
		var head struct {
			Schema string `json:"schema"`
		}
		if json.Unmarshal(text, &head) == nil {
			*schema = head.Schema
		}
	}
	switch {
	case *schema != form && (wrong == nil || *schema != ""):
		return fmt.Errorf("%s: its form is %q and not %q", name, *schema, form)
	case wrong != nil:
		return fmt.Errorf("%s: %w", name, wrong)
	}
	return nil
}

// readFile reads a regular file up to the bound: a pipe would be waited for for ever.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(path)
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	if info.Size() > mostBytes {
		return nil, fmt.Errorf("%s is longer than %d MiB", name, mostBytes>>20)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, mostBytes))
}
