// Package retention manages the folders of runs: their size, which are pinned, which may be removed, and how they are
// archived. It removes only files that a run wrote, and never files of a run that may still be running.
//
// Other packages read the content of runs; here a run is a folder with a name and a start.
package retention

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
)

// PinFile is in the folder of a run that is never pruned.
const PinFile = "pinned"

// Quiet is how long the folder of a run must be unchanged before the run counts as killed: a running run writes
// telemetry and requests all the time.
const Quiet = time.Hour

// State is how a run ended.
type State string

// The states.
const (
	Finished   State = "finished"
	Running    State = "running"    // or was killed less than an hour ago
	Unfinished State = "unfinished" // killed
	Unreadable State = "unreadable"
)

// Entry is a folder of a run.
type Entry struct {
	Run       string     `json:"run"`
	Path      string     `json:"path"`
	StartedAt *time.Time `json:"started_at,omitempty"`
	Arm       string     `json:"arm,omitempty"`
	Model     string     `json:"model,omitempty"`
	Scenario  string     `json:"scenario,omitempty"`
	State     State      `json:"state"`
	// Valid is set for a finished run.
	Valid  *bool `json:"valid,omitempty"`
	Bytes  int64 `json:"bytes"`
	Pinned bool  `json:"pinned,omitempty"`
	// Group is the folder of a sweep, a campaign or a pack that it belongs to.
	Group string `json:"group,omitempty"`
	// Problem is why the folder cannot be read.
	Problem string `json:"problem,omitempty"`

	// Foreign are files that a run does not write, by their paths in the folder.
	Foreign []string `json:"foreign_files,omitempty"`
	written time.Time
}

// Measure adds what the file system shows of a folder: its size, whether it is pinned, its foreign files and, for a run
// without a recorded end, whether it may still be running.
func (e *Entry) Measure(root string, now time.Time) error {
	err := filepath.WalkDir(e.Path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // it was removed meanwhile
			}
			return err
		}
		return e.take(path, entry)
	})
	if err != nil {
		return err
	}
	if e.State == Unfinished && now.Sub(e.written) < Quiet {
		e.State = Running
	}
	e.Group = groupOf(root, e.Path)
	return nil
}

func (e *Entry) take(path string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if info.ModTime().After(e.written) {
		e.written = info.ModTime()
	}
	relative, err := filepath.Rel(e.Path, path)
	if err != nil || relative == "." {
		return err
	}
	if info.Mode().IsRegular() {
		e.Bytes += info.Size()
	}
	e.Pinned = e.Pinned || relative == PinFile
	if !ours(relative, info.Mode()) {
		e.Foreign = append(e.Foreign, relative)
	}
	return nil
}

// ours reports whether a run writes a file, or has a folder, of that name.
func ours(path string, mode fs.FileMode) bool {
	top, below, deep := strings.Cut(filepath.ToSlash(path), "/")
	folders := []string{rundir.SnapshotsFolder, rundir.CapturesFolder, rundir.LogsFolder}
	switch {
	case mode.IsDir():
		return !deep && slices.Contains(folders, top)
	case !mode.IsRegular():
		return false
	case deep:
		return slices.Contains(folders, top) && !strings.Contains(below, "/")
	}
	return slices.ContainsFunc(files(), func(name string) bool {
		// A temporary file of an interrupted write: .NAME.123.
		return path == name || strings.HasPrefix(path, "."+name+".")
	})
}

// files returns the names of the files in a run's folder.
func files() []string {
	return []string{
		rundir.ManifestFile, rundir.ScheduleFile, rundir.RequestsFile, rundir.OutputsFile, rundir.TelemetryFile, rundir.PhasesFile,
		rundir.SummaryFile, rundir.ReportFile, rundir.HTMLFile, rundir.WorkbookFile, rundir.RequestsCSVFile, rundir.SummaryCSVFile,
		rundir.ConversationsFile, rundir.PromptsFile, rundir.BenchstatFile, PinFile,
	}
}

// groupOf returns the folder that a run shares with others: its parent, unless that is the folder of all runs.
func groupOf(root, path string) string {
	parent := filepath.Dir(filepath.Clean(path))
	if parent != filepath.Clean(root) {
		return parent
	}
	for _, name := range groupFiles() {
		if _, err := os.Lstat(filepath.Join(root, name)); err == nil {
			return parent
		}
	}
	return ""
}

// groupFiles returns the files that mark the folder of a sweep, a campaign or a pack.
func groupFiles() []string { return []string{rundir.SweepFile, "campaign.json", "pack.json"} }

// Pin excludes a run from pruning; Unpin includes it again.
func Pin(path string) error {
	file, err := os.OpenFile(filepath.Join(path, PinFile), os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	return file.Close()
}

// Unpin includes a run in pruning again. It has no effect on a run that is not pinned.
func Unpin(path string) error {
	if err := os.Remove(filepath.Join(path, PinFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// remove removes a folder. It renames it first, so that half a run never has a run's name.
func remove(path string) error {
	path = filepath.Clean(path)
	hidden, err := os.MkdirTemp(filepath.Dir(path), ".removed-*")
	if err != nil {
		return err
	}
	if err := os.Rename(path, filepath.Join(hidden, filepath.Base(path))); err != nil {
		return errors.Join(err, os.Remove(hidden))
	}
	if err := os.RemoveAll(hidden); err != nil {
		return fmt.Errorf("%s: %w", hidden, err)
	}
	return nil
}
