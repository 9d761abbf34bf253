package folder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// mostBytes bounds a file that is read whole, such as manifest.json: folders come from other machines.
const mostBytes = 64 << 20

// ReadManifest reads manifest.json.
func (f Folder) ReadManifest() (Manifest, error) {
	var m Manifest
	err := f.ReadJSON(ManifestFile, ManifestSchema, &m, &m.Schema)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, fmt.Errorf("it is no folder of a run: it has no %s", ManifestFile)
	case err != nil:
		return m, err
	case m.Run == "":
		return m, fmt.Errorf("%s: it names no run", ManifestFile)
	}
	m.Server.nameLlamaCPP()
	return m, nil
}

// ReadPhases reads phases.json; none without the file.
func (f Folder) ReadPhases() ([]Span, error) {
	var file Phases
	if err := f.ReadJSON(PhasesFile, PhasesSchema, &file, &file.Schema); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return file.Phases, nil
}

// ReadJSON reads a file that names its form, in the named member of what it is read into. Fields that are not known,
// of a newer program, are left out.
func (f Folder) ReadJSON(name, form string, into any, schema *string) error {
	text, err := readFile(f.Path(name))
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

// readFile reads a regular file up to the bound: reading a pipe would never end.
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
