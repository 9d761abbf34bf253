package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/umascope/umascope/loadgen/runfile"
)

// mostBytes bounds a file that is read whole, such as manifest.json: folders come from other machines.
const mostBytes = 64 << 20

// noManifest is the error of a folder without a manifest; it is fs.ErrNotExist.
type noManifest struct{}

func (noManifest) Error() string { return "it is no folder of a run: it has no " + ManifestFile }

func (noManifest) Unwrap() error { return fs.ErrNotExist }

// ReadManifest reads manifest.json.
func (f Folder) ReadManifest() (Manifest, error) {
	var m Manifest
	err := f.ReadJSON(ManifestFile, ManifestSchema, &m, &m.Schema)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, noManifest{}
	case err != nil:
		return m, err
	case m.Run == "":
		return m, fmt.Errorf("%s: it names no run", ManifestFile)
	}
	return m, nil
}

// ReadPhases reads phases.json; it returns none if the file is missing.
func (f Folder) ReadPhases() ([]Span, error) {
	var file Phases
	if err := f.ReadJSON(PhasesFile, PhasesSchema, &file, &file.Schema); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return file.Phases, nil
}

// ReadJSON reads a file whose schema name is in the named member of the target. It ignores unknown fields, which newer
// programs write.
func (f Folder) ReadJSON(name, form string, into any, schema *string) error {
	text, err := runfile.Read(f.Path(name), mostBytes)
	if err != nil {
		return err
	}
	wrong := json.Unmarshal(text, into)
	if wrong != nil { // report another schema name rather than the error it causes
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
