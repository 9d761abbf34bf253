// Package retention keeps the folders of runs: how large they are, which are pinned, which may go, and how they
// are put away. It removes nothing that a run did not write, and nothing of a run that may still go on.
//
// What the runs are others read; here a run is a folder with a name and a start.
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

// PinFile is in the folder of a run that is kept whatever is pruned.
const PinFile = "pinned"

// Quiet is how long nothing was written into the folder of a run until it is taken for one that was killed:
// a run that goes on writes its telemetry and its requests all along.
const Quiet = time.Hour

// State is what is known of how a run ended.
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
	// Valid is of a run that is finished.
	Valid  *bool `json:"valid,omitempty"`
	Bytes  int64 `json:"bytes"`
	Pinned bool  `json:"pinned,omitempty"`
	// Group is the folder of a sweep, a campaign or a pack that it belongs to.
	Group string `json:"group,omitempty"`
	// Problem is why it cannot be read.
	Problem string `json:"problem,omitempty"`

	// Foreign are files that no run writes, by their paths in the folder.
	Foreign []string `json:"foreign_files,omitempty"`
	written time.Time
}

// Measure adds what the file system says of a folder: its size, whether it is pinned, whose files it has,
// and, of a run that never said that it ended, whether it may still go on.
func (e *Entry) Measure(root string, now time.Time) error {
	err := filepath.WalkDir(e.Path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // it went away meanwhile
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

// ours says whether a run writes such a file, or has such a folder.
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
		// One of a write that was cut off: .NAME.123.
		return path == name || strings.HasPrefix(path, "."+name+".")
	})
}

// files are those of a run's folder.
func files() []string {
	return []string{
		rundir.ManifestFile, rundir.ScheduleFile, rundir.RequestsFile, rundir.OutputsFile, rundir.TelemetryFile, rundir.PhasesFile,
		rundir.SummaryFile, rundir.ReportFile, rundir.HTMLFile, rundir.WorkbookFile, rundir.RequestsCSVFile, rundir.SummaryCSVFile,
		rundir.ConversationsFile, rundir.PromptsFile, rundir.BenchstatFile, PinFile,
	}
}

// groupOf is the folder that a run shares with others: the one that it lies in, unless that is the folder of
// all runs.
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

// groupFiles tell that a folder is that of a sweep, a campaign or a pack.
func groupFiles() []string { return []string{rundir.SweepFile, "campaign.json", "pack.json"} }

// Pin keeps a run from being pruned; Unpin lets it.
func Pin(path string) error {
	file, err := os.OpenFile(filepath.Join(path, PinFile), os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	return file.Close()
}

// Unpin lets a run be pruned again. One that was not pinned is not either.
func Unpin(path string) error {
	if err := os.Remove(filepath.Join(path, PinFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// remove takes a folder away: first its name, so that nobody finds half a run.
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
