package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// PinFile is in the folder of a run that is never pruned.
const PinFile = "pinned"

// QuietPeriod is how long the folder of a run must be unchanged before the run counts as killed: a running run writes
// telemetry and requests all the time.
const QuietPeriod = time.Hour

// EntryState is how a run ended.
type EntryState string

// The states.
const (
	EntryFinished   EntryState = "finished"
	EntryRunning    EntryState = "running"    // or was killed less than an hour ago
	EntryUnfinished EntryState = "unfinished" // killed
	EntryUnreadable EntryState = "unreadable"
)

// Entry is a folder of a run.
type Entry struct {
	Run       string     `json:"run"`
	Path      string     `json:"path"`
	StartedAt *time.Time `json:"started_at,omitempty"`
	Arm       string     `json:"arm,omitempty"`
	Model     string     `json:"model,omitempty"`
	Scenario  string     `json:"scenario,omitempty"`
	State     EntryState `json:"state"`
	// Valid is set for a finished run.
	Valid  *bool `json:"valid,omitempty"`
	Bytes  int64 `json:"bytes"`
	Pinned bool  `json:"pinned,omitempty"`
	// Group is the folder of a sweep, a campaign or a pack that it belongs to.
	Group string `json:"group,omitempty"`
	// CopyOf is the folder that has the same run, if this one is a copy.
	CopyOf string `json:"copy_of,omitempty"`
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
	if e.State == EntryUnfinished && now.Sub(e.written) < QuietPeriod {
		e.State = EntryRunning
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
	if !isRunFile(relative, info.Mode()) {
		e.Foreign = append(e.Foreign, relative)
	}
	return nil
}

// isRunFile reports whether a run writes a file, or has a folder, of that name.
func isRunFile(path string, mode fs.FileMode) bool {
	top, below, deep := strings.Cut(filepath.ToSlash(path), "/")
	folders := []string{SnapshotsFolder, CapturesFolder, LogsFolder}
	switch {
	case mode.IsDir():
		return !deep && slices.Contains(folders, top)
	case !mode.IsRegular():
		return false
	case deep:
		return slices.Contains(folders, top) && !strings.Contains(below, "/")
	}
	return slices.ContainsFunc(entryFiles(), func(name string) bool {
		// A temporary file of an interrupted write: .NAME.123.
		return path == name || strings.HasPrefix(path, "."+name+".")
	})
}

// entryFiles returns the names of the files in a run's folder.
func entryFiles() []string {
	return []string{
		ManifestFile, ScheduleFile, RequestsFile, OutputsFile, TelemetryFile, PhasesFile,
		SummaryFile, ReportFile, HTMLFile, WorkbookFile, RequestsCSVFile, SummaryCSVFile,
		ConversationsFile, PromptsFile, BenchstatFile, PinFile,
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

// groupFiles returns the files that mark the folder of a sweep, an arena, a campaign or a pack.
func groupFiles() []string { return []string{CampaignFile, "pack.json"} }

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
