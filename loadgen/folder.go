package loadgen

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Files of a run folder.
const (
	fileManifest  = "manifest.json"
	fileSchedule  = "schedule.jsonl"
	fileRequests  = "requests.jsonl"
	fileOutputs   = "outputs.jsonl"
	fileTelemetry = "telemetry.jsonl.gz"
	filePhases    = "phases.json"
	fileSummary   = "summary.json"
	fileReport    = "report.md"
	fileHTML      = "report.html"
)

// folder is the folder of a run, by its path.
type folder string

// newFolder makes the folder of a run; one that exists is another run's.
func newFolder(out, run string) (folder, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", usage(fmt.Errorf("--out: %w", err))
	}
	path := filepath.Join(out, run)
	err := os.Mkdir(path, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return "", usage(fmt.Errorf("--run-id: %s exists; a run's folder is never written twice", path))
	}
	if err != nil {
		return "", usage(fmt.Errorf("--out: %w", err))
	}
	return folder(path), nil
}

func (f folder) path(name string) string { return filepath.Join(string(f), name) }

// writeJSON writes a value to a file.
func (f folder) writeJSON(name string, value any) error {
	return f.write(name, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(value)
	})
}

// write makes or replaces a file in one step: who reads it finds the old or the new one, whole,
// even if the disk fills up or the machine stops in between.
func (f folder) write(name string, render func(io.Writer) error) error {
	file, err := os.CreateTemp(string(f), "."+name+".*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	// Through a buffer and not from one: tables of requests are as large as the run.
	content := bufio.NewWriterSize(file, 256<<10)
	err = errors.Join(render(content), content.Flush())
	err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close())
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.Rename(file.Name(), f.path(name))
}
