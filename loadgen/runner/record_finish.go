package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/umascope/umascope/loadgen/extract"
	"github.com/umascope/umascope/loadgen/folder"
	"github.com/umascope/umascope/loadgen/summary"
)

// finish completes the folder, and computes the summary from what it holds. It returns what went wrong while writing.
func (r *recording) finish(runErr error) error {
	ended := time.Now().UTC()
	r.manifest.EndedAt, r.manifest.State = &ended, stateOf(runErr)
	if r.exit.Code != 0 && runErr == nil {
		r.manifest.State = folder.StateFailed
	}
	r.manifest.Command.Version = r.reading.Version
	log, err := r.scene.Log()
	addMachines(r.manifest, log)
	r.manifest.Judging = r.judging(runErr)
	err = errors.Join(err, r.folder.WriteJSON(folder.ManifestFile, r.manifest))
	made, summaryErr := summary.Write(string(r.folder))
	if summaryErr == nil {
		r.made = &made
	}
	return errors.Join(err, summaryErr)
}

// judging is what is known of the command at its end.
func (r *recording) judging(runErr error) *folder.Judging {
	c := r.manifest.Command
	values, warnings := r.results()
	j := &folder.Judging{
		Streaming: true, TelemetryRequested: r.keep.Scene.Requested(), Validity: r.keep.Validity, Checks: checksOf(r.manifest.Campaign),
		Tool: &folder.ToolReport{
			Program: c.Program, Extractor: c.Extractor, Version: c.Version, ExitCode: c.ExitCode, Ranks: r.reading.Ranks(),
			Values: slices.Concat([]extract.Value{}, r.reading.Values(), values),
		},
		Engine: summary.EngineOf(r.reading, "the log of "+c.Program), Complete: true,
		Warnings: slices.Concat(r.scene.Warnings(), r.warnings(), warnings, problemsOf(r.manifest.Campaign)),
	}
	names, _ := uncounted(r.scene.Spans)
	j.Unmeasured = append([]string{}, names...) // a list, even of none
	switch {
	case runErr != nil:
		j.Stopped = "the run failed or was stopped: " + printable(runErr.Error())
	case r.exit.Code != 0:
		j.Stopped = c.Program + " " + r.exit.String()
	}
	return j
}

// warnings are what a reader must know of how the command was read.
func (r *recording) warnings() []string {
	var w []string
	if r.manifest.Command.ExitCode == nil {
		return nil // it never ran
	}
	if _, told := uncounted(r.scene.Spans); !told {
		w = append(w, "the log does not show when the benchmark began: the whole command is measured, the start of its engine too")
	}
	if r.reading.Ranks() > 1 {
		w = append(w, fmt.Sprintf("the engine has %d ranks: what its log says of memory is of the first, and stands for none of the machine's figures", r.reading.Ranks()))
	}
	for _, stream := range r.manifest.Command.Cut {
		w = append(w, fmt.Sprintf("of the command's %s only the first %d MiB are kept", stream, mostPrinted>>20))
	}
	if r.exit.OutputLeft {
		w = append(w, "something that the command started was still there when it had ended, and held its output")
	}
	return w
}

// mostResults bounds the files of results that are read.
const mostResults = 1000

// results reads the files that --result names: of a folder, those that the command wrote into it.
func (r *recording) results() (values []extract.Value, warnings []string) {
	for _, path := range r.load.Results {
		found, err := r.resultsIn(path)
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("%s: the command wrote no file there that %s is known to write", path, r.load.Tool)
		}
		if err != nil {
			warnings = append(warnings, "--result: "+printable(err.Error()))
		}
		values = append(values, found...)
	}
	return values, warnings
}

func (r *recording) resultsIn(path string) ([]extract.Value, error) {
	var values []extract.Value
	files, since := 0, r.manifest.StartedAt.Truncate(time.Second) // file systems are not more exact
	err := filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || at != path && filepath.Ext(at) != ".json" {
			return err
		}
		info, err := entry.Info()
		if err != nil || info.ModTime().Before(since) {
			return err
		}
		if files++; files > mostResults {
			return fmt.Errorf("%s: more than %d files", path, mostResults)
		}
		found, err := r.resultsOf(at)
		if err != nil && at == path {
			return err
		}
		values = append(values, found...) // a folder may hold what is no result
		return nil
	})
	return values, err
}

func (r *recording) resultsOf(path string) ([]extract.Value, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	values, err := r.load.Tool.Results(file)
	for i := range values {
		values[i].From = printable(filepath.Base(path))
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return values, err
}
