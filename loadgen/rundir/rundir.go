// Package rundir defines the folder of a run on disk: its files, how they are written so that a reader never finds half
// a file, and the content of those that are JSON.
//
// Code that reads a folder imports this package instead of the code that drove the load. The types of summary.json and
// of a line of requests.jsonl are elsewhere: summary.Summary and openai.Record.
package rundir

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
	ManifestFile  = "manifest.json"
	ScheduleFile  = "schedule.jsonl"
	RequestsFile  = "requests.jsonl"
	OutputsFile   = "outputs.jsonl"
	TelemetryFile = "telemetry.jsonl.gz"
	PhasesFile    = "phases.json"
	SummaryFile   = "summary.json"
	ReportFile    = "report.md"
	HTMLFile      = "report.html"
)

// Files that are written on request.
const (
	WorkbookFile      = "results.xlsx"
	RequestsCSVFile   = "requests.csv"
	SummaryCSVFile    = "summary.csv"
	ConversationsFile = "conversations.jsonl"
	PromptsFile       = "prompts.jsonl"
	BenchstatFile     = "results.txt"
)

// CampaignFile is in the folder of a campaign, a sweep or an arena, which also has the folders of its runs.
const CampaignFile = "campaign.json"

// Folders in a run folder.
const (
	SnapshotsFolder = "snapshots" // raw pages of telemetry at the borders of phases
	CapturesFolder  = "captures"  // output of commands before and after the load
	LogsFolder      = "logs"      // of programs that ran alongside the load
)

// Folder is the folder of a run, by its path.
type Folder string

// New creates the folder of a run below the folder of all runs, and creates that too if it is missing. An existing
// folder belongs to another run, and no run writes into it: the error is then fs.ErrExist.
func New(out, run string) (Folder, error) {
	if err := os.MkdirAll(out, 0o750); err != nil {
		return "", err
	}
	path := filepath.Join(out, run)
	if err := os.Mkdir(path, 0o750); err != nil {
		return "", err
	}
	return Folder(path), nil
}

// Path returns the path of a file in the folder, by one of the names above.
func (f Folder) Path(name string) string { return filepath.Join(string(f), name) }

// WriteJSON creates or replaces a file with a value, as Write does.
func (f Folder) WriteJSON(name string, value any) error { return f.Write(name, JSON(value)) }

// JSON renders a value in the format of the files of a run folder.
func JSON(value any) func(io.Writer) error {
	return func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(value)
	}
}

// Write creates or replaces a file as WriteFile does. The owner's group can read it, other users cannot: runs have
// prompts and answers.
func (f Folder) Write(name string, render func(io.Writer) error) error {
	return WriteFile(f.Path(name), 0o640, render)
}

// WriteFile creates or replaces a file in one step: a reader finds the old or the new one, whole, even if the disk
// fills up or the machine stops in between. The umask does not change the mode.
func WriteFile(path string, mode fs.FileMode, render func(io.Writer) error) error {
	dir, name := filepath.Split(path)
	file, err := os.CreateTemp(filepath.Clean(dir), "."+name+".*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	// Through a small buffer, not from a whole one: tables of requests are as large as the run.
	content := bufio.NewWriterSize(file, 256<<10)
	err = errors.Join(render(content), content.Flush())
	err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.Rename(file.Name(), path)
}
